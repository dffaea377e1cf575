//go:build !unix

package simulation

// descriptorLimit is unknown on systems that have no such limit for a process.
func descriptorLimit() uint64 { return 0 }
