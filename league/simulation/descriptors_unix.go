//go:build unix

package simulation

import "syscall"

// descriptorLimit is the number of file descriptors that this process may open. The
// runtime has raised it as far as the system allows.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return uint64(limit.Cur) //nolint:unconvert // signed on some systems
}
