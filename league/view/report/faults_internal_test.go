package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/view/record"
)

// A dead agent is one fault, whatever it was sent and however often.
func TestFailuresForOneCauseAreOneGroup(t *testing.T) {
	fault := func(match, kind, method, code, problem string, try int) record.Fault {
		return record.Fault{AgentID: "P04", MatchID: match, Kind: kind, Method: method, Code: code, Problem: problem, Try: try}
	}
	const refused, held = "connect: connection refused", "has failed too often; the next try is at 2026-11-29T07:52:26Z"
	list := groups([]record.Fault{
		fault("R1M1", kindAnswer, "choose_parity", "E009", refused, 1), fault("R1M1", kindAnswer, "choose_parity", "E009", refused, 2),
		fault("R1M1", kindNotice, "notify_game_error", "E009", held, 2),
		fault("R2M1", kindAnswer, "handle_game_invitation", "E009", refused, 1),
		fault("R3M1", kindAnswer, "choose_parity", "E009", "HTTP 500 Internal Server Error", 1),
		fault("R3M1", kindNotice, "notify_match_result", "", "HTTP 500", 1),
		fault("R4M1", kindAnswer, "choose_parity", "E001", "no answer in time", 1),
		fault("R4M1", kindNotice, "notify_match_result", "E001", "no answer in time", 1),
	}, 0, nil)
	require.Len(t, list, 4)
	assert.Equal(t, "Was not running (connection refused), E009: 4 times", list[0].Sentence())
	assert.Contains(t, list[0].Remedy, "Start it again")
	assert.Empty(t, list[0].Reference(), "an agent that does not run breaks no requirement")
	assert.Equal(t, "Answered with HTTP 500, E009: 2 times", list[1].Sentence())
	assert.Equal(t, "Did not answer in time, choose_parity, E001: once", list[2].Sentence(), "its limit differs")
	repeats := list[0].Repeats()
	require.Len(t, repeats, 3)
	assert.Equal(t, "R1M1, 2 tries", repeats[0].Where())
	assert.Equal(t, "R1M1, try 2", repeats[1].Where())
}
