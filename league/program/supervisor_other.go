//go:build unix && !linux

package program

import (
	"os"
	"syscall"
)

// namespaces tells whether this system can isolate programs.
const namespaces = false

// limitsMemory tells whether this system limits the address space of a process. Some of these lack that, or accept
// it without effect.
const limitsMemory = false

// Self returns the path of this program.
func Self() (string, error) { return os.Executable() }

// supervisorAttributes puts a supervisor into its own session. There are no namespaces.
func supervisorAttributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func programAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func protectSupervisor() {}

// killRest kills the program's process group. Processes that have left it live on.
func killRest(group int) { _ = syscall.Kill(-group, syscall.SIGKILL) }

func limitMemory(int64) error { return nil }

// prepareExec returns a function that replaces this process by a program, and returns only after a failure.
func prepareExec(path string, args, environ []string) (run func() error, err error) {
	return func() error { return syscall.Exec(path, args, environ) }, nil //nolint:gosec // the user's own program
}
