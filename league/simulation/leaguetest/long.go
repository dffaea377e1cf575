package leaguetest

import "os"

// All tells whether EVENODD_TEST_ALL asks for the long versions of tests, as
// 'make test-all' does.
func All() bool { return os.Getenv("EVENODD_TEST_ALL") != "" }
