//go:build !windows

package transport

import "syscall"

// The errors of sockets.
const (
	ErrAddressInUse      = syscall.EADDRINUSE
	ErrConnectionRefused = syscall.ECONNREFUSED
	ErrConnectionReset   = syscall.ECONNRESET
)

// exhaustion are the errors of a process or a system that has no more sockets, memory or ports.
func exhaustion() []syscall.Errno {
	return []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}
}
