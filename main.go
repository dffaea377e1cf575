// Evenodd runs leagues of autonomous agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"evenodd/cmd"
)

func main() { os.Exit(run()) }

func run() int {
	// The first signal ends the work in order, the second at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	cmd.ConfigureLogs()
	return cmd.Execute(ctx, version(), os.Args[1:], os.Stdout, os.Stderr)
}

// version is that of the module, as the build knows it.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
