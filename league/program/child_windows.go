package program

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A group is a job object. Windows ends its processes when its only handle is closed, which
// it does itself if this process ends. A program that starts processes in the moment before
// add leaves them outside.
type group struct {
	job      atomic.Uintptr // 0 for none
	isolated bool           // never
}

// The limits of a process that this system has.
const (
	limitsMemory = false
	limitsCPU    = false
)

// Self returns the path of this program.
func Self() (string, error) { return os.Executable() }

// Supervise does nothing: there is no supervisor.
func Supervise([]string, []string) (code int, asked bool) { return 0, false }

// launch starts a program. Args begin with its path.
func (o *Programs) launch(args []string, files []*os.File) (*Child, error) {
	c := o.command(args[0], args, files)
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.add()
	go c.await(ending{})
	return c, nil
}

// add puts a started program, and with it the processes that it will start, into the group.
// If Windows refuses that, kill ends only the program.
func (c *Child) add() {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))) //nolint:gosec // a system call
	if err == nil {
		failed := c.cmd.Process.WithHandle(
			func(process uintptr) { err = windows.AssignProcessToJobObject(job, windows.Handle(process)) })
		if err == nil && failed == nil {
			c.job.Store(uintptr(job))
			return
		}
	}
	_ = windows.CloseHandle(job)
}

func (c *Child) terminate() { c.kill() }

// kill ends all processes of the group.
func (c *Child) kill() {
	if job := c.job.Swap(0); job != 0 {
		_ = windows.CloseHandle(windows.Handle(job))
	}
	_ = c.cmd.Process.Kill() // it may have exited already
}
