package transport

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// The errors of sockets. The constants of package syscall with the names of Unix, such as
// syscall.EADDRINUSE, are other numbers on Windows, which no call returns.
const (
	ErrAddressInUse      = windows.WSAEADDRINUSE
	ErrConnectionRefused = windows.WSAECONNREFUSED
	ErrConnectionReset   = windows.WSAECONNRESET
)

// exhaustion are the errors of a process or a system that has no more sockets, memory or ports.
func exhaustion() []syscall.Errno {
	return []syscall.Errno{
		windows.WSAEMFILE, windows.WSAENOBUFS, windows.ERROR_NOT_ENOUGH_MEMORY, windows.WSAEADDRNOTAVAIL,
	}
}
