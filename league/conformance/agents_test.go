package conformance

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// Whoever calls the kit without end does not fill its memory.
func TestRecordIsBounded(t *testing.T) {
	all := func(*call) bool { return true }
	s := &stage{moved: make(chan struct{})}
	for range maxRecord/maxCall + 10 {
		s.keep(&call{}, maxCall)
	}
	assert.Len(t, s.told(all), maxRecord/maxCall)
	s = &stage{moved: make(chan struct{})}
	for range maxCalls + 10 {
		s.keep(&call{}, 10)
	}
	assert.Len(t, s.told(all), maxCalls)
}

// The catalogue of errors, and which requirement of a manager, a referee or a
// player provokes each; for the rest, why nobody can from outside.
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
		{protocol.ErrRateLimited, "", outside + "no document says how many calls are too many; who is put off waits"},
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
