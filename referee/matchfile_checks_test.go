package referee_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// statesOf returns the states in a match file, in order.
func statesOf(doc *store.Match) []string {
	list := make([]string, len(doc.Lifecycle.States))
	for i, s := range doc.Lifecycle.States {
		list[i] = s.State
	}
	return list
}

// transcriptWith returns the lines of a transcript with one player, without times, such as
// "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE".
func transcriptWith(doc *store.Match, playerID string) []string {
	list := []string{}
	for _, x := range doc.Transcript {
		if x.PlayerID != playerID {
			continue
		}
		line := []string{x.Method, fmt.Sprint(x.Try), map[string]string{store.Sent: ">", store.Received: "<"}[x.Direction]}
		if x.Error != nil {
			line = append(line, x.Error.ErrorCode)
		}
		if x.MessageType != "" {
			line = append(line, x.MessageType)
		}
		list = append(list, strings.Join(line, " "))
	}
	return list
}

// normalCourse returns the lines of the end of a match with one player, after the given
// lines.
func normalCourse(before ...string) []string {
	return append(before, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < GAME_OVER_ACK")
}

var finishedStates = []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"}

// afterChecking runs a check when the method is called, before the agent answers normally.
func afterChecking(check func()) leaguetest.Reply {
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		check()
		return c.OwnAnswer()
	}
}

// assertSameResult checks that a match file contains the reported result.
func assertSameResult(t *testing.T, doc *store.Match, q *protocol.MatchResultReport) {
	t.Helper()
	assert.Equal(t, q.Attempt, doc.Attempt)
	assert.Equal(t, q.Result.Winner, doc.Result.WinnerPlayerID)
	assert.Equal(t, q.Result.Score, doc.Result.Score)
	assert.Equal(t, q.Result.Details.DrawnNumber, doc.Result.DrawnNumber)
	assert.Equal(t, q.Result.Details.Choices, doc.Result.Choices)
	assert.Equal(t, q.Result.Details.Reason, doc.Result.Reason)
	assert.Equal(t, q.Draw, doc.Draw)
}
