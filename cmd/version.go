package cmd

import (
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// A build describes the program, as 'evenodd version' prints it. A member is "" if the build does
// not know it: a build outside a Git checkout has no commit.
type build struct {
	SchemaVersion string `json:"schema_version"`
	Version       string `json:"version"`
	Commit        string `json:"commit,omitempty"`
	Date          string `json:"date,omitempty"` // of the commit
	Modified      bool   `json:"modified"`       // the checkout had changes
	GoVersion     string `json:"go_version"`
	Platform      string `json:"platform"` // system/processor
}

// newVersion makes 'evenodd version'.
func newVersion(s streams) *cobra.Command {
	format := ""
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit and the platform of the program",
		Long: `Show the version of the program, the commit from which it was built with its time, the version of Go, and the
platform. --version of evenodd prints the version only.`,
		Example: `  # What to put into a bug report
  evenodd version

  # For scripts
  evenodd version --format json`,
		RunE: func(c *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			b := buildOf(c.Root().Version, info)
			return show(s.out, format, b, func(w io.Writer) error { return printVersion(w, b) })
		},
	}
	formatFlag(c.Flags(), &format)
	return c
}

// buildOf describes a program by its version and what the Go toolchain has recorded; info may be
// nil.
func buildOf(version string, info *debug.BuildInfo) build {
	b := build{
		SchemaVersion: outputSchema, Version: version,
		GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info == nil {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func printVersion(w io.Writer, b build) error {
	var text printout
	text.line("evenodd %s", b.Version)
	if b.Commit == "" {
		text.line("commit    unknown: the build had no Git checkout, or -buildvcs=false")
	} else {
		changed := ""
		if b.Modified {
			changed = " (with changes)"
		}
		text.line("commit    %s%s", b.Commit, changed)
		text.line("date      %s", b.Date)
	}
	text.line("go        %s", b.GoVersion)
	text.line("platform  %s", b.Platform)
	return text.print(w)
}
