package cmd_test

import (
	"os"
	"os/exec"
	"testing"
)

// runOnSmallVolume runs a script with the program evenodd and a small file system $DATA, mounted
// with these options. If the system does not allow the mount, it skips the test, or fails it in
// continuous integration.
func runOnSmallVolume(t *testing.T, options, script string, env ...string) *process {
	t.Helper()
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		"mount -t tmpfs -o size=16k none "+t.TempDir()).Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("continuous integration must run this test: allow unprivileged user namespaces (unshare --user --mount): %v", err)
		}
		t.Skipf("NOT RUN: no file system can be mounted here: unshare: %v", err)
	}
	data := t.TempDir()
	return launch(t, t.TempDir(), append(env, "DATA="+data), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		"mount -t tmpfs -o "+options+" none "+data+" && "+script)
}
