package manager_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// readAs sends a query with the admin token, and decodes the data of the response.
func readAs[T any](w *leaguetest.World, token, queryType string, params protocol.QueryParams) (*T, *protocol.LeagueQueryResponse) {
	w.T.Helper()
	q := &protocol.LeagueQuery{LeagueID: leaguetest.LeagueID, QueryType: queryType, QueryParams: params}
	q.Envelope = protocol.NewStamp(protocol.ManagerSender, w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-organiser")
	q.AuthToken = token
	r, err := protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
	require.NoError(w.T, err)
	data := new(T)
	require.NoError(w.T, json.Unmarshal(leaguetest.Encode(r.Data), data))
	return data, r
}

// transcriptFor asks the manager for the transcript of a match.
func transcriptFor(w *leaguetest.World, token, matchID string, attempt int) (*protocol.MatchTranscript, error) {
	q := &protocol.ToolRequest{MatchID: matchID, Attempt: attempt}
	q.AuthToken = token
	return protocol.GetMatchTranscript.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
}

func TestOrganiserReadsTheLinesOfTheJournal(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.RefereeWithFiles("REF01", folder)
		w.Players(2)
		x.Finish()
		token := w.Manager.AdminToken()
		first, _ := readAs[protocol.JournalData](w, token, protocol.QueryJournal, protocol.QueryParams{Limit: 3})
		assert.Equal(t, 1, first.First)
		assert.Len(t, first.Lines, 3)
		rest, _ := readAs[protocol.JournalData](w, token, protocol.QueryJournal, protocol.QueryParams{Offset: 4})
		assert.Equal(t, first.Last, rest.Last)
		text, err := os.ReadFile(folder.Journal(leaguetest.LeagueID))
		require.NoError(t, err)
		assert.Equal(t, string(text), strings.Join(append(first.Lines, rest.Lines...), "\n")+"\n")
		behind, _ := readAs[protocol.JournalData](w, token, protocol.QueryJournal, protocol.QueryParams{Offset: rest.Last + 1})
		assert.Empty(t, behind.Lines)
		status, _ := readAs[protocol.StatusData](w, token, protocol.QueryStatus, protocol.QueryParams{})
		assert.Equal(t, "LEAGUE_COMPLETED", status.State)
	})
}

func TestOnlyTheOrganiserReadsJournalLogsAndTranscripts(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.Referee("REF01")
		w.Players(2)
		x.Finish()
		for _, queryType := range []string{protocol.QueryJournal, protocol.QueryAgentLog} {
			r, err := w.Query("P01", queryType).Send()
			require.NoError(t, err)
			assert.Equal(t, "E016", r.Error.ErrorCode, queryType)
			assert.Nil(t, r.Data, queryType)
		}
		for token, want := range map[string]string{"": "E011", w.Token("P01"): "E012", w.Token("REF01"): "E012"} {
			_, err := transcriptFor(w, token, "R1M1", 0)
			assert.ErrorContains(t, err, want)
		}
	})
}

func TestOrganiserGetsTranscriptsFromFolderOrReferee(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(2)
		x.Finish()
		token := w.Manager.AdminToken()
		delivered, err := transcriptFor(w, token, "R1M1", 0)
		require.NoError(t, err)
		assert.Equal(t, 1, delivered.Attempt)
		require.NoError(t, os.Remove(folder.Delivered(leaguetest.LeagueID, "REF01")))
		asked, err := transcriptFor(w, token, "R1M1", 1)
		require.NoError(t, err)
		assert.Equal(t, delivered.Records, asked.Records)
		for id, attempt := range map[string]int{"R1M1": 2, "R9M1": 0, "final": 0} {
			_, err = transcriptFor(w, token, id, attempt)
			assert.ErrorContains(t, err, "E006", id)
		}
	})
}

func TestViewersGetTranscriptsOfRecordedMatches(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		at := protocol.Attempt{MatchID: protocol.MatchID{Round: 1, Number: 1}, Number: 1}
		w.Players(2, leaguetest.On(protocol.ChooseParity.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
			_, err := w.Manager.ViewTranscript(w.Context, at)
			assert.ErrorContains(t, err, "E006")
			assert.ErrorContains(t, err, "has no recorded attempt 1", "its referee is not asked before the result")
			return c.OwnAnswer()
		}))
		x.Finish()
		stored, err := w.Manager.ViewTranscript(w.Context, at)
		require.NoError(t, err)
		require.NotEmpty(t, stored.Records)
		require.NoError(t, os.Remove(folder.Delivered(leaguetest.LeagueID, "REF01")))
		asked, err := w.Manager.ViewTranscript(w.Context, at)
		require.NoError(t, err)
		assert.Equal(t, stored.Records, asked.Records)
		again, err := w.Manager.ViewTranscript(w.Context, at)
		require.NoError(t, err)
		assert.Same(t, asked, again, "the referee is asked once")
		for _, other := range []protocol.Attempt{{MatchID: at.MatchID, Number: 2}, {MatchID: at.MatchID}, {MatchID: protocol.MatchID{Round: 9, Number: 1}, Number: 1}} {
			_, err = w.Manager.ViewTranscript(w.Context, other)
			assert.ErrorContains(t, err, "E006")
		}
	})
}

// Viewers have no credential: many at once cause two calls to referees at a time.
func TestViewersCauseFewCallsToReferees(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		var mu sync.Mutex
		calls, most := 0, 0
		count := func(change int) {
			mu.Lock()
			defer mu.Unlock()
			calls += change
			most = max(most, calls)
		}
		deliver := func(c *leaguetest.Call) (jsontext.Value, error) {
			count(1)
			defer count(-1)
			time.Sleep(time.Second) // virtual
			return c.OwnAnswer()
		}
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t), leaguetest.On(protocol.GetMatchTranscript.Name, deliver))
		w.Players(4)
		x.Finish()
		require.NoError(t, os.Remove(folder.Delivered(leaguetest.LeagueID, "REF01")))
		most = 0 // the calls of the manager for the data folder are over
		var viewing sync.WaitGroup
		for match := range 6 {
			viewing.Go(func() {
				at := protocol.Attempt{MatchID: protocol.MatchID{Round: 1 + match/2, Number: 1 + match%2}, Number: 1}
				_, err := w.Manager.ViewTranscript(w.Context, at)
				assert.NoError(t, err)
			})
		}
		viewing.Wait()
		assert.Equal(t, 2, most)
	})
}

func TestOrganiserReadsTheLogOfAnAgent(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		w.StartManagerIn(folder, 2, 1)
		w.Player("P01")
		log := filepath.Join(folder.LeagueLogs(leaguetest.LeagueID), "league.log.jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(log), 0o755))
		require.NoError(t, os.WriteFile(log, []byte(`{"id":"P01","at":1}`+"\n"+`{"id":"P02"}`+"\n"), 0o600))
		read, _ := readAs[protocol.AgentLogData](w, w.Manager.AdminToken(), protocol.QueryAgentLog, protocol.QueryParams{PlayerID: "P01"})
		assert.Equal(t, &protocol.AgentLogData{AgentID: "P01", Lines: []string{`{"id":"P01","at":1}`}}, read)
		_, no := readAs[protocol.AgentLogData](w, w.Manager.AdminToken(), protocol.QueryAgentLog, protocol.QueryParams{PlayerID: "P09"})
		assert.Equal(t, "E005", no.Error.ErrorCode)
	})
}

func TestAdminTokenDerivesFromTheFolderAndSurvivesARestart(t *testing.T) {
	ownSecret := func(o *league.Options) { o.Secret = nil }
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, ownSecret)
		w.Player("P01")
		token := w.Manager.AdminToken()
		secret, err := folder.Secret(leaguetest.LeagueID, true)
		require.NoError(t, err)
		assert.Equal(t, protocol.AdminToken(protocol.ManagerKeysOf(secret, protocol.KeyDerivation).Admin, leaguetest.LeagueID), token)
		x.Kill()
		w.StartManagerIn(folder, 2, 1, ownSecret)
		assert.Equal(t, token, w.Manager.AdminToken())
	})
}
