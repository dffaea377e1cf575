//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// A group is the process group of a program without supervisor. Ctrl-C then reaches only this
// process, which finishes the match first, and a signal to the group reaches all processes
// that the program has started and that have not left it.
type group struct{}

func (*group) prepare(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (*group) add(*exec.Cmd) {}

// terminate and kill send a signal to the group. The group may have exited already.
func (*group) terminate(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }

func (*group) kill(c *exec.Cmd) { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
