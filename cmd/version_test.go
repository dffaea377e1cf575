package cmd

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVersionShowsTheCommitOfTheBuild(t *testing.T) {
	rest := "go        " + runtime.Version() + "\nplatform  " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	stamped := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-11-23T09:00:00Z"}}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a checkout", &debug.BuildInfo{Settings: stamped}, "commit    0123abcd\ndate      2026-11-23T09:00:00Z\n"},
		{"a checkout with changes", &debug.BuildInfo{Settings: append(stamped, debug.BuildSetting{Key: "vcs.modified", Value: "true"})}, "commit    0123abcd (with changes)\ndate      2026-11-23T09:00:00Z\n"},
		{"no checkout", &debug.BuildInfo{}, "commit    unknown: the build had no Git checkout, or -buildvcs=false\n"},
		{"no build information", nil, "commit    unknown: the build had no Git checkout, or -buildvcs=false\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, printVersion(&out, buildOf("v1.2.3", tt.info)))
			assert.Equal(t, "evenodd v1.2.3\n"+tt.want+rest, out.String())
		})
	}
}
