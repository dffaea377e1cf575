//go:build !unix

package external

import "os/exec"

// There are no process groups here: what a program starts may outlive it.
func apart(*exec.Cmd) {}

func terminate(c *exec.Cmd) { kill(c) }

func kill(c *exec.Cmd) { _ = c.Process.Kill() }
