//go:build !unix

package external

import "os/exec"

// newGroup does nothing: without process groups, processes that a program starts may
// outlive it.
func newGroup(*exec.Cmd) {}

func terminate(c *exec.Cmd) { kill(c) }

func kill(c *exec.Cmd) { _ = c.Process.Kill() }
