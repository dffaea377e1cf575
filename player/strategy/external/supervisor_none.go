//go:build !unix

package external

import (
	"os/exec"
	"syscall"
)

// namespaces tells whether this system can isolate programs.
const namespaces = false

// Self is "": there is no supervisor. Processes that a program starts may outlive it.
func Self() string { return "" }

// Supervise does nothing.
func Supervise([]string, []string) (code int, asked bool) { return 0, false }

func supervisorAttributes(bool) *syscall.SysProcAttr { return nil }

func newGroup(*exec.Cmd) {}

func terminate(c *exec.Cmd) { kill(c) }

func kill(c *exec.Cmd) { _ = c.Process.Kill() }
