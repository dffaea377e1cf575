// Package leaguetest is the harness of scenario tests: a manager, referees and
// players of a league talk to each other over one of three carriers, and every
// timeout and every retry passes in virtual time. Any agent can be scripted: it then
// answers chosen methods as the test wants. Scenarios of one role are tests of that
// role's package; the tests of this package involve several roles.
//
// Only tests import it.
package leaguetest
