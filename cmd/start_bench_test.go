package cmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart runs short commands of the program as it is shipped. The floor is an empty Go program. It reports
// medians, because the system disturbs some starts much more than others.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	err := os.WriteFile(filepath.Join(dir, "empty.go"), []byte("package main\n\nfunc main() {}\n"), 0o600)
	require.NoError(b, err)
	empty, program := filepath.Join(dir, "empty"), filepath.Join(dir, "evenodd")
	buildShipped(b, empty, filepath.Join(dir, "empty.go"))
	buildShipped(b, program, "..")
	info, err := os.Stat(program)
	require.NoError(b, err)
	for _, args := range [][]string{{"--version"}, {"simulate", "--players", "4"}} {
		b.Run(args[0], func(b *testing.B) {
			var floors, starts, cpuFloors, cpuStarts []time.Duration
			for b.Loop() {
				took, cpu := run(b, empty)
				floors, cpuFloors = append(floors, took), append(cpuFloors, cpu)
				took, cpu = run(b, program, args...)
				starts, cpuStarts = append(starts, took), append(cpuStarts, cpu)
			}
			took, floor, cpu, cpuFloor := median(starts), median(floors), median(cpuStarts), median(cpuFloors)
			b.ReportMetric(0, "ns/op") // omits it
			b.ReportMetric(float64(took.Nanoseconds()), "ns/start")
			b.ReportMetric(float64(cpu.Nanoseconds()), "cpu-ns/start")
			b.ReportMetric(float64((took - floor).Nanoseconds()), "ns-above-floor")
			b.ReportMetric(float64(took)/float64(floor), "x-floor")
			b.ReportMetric(float64(cpu)/float64(cpuFloor), "x-floor-cpu")
			b.ReportMetric(float64(info.Size())/1e6, "MB-program")
		})
	}
}

// buildShipped builds a program with the flags of releases.
func buildShipped(b *testing.B, output, source string) {
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", output, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	text, err := build.CombinedOutput()
	require.NoError(b, err, "%s", text)
}

// run runs a program, and returns its time and its processor time.
func run(b *testing.B, program string, args ...string) (took, cpu time.Duration) {
	started := exec.CommandContext(b.Context(), program, args...)
	begun := time.Now()
	require.NoError(b, started.Run())
	return time.Since(begun), started.ProcessState.UserTime() + started.ProcessState.SystemTime()
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}
