package external

import "syscall"

// namespaces tells whether this system can isolate programs.
const namespaces = false

// Self is "": there is no supervisor.
func Self() string { return "" }

// Supervise does nothing.
func Supervise([]string, []string) (code int, asked bool) { return 0, false }

func supervisorAttributes(bool) *syscall.SysProcAttr { return nil }
