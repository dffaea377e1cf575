package transport

import "syscall"

// The errors of sockets. The constants of package syscall with the names of Unix, such as
// syscall.EADDRINUSE, are other numbers on Windows, which no call returns.
const (
	AddressInUse      = syscall.Errno(10048) // WSAEADDRINUSE
	ConnectionRefused = syscall.Errno(10061) // WSAECONNREFUSED
	ConnectionReset   = syscall.WSAECONNRESET
)

// exhaustion are the errors of a process or a system that has no more sockets, memory or ports:
// WSAEMFILE, WSAENOBUFS, ERROR_NOT_ENOUGH_MEMORY and WSAEADDRNOTAVAIL.
func exhaustion() []syscall.Errno { return []syscall.Errno{10024, 10055, 8, 10049} }
