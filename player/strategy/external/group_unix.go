//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// newGroup gives a program its own process group. Ctrl-C then reaches only this process,
// which finishes the match first, and a signal to the group reaches all processes that
// the program has started.
func newGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate and kill send a signal to the group. The group may have exited already.
func terminate(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

func kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
