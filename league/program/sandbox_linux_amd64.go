package program

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// olderCalls returns the forbidden system calls that newer architectures do not have. The
// filter does not know the calls of the ABI x32, whose numbers are over newestCall.
func olderCalls() []uint32 {
	return []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}
