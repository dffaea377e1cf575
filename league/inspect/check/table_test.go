package check

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestRecordOfCallsIsBounded(t *testing.T) {
	all := func(*call) bool { return true }
	s := &fakes{changed: make(chan struct{})}
	for range maxRecord/maxCall + 10 {
		s.keep(&call{}, maxCall)
	}
	assert.Len(t, s.received(all), maxRecord/maxCall)
	s = &fakes{changed: make(chan struct{})}
	for range maxCalls + 10 {
		s.keep(&call{}, 10)
	}
	assert.Len(t, s.received(all), maxCalls)
}

// Every error code has a requirement that provokes it, or a reason why no call can.
func TestEveryErrorCodeIsProvoked(t *testing.T) {
	const outside = "no call brings it about for certain: "
	table := []struct {
		code protocol.Code
		by   string // a requirement
		why  string // or why there is none
	}{
		{protocol.ErrTimeout, "R-ERR-03", ""}, {protocol.ErrInvalidFieldType, "M-REF-04", ""}, {protocol.ErrMissingField, "M-REF-02", ""},
		{protocol.ErrInvalidParityChoice, "R-ERR-03", ""}, {protocol.ErrPlayerNotRegistered, "M-QRY-08", ""}, {protocol.ErrMatchNotFound, "M-RPT-06", ""},
		{protocol.ErrDuplicateReport, "M-RPT-06", ""}, {protocol.ErrInvalidMatchState, "P-CHO-08", ""}, {protocol.ErrConnection, "R-ERR-03", ""},
		{protocol.ErrIllegalMove, "R-ERR-03", ""}, {protocol.ErrTokenMissing, "M-AUT-03", ""}, {protocol.ErrTokenInvalid, "M-AUT-03", ""},
		{protocol.ErrRefereeNotRegistered, "M-RPT-06", ""}, {protocol.ErrNotAuthorized, "M-AUT-05", ""},
		{protocol.ErrMatchIDMismatch, "", "R-LOS-05 looks whether such an answer counts; with which code it is refused the documents leave open, E015 or E002"},
		{protocol.ErrInvalidQueryType, "M-QRY-08", ""}, {protocol.ErrLeagueNotFound, "M-QRY-08", ""}, {protocol.ErrProtocolVersion, "M-REF-07", ""},
		{protocol.ErrLateRegistration, "M-RUN-03", ""},
		{protocol.ErrLeagueFull, "", outside + "a league that is full begins, and then it is too late (M-RUN-03 takes both)"},
		{protocol.ErrInvalidTimestamp, "M-REF-09", ""},
		{protocol.ErrRateLimited, "", outside + "no document says how many calls are too many; the kit waits when it is asked to"},
		{protocol.ErrMessageTooLarge, "M-HTTP-06", ""}, {protocol.ErrDuplicateName, "M-REF-13", ""}, {protocol.ErrInvalidEndpoint, "M-REF-15", ""},
		{protocol.ErrUnsupportedGame, "M-REF-11", ""}, {protocol.ErrLeagueNotStarted, "M-RPT-06", ""}, {protocol.ErrLeagueComplete, "M-END-06", ""},
	}
	known := map[string]bool{}
	for _, role := range []string{Player, Referee, Manager} {
		for _, q := range Catalogue(role) {
			known[q.ID] = true
		}
	}
	listed := map[protocol.Code]bool{}
	for _, row := range table {
		listed[row.code] = true
		assert.NotEmpty(t, row.code.Name(), row.code)
		assert.Equal(t, known[row.by], row.why == "", "%s: %s%s", row.code, row.by, row.why)
	}
	for n := range 100 { // every code that has a name
		code := protocol.Code("E0" + string(rune('0'+n/10)) + string(rune('0'+n%10)))
		assert.Equal(t, code.Name() != "", listed[code], code)
	}
}

func TestRequirementsAreCompleteAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for role, letter := range map[string]string{Player: "P", Referee: "R", Manager: "M"} {
		all := Catalogue(role)
		assert.GreaterOrEqual(t, len(all), 40)
		for _, q := range all {
			assert.Regexp(t, "^"+letter+`-[A-Z]+-[0-9]{2}$`, q.ID)
			assert.False(t, seen[q.ID], q.ID)
			seen[q.ID] = true
			assert.True(t, q.Level == Must || q.Level == Should, q.ID)
			assert.True(t, strings.HasSuffix(q.Text, "."), q.ID)
			assert.Regexp(t, `[.)]$`, q.Hint, q.ID)
		}
	}
}
