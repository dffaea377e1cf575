package program

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// olderCalls returns the forbidden system calls that newer architectures do not have.
func olderCalls() []uint32 { return nil }
