package manager_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

func keepsEvents(o *league.Options) { o.KeepEvents = true }

// recordedMatch reads the resource of a match; nil if there is none.
func recordedMatch(w *leaguetest.World, id string) *decide.RecordedMatch {
	w.T.Helper()
	x, err := w.Manager.Read(w.Context, w.Token("P01"), func(v *decide.View) (any, error) { return v.RecordedMatch(id), nil })
	require.NoError(w.T, err)
	return x.(*decide.RecordedMatch)
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
			_, err := m.Read(w.Context, tt.bearer, func(*decide.View) (any, error) { called = true; return nil, nil })
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
		m := w.StartManager(0, 1, func(o *league.Options) { o.AsksAtOnce = 3 })
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
	start := func(w *leaguetest.World, change ...func(*league.Options)) func() {
		w.StartManager(4, 1, change...)
		return func() { w.Finish() }
	}
	for _, tt := range []struct {
		name  string
		start func(*leaguetest.World) (finish func())
		draw  bool
	}{
		{"events in memory", func(w *leaguetest.World) func() { return start(w, keepsEvents) }, true},
		{"a journal", func(w *leaguetest.World) func() {
			x := w.StartManagerIn(store.Folder(w.T.TempDir()), 4, 1)
			return func() { x.Finish() }
		}, true},
		{"no events", func(w *leaguetest.World) func() { return start(w) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				finish := tt.start(w)
				w.Referee("REF01")
				w.Players(4)
				finish()
				for _, id := range []string{"R1M1", "R1M2", "R2M1", "R3M2"} {
					x := recordedMatch(w, id)
					assert.NotEmpty(t, x.Reason, id)
					assert.Len(t, x.Score, 2, id)
					if tt.draw || id == "R3M2" {
						require.NotNil(t, x.Draw, id)
						assert.Equal(t, w.Nonce(id).Hex(), x.Draw.Nonce)
					}
				}
			})
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

// A subscriber that never reads does not delay the league, and gets all events later.
func TestLeagueDoesNotWaitForASubscriber(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		m := w.StartManager(4, 1, keepsEvents)
		events, err := m.Subscribe(1)
		require.NoError(t, err)
		w.Referee("REF01")
		w.Players(4)
		w.Finish()
		recorded := 0
		for n := 1; recorded < 6; n++ {
			e, err := events.Next(w.Context)
			require.NoError(t, err)
			require.Equal(t, n, e.Seq)
			if strings.Contains(string(leaguetest.Encode(e.Data)), `"score"`) {
				recorded++
			}
		}
	})
}
