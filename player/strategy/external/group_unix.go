//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// apart gives a program a process group of its own: a Ctrl-C is for us, who let
// the match end first, and what the program starts ends with it.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks the group to end, and kill ends it. One that is gone is no
// error.
func terminate(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

func kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
