package external

import (
	"os/exec"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job object. Windows ends its processes when its only handle is closed, which
// it does itself if this process ends. A program that starts processes in the moment before
// add leaves them outside.
type group struct{ job atomic.Uintptr } // 0 for none

func (*group) prepare(*exec.Cmd) {}

// add puts a started program, and with it the processes that it will start, into the group.
// If Windows refuses that, kill ends only the program.
func (g *group) add(c *exec.Cmd) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // a system call
	if err == nil {
		failed := c.Process.WithHandle(
			func(process uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(process)) })
		if err == nil && failed == nil {
			g.job.Store(uintptr(job))
			return
		}
	}
	_ = windows.CloseHandle(job)
}

func (g *group) terminate(c *exec.Cmd) { g.kill(c) }

// kill ends all processes of the group.
func (g *group) kill(c *exec.Cmd) {
	if job := g.job.Swap(0); job != 0 {
		_ = windows.CloseHandle(windows.Handle(job))
	}
	_ = c.Process.Kill() // it may have exited already
}
