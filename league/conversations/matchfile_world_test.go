package conversations

import (
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
	"evenodd/rules"
	"evenodd/transport"
)

// newWriter is newReferee for one that writes to a folder.
func (w *world) newWriter(id string, folder store.Folder, traits ...trait) *actor {
	w.t.Helper()
	a := newActor(id, traits)
	a.caller = w.caller(a.host, 64<<10)
	o := referee.Options{
		Name: a.name, Endpoint: endpointOf(a.host), Manager: endpointOf(theBoss), MaxConcurrent: a.capacity,
		Games: rules.NewRegistry(w.game), Folder: folder, Caller: a.caller, Clock: w.clock, Log: w.log,
	}
	if !a.chance {
		o.Nonce = w.nonce
	}
	if a.wantsID {
		o.ID = id
	}
	var err error
	a.referee, err = referee.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(w.log)
	a.referee.Mount(scripted{mux, a.parts})
	w.open(a, mux)
	return a
}

// writer is newWriter and its registration.
func (w *world) writer(id string, folder store.Folder, traits ...trait) *actor {
	w.t.Helper()
	a := w.newWriter(id, folder, traits...)
	require.NoError(w.t, a.referee.Register(w.life))
	return a
}

// halt stops a referee as a process that is told to end.
func (a *actor) halt() {
	a.referee.Close()
	a.stop()
}

// hand gives a match to a referee, which must take it.
func (w *world) hand(boss, r *actor, matchID string, attempt int) *protocol.MatchAssignmentAck {
	w.t.Helper()
	ack, err := w.assign(boss, r, w.assignment(matchID, attempt, r.id))
	require.NoError(w.t, err)
	require.Equal(w.t, protocol.StatusAccepted, ack.Status, ack.Reason)
	return ack
}

// logged has all that is logged from now on in a book.
func (w *world) logged() *logBook {
	book := &logBook{}
	w.log = zerolog.New(book)
	return book
}

// told is what the book says.
func (l *logBook) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func folderOf(t *testing.T) store.Folder { return store.Folder(t.TempDir()) }

// filesOf are the files of matches in a folder, below data/matches.
func filesOf(t *testing.T, folder store.Folder) []string {
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
	theMatch   = leagueID + "/R1M1.json"
	theAttempt = leagueID + "/attempts/R1M1.a%d.REF01.json"
)

func attemptFile(n int) string { return fmt.Sprintf(theAttempt, n) }

// matchFile reads a file that filesOf names.
func matchFile(t *testing.T, folder store.Folder, name string) *store.Match {
	t.Helper()
	doc, err := store.Read[store.Match](filepath.Join(string(folder), "data", "matches", filepath.FromSlash(name)))
	require.NoError(t, err)
	return doc
}

// statesOf are the states of a match file, in order.
func statesOf(doc *store.Match) []string {
	list := make([]string, len(doc.Lifecycle.States))
	for i, s := range doc.Lifecycle.States {
		list[i] = s.State
	}
	return list
}

// said are the lines of a transcript with one player, without times:
// "choose_parity 1 < E004 CHOOSE_PARITY_RESPONSE".
func saidTo(doc *store.Match, playerID string) []string {
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

// the ordinary course of a match with one player, with what came before the
// end.
func ordinarily(before ...string) []string {
	return append(before, "notify_match_result 1 > GAME_OVER", "notify_match_result 1 < GAME_OVER_ACK")
}

var finishedStates = []string{"ASSIGNED", "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"}

// looking runs a check when a method is called, before the agent does what it
// does.
func looking(check func()) part {
	return func(c *call) (jsontext.Value, error) {
		check()
		return c.answer()
	}
}

// sameResult checks that a match file holds what was reported.
func sameResult(t *testing.T, doc *store.Match, q *protocol.MatchResultReport) {
	t.Helper()
	assert.Equal(t, q.Attempt, doc.Attempt)
	assert.Equal(t, q.Result.Winner, doc.Result.WinnerPlayerID)
	assert.Equal(t, q.Result.Score, doc.Result.Score)
	assert.Equal(t, q.Result.Details.DrawnNumber, doc.Result.DrawnNumber)
	assert.Equal(t, q.Result.Details.Choices, doc.Result.Choices)
	assert.Equal(t, q.Result.Details.Reason, doc.Result.Reason)
	assert.Equal(t, q.Draw, doc.Draw)
}
