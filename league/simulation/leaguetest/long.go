package leaguetest

import (
	"os"
	"testing"
)

// All tells whether EVENODD_TEST_ALL asks for the long versions of tests, as
// 'make test-all' does.
func All() bool { return os.Getenv("EVENODD_TEST_ALL") != "" }

// LongTest skips a test that has only a long version, unless All.
func LongTest(t *testing.T) {
	t.Helper()
	if !All() {
		t.Skip("takes long: 'make test-all' runs it")
	}
}
