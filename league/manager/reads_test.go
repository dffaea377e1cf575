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

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
)

// readAsOrganiser sends a query with the admin token, and decodes the data of the response.
func readAsOrganiser[T any](
	w *leaguetest.World, queryType string, params protocol.QueryParams,
) (*T, *protocol.LeagueQueryResponse) {
	w.T.Helper()
	q := w.Query("", queryType)
	q.Sender, q.AuthToken, q.QueryParams = protocol.ManagerSender, w.Manager.AdminToken(), params
	r, err := q.Send()
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
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.RefereeWithFiles("REF01", x.Folder)
		w.Players(2)
		x.Finish()
		first, _ := readAsOrganiser[protocol.JournalData](w, protocol.QueryJournal, protocol.QueryParams{Limit: 3})
		assert.Equal(t, 1, first.First)
		assert.Len(t, first.Lines, 3)
		rest, _ := readAsOrganiser[protocol.JournalData](w, protocol.QueryJournal, protocol.QueryParams{Offset: 4})
		assert.Equal(t, first.Last, rest.Last)
		text, err := os.ReadFile(x.Folder.Journal(leaguetest.LeagueID))
		require.NoError(t, err)
		assert.Equal(t, string(text), strings.Join(append(first.Lines, rest.Lines...), "\n")+"\n")
		next := protocol.QueryParams{Offset: rest.Last + 1}
		behind, _ := readAsOrganiser[protocol.JournalData](w, protocol.QueryJournal, next)
		assert.Empty(t, behind.Lines)
		status, _ := readAsOrganiser[protocol.StatusData](w, protocol.QueryStatus, protocol.QueryParams{})
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
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		w.Players(2)
		x.Finish()
		token := w.Manager.AdminToken()
		delivered, err := transcriptFor(w, token, "R1M1", 0)
		require.NoError(t, err)
		assert.Equal(t, 1, delivered.Attempt)
		require.NoError(t, os.Remove(x.Folder.Match(leaguetest.LeagueID, "R1M1")))
		asked, err := transcriptFor(w, token, "R1M1", 1)
		require.NoError(t, err)
		assert.Equal(t, delivered.Match, asked.Match)
		for id, attempt := range map[string]int{"R1M1": 2, "R9M1": 0, "final": 0} {
			_, err = transcriptFor(w, token, id, attempt)
			assert.ErrorContains(t, err, "E006", id)
		}
	})
}

func TestViewersGetTranscriptsOfRecordedMatches(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		w.RefereeWithFiles("REF01", leaguetest.TempFolder(t))
		at := league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}
		w.Players(2, leaguetest.On(protocol.ChooseParity.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
			_, err := w.Manager.ViewTranscript(w.Context, at)
			assert.ErrorContains(t, err, "E006")
			assert.ErrorContains(t, err, "has no recorded attempt 1", "its referee is not asked before the result")
			return c.OwnAnswer()
		}))
		x.Finish()
		stored, err := w.Manager.ViewTranscript(w.Context, at)
		require.NoError(t, err)
		require.NotEmpty(t, stored.Transcript)
		require.NoError(t, os.Remove(x.Folder.Match(leaguetest.LeagueID, "R1M1")))
		asked, err := w.Manager.ViewTranscript(w.Context, at)
		require.NoError(t, err)
		assert.Equal(t, stored, asked)
		for _, other := range []league.Attempt{{MatchID: at.MatchID, Number: 2}, {MatchID: at.MatchID}, {MatchID: league.MatchID{Round: 9, Number: 1}, Number: 1}} {
			_, err = w.Manager.ViewTranscript(w.Context, other)
			assert.ErrorContains(t, err, "E006")
		}
	})
}

// Viewers have no credential: many at once cause two calls to referees at a time.
func TestViewersCauseFewCallsToReferees(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1)
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
		require.NoError(t, os.RemoveAll(x.Folder.Matches(leaguetest.LeagueID)))
		most = 0 // the calls of the manager for the data folder are over
		var viewing sync.WaitGroup
		for match := range 6 {
			viewing.Go(func() {
				at := league.Attempt{MatchID: league.MatchID{Round: 1 + match/2, Number: 1 + match%2}, Number: 1}
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
		of := protocol.QueryParams{PlayerID: "P01"}
		read, _ := readAsOrganiser[protocol.AgentLogData](w, protocol.QueryAgentLog, of)
		assert.Equal(t, &protocol.AgentLogData{AgentID: "P01", Lines: []string{`{"id":"P01","at":1}`}}, read)
		of.PlayerID = "P09"
		_, no := readAsOrganiser[protocol.AgentLogData](w, protocol.QueryAgentLog, of)
		assert.Equal(t, "E005", no.Error.ErrorCode)
	})
}

func keepsEvents(o *manager.Options) { o.KeepEvents = true }

// recordedMatch reads the resource of a match; nil if there is none.
func recordedMatch(w *leaguetest.World, id string) *record.Match {
	w.T.Helper()
	x, err := w.Manager.Read(w.Context, manager.ReadResource, w.Token("P01"), func(v *decide.View) (any, error) {
		return record.MatchWithResult(v, id), nil
	})
	require.NoError(w.T, err)
	return x.(*record.Match)
}

func TestReaderNeedsACredential(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := w.StartManager(0, 1, keepsEvents)
		w.Player("P01")
		w.Referee("REF01")
		for _, tt := range []struct {
			name, bearer string
			want         protocol.Code // "" if accepted
		}{
			{"nothing", "", protocol.ErrTokenMissing},
			{"a made-up token", "tok-p01-AAAA", protocol.ErrTokenInvalid},
			{"the credential of the manager", w.ManagerCredential("P01"), protocol.ErrTokenInvalid},
			{"an access token", w.AccessToken("P01", "R1M1", 1, "REF01"), protocol.ErrTokenInvalid},
			{"a part of the admin token", m.AdminToken()[:20], protocol.ErrTokenInvalid},
			{"the token of a player", w.Token("P01"), ""},
			{"the token of a referee", w.Token("REF01"), ""},
			{"the admin token", m.AdminToken(), ""},
		} {
			called := false
			_, err := m.Read(w.Context, manager.ReadResource, tt.bearer, func(*decide.View) (any, error) { called = true; return nil, nil })
			_, journalErr := m.ReadJournal(w.Context, tt.bearer, 1)
			assert.Equal(t, tt.want == "", called, tt.name)
			for _, err := range []error{err, journalErr, m.Authenticate(w.Context, tt.bearer)} {
				if tt.want == "" {
					assert.NoError(t, err, tt.name)
				} else {
					assert.Equal(t, tt.want, protocol.AsError(err).Code, tt.name)
				}
			}
		}
	})
}

func TestReadsOfAnAgentAreLimited(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := w.StartManager(0, 1, func(o *manager.Options) { o.Limits.Burst = 3 })
		w.Player("P01")
		for range 3 {
			require.NoError(t, m.Authenticate(w.Context, w.Token("P01")))
		}
		leaguetest.AssertRefused(t, m.Authenticate(w.Context, w.Token("P01")), protocol.ErrRateLimited, 22)
		require.NoError(t, m.Authenticate(w.Context, m.AdminToken()))
	})
}

func TestOnlyRecordedMatchesAreRead(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1)
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.WaitUntil(1500 * time.Millisecond) // in the second round
		assert.Nil(t, recordedMatch(w, "R2M1"), "it is running")
		for _, id := range []string{"R3M1", "R1M2", "R9M9", "", "R1M1 ", "R01M1", "../R1M1"} {
			assert.Nil(t, recordedMatch(w, id), id)
		}
		x := recordedMatch(w, "R1M1")
		require.NotNil(t, x)
		raw := leaguetest.Encode(x)
		for _, member := range []string{`"match_id":"R1M1"`, `"round_id":1`, `"player_A_id":"P01"`, `"player_B_id":"P02"`, `"referee_id":"REF01"`,
			`"attempt":1`, `"status":"DRAW"`, `"choices":{"P01":"even","P02":"even"}`, `"score":{"P01":1,"P02":1}`, `"nonce":`, `"reported_at":`} {
			assert.Contains(t, string(raw), member)
		}
	})
}

// The manager keeps the draws of old rounds only in the journal.
func TestMatchOfAnOldRoundIsReadWithItsDraw(t *testing.T) {
	const noEvents = "no events"
	for name, start := range map[string]func(*leaguetest.World) (finish func() *protocol.LeagueCompleted){
		"events in memory": func(w *leaguetest.World) func() *protocol.LeagueCompleted {
			w.StartManager(4, 1, keepsEvents)
			return w.Finish
		},
		"a journal": func(w *leaguetest.World) func() *protocol.LeagueCompleted {
			return w.StartManagerIn(leaguetest.TempFolder(w.T), 4, 1).Finish
		},
		noEvents: func(w *leaguetest.World) func() *protocol.LeagueCompleted {
			w.StartManager(4, 1)
			return w.Finish
		},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			finish := start(w)
			w.Referee("REF01")
			w.Players(4)
			finish()
			for _, id := range []string{"R1M1", "R1M2", "R2M1", "R3M2"} {
				x := recordedMatch(w, id)
				assert.NotEmpty(t, x.Reason, id)
				assert.Len(t, x.Score, 2, id)
				if name != noEvents || id == "R3M2" {
					require.NotNil(t, x.Draw, id)
					assert.Equal(t, w.Nonce(id).Hex(), x.Draw.Nonce)
				}
			}
		})
	}
}

func TestJournalIsReadInPages(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := w.StartManager(9, 1, keepsEvents)
		w.Referee("REF01")
		w.Players(9)
		w.Finish()
		seq, pages := 0, 0
		for from := 1; from != 0; pages++ {
			page, err := m.ReadJournal(w.Context, m.AdminToken(), from)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.Events), 100)
			for _, e := range page.Events {
				seq++
				got := *leaguetest.Decode[map[string]jsontext.Value](e)
				assert.Equal(t, string(leaguetest.Encode(seq)), string(got["seq"]))
				for _, part := range []string{"http:", "mcp", `"endpoint"`, "tok-", "adm-", w.Token("P01"), `"prev"`} {
					assert.NotContains(t, string(e), part)
				}
			}
			if from = page.Next; from == 0 {
				assert.Equal(t, seq, page.Last)
			}
		}
		assert.Greater(t, pages, 1)
		page, err := m.ReadJournal(w.Context, m.AdminToken(), seq+5)
		require.NoError(t, err)
		assert.Equal(t, `{"events":[],"last":`+string(leaguetest.Encode(seq))+`}`, string(leaguetest.Encode(page)))
		first, err := m.ReadJournal(w.Context, m.AdminToken(), -3)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(first.Events[0]), `{"seq":1,`))
	})
}
