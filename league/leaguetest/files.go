package leaguetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
)

// NewRefereeWithFiles is NewReferee for a referee that writes match files to a folder.
func (w *World) NewRefereeWithFiles(id string, folder store.Folder, traits ...Option) *Agent {
	w.T.Helper()
	return w.RefereeWith(id, traits, func(o *referee.Options) { o.Folder = folder })
}

// RefereeWithFiles calls NewRefereeWithFiles and registers the referee.
func (w *World) RefereeWithFiles(id string, folder store.Folder, traits ...Option) *Agent {
	w.T.Helper()
	a := w.NewRefereeWithFiles(id, folder, traits...)
	require.NoError(w.T, a.Referee.Register(w.Context))
	return a
}

// StopReferee stops a referee like a process that receives SIGTERM.
func (a *Agent) StopReferee() {
	a.Referee.Close()
	a.Stop()
}

// HandOver assigns a match to a referee, which must accept it.
func (w *World) HandOver(manager, r *Agent, matchID string, attempt int) *protocol.MatchAssignmentAck {
	w.T.Helper()
	ack, err := w.Assign(manager, r, w.Assignment(matchID, attempt, r.ID))
	require.NoError(w.T, err)
	require.Equal(w.T, protocol.StatusAccepted, ack.Status, ack.Reason)
	return ack
}

// CaptureLog returns a buffer that receives all log lines from now on.
func (w *World) CaptureLog() *LogBuffer {
	book := &LogBuffer{}
	w.log = zerolog.New(book)
	return book
}

// Text returns the content of the buffer.
func (l *LogBuffer) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func TempFolder(t *testing.T) store.Folder { return store.Folder(t.TempDir()) }

// MatchFiles returns the paths of the match files in a folder, relative to data/matches.
func MatchFiles(t *testing.T, folder store.Folder) []string {
	t.Helper()
	names := []string{}
	root := filepath.Join(string(folder), "data", "matches")
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

const (
	FirstMatchFile = LeagueID + "/R1M1.json"
	attemptFormat  = LeagueID + "/attempts/R1M1.a%d.REF01.json"
)

func AttemptFile(n int) string { return fmt.Sprintf(attemptFormat, n) }

// ReadMatchFile reads a file that MatchFiles names.
func ReadMatchFile(t *testing.T, folder store.Folder, name string) *store.Match {
	t.Helper()
	doc, err := store.Read[store.Match](filepath.Join(string(folder), "data", "matches", filepath.FromSlash(name)))
	require.NoError(t, err)
	return doc
}

// States returns the states in a match file, in order.
func States(doc *store.Match) []string {
	list := make([]string, len(doc.Lifecycle.States))
	for i, s := range doc.Lifecycle.States {
		list[i] = s.State
	}
	return list
}

// TranscriptWith returns the lines of a transcript with one player, without times, such as
// "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE".
func TranscriptWith(doc *store.Match, playerID string) []string {
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

// NormalCourse returns the lines of the end of a match with one player, after the given
// lines.
func NormalCourse(before ...string) []string {
	return append(before, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < GAME_OVER_ACK")
}

var FinishedStates = []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"}

// AfterChecking runs a check when the method is called, before the agent answers normally.
func AfterChecking(check func()) Reply {
	return func(c *Call) (jsontext.Value, error) {
		check()
		return c.OwnAnswer()
	}
}

// AssertSameResult checks that a match file contains the reported result.
func AssertSameResult(t *testing.T, doc *store.Match, q *protocol.MatchResultReport) {
	t.Helper()
	assert.Equal(t, q.Attempt, doc.Attempt)
	assert.Equal(t, q.Result.Winner, doc.Result.WinnerPlayerID)
	assert.Equal(t, q.Result.Score, doc.Result.Score)
	assert.Equal(t, q.Result.Details.DrawnNumber, doc.Result.DrawnNumber)
	assert.Equal(t, q.Result.Details.Choices, doc.Result.Choices)
	assert.Equal(t, q.Result.Details.Reason, doc.Result.Reason)
	assert.Equal(t, q.Draw, doc.Draw)
}

var UpdateFlag = flag.Bool("update", false, "write what is in a match's file now to testdata")
