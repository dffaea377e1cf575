package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/view/record"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// options returns the options of a league in memory; tests change some of them.
func options(players int) simulation.Options {
	return simulation.Options{
		Seed: 7, Strategies: everyday(), Transport: simulation.Memory, Rules: simulation.Rules{
			Created: journal.Created{LeagueID: "league_2025_even_odd", GameType: evenodd.Type,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: players, Referees: 2}}},
			Games: rules.NewRegistry(evenodd.Game{}), Log: zerolog.Nop(),
		},
	}
}

// everyday returns the strategies that play any game.
func everyday() []string {
	return slices.DeleteFunc(strategy.Names(), func(name string) bool {
		s, err := strategy.New(name)
		return err != nil || strategy.Fits(s, evenodd.Type) != nil
	})
}

func run(t *testing.T, o simulation.Options) *simulation.Result {
	t.Helper()
	r, err := simulation.Run(t.Context(), o)
	require.NoError(t, err)
	return r
}

// An outcome is what two simulations have in common if they have the same options: not the times.
type outcome struct {
	simulation.Result
	gameType, faults string
	seed             uint64
	rounds           int
	champion         league.Champion
	evidence         []string
	matches          []record.Match
}

// matchesOf are the matches without the times.
func matchesOf(r *simulation.Result) []record.Match {
	return lists.Map(slices.Collect(r.Matches()), func(m record.Match) record.Match {
		m.ReportedAt = ""
		return m
	})
}

func outcomeOf(r *simulation.Result) *outcome {
	s := r.State
	o := &outcome{*r, s.Created.GameType, s.Created.Simulation.Faults, s.Created.Simulation.Seed, s.TotalRounds(),
		s.Champion(), decide.Evidence(s), matchesOf(r)}
	o.State = nil
	return o
}

var transports = []string{simulation.Memory, simulation.Wire, simulation.HTTP}

func TestCarrierAndConcurrencyDoNotChangeALeague(t *testing.T) {
	first := run(t, options(9))
	t.Run("the number of referees", func(t *testing.T) {
		for _, referees := range []int{1, 5} {
			o := options(9)
			o.Referees = referees
			assert.Equal(t, withoutReferees(first), withoutReferees(run(t, o)))
		}
	})
	t.Run("the default is one leg", func(t *testing.T) {
		o := options(9)
		o.Legs = 1
		assert.Equal(t, outcomeOf(first), outcomeOf(run(t, o)))
	})
	t.Run("the default strategy is random", func(t *testing.T) {
		o := options(9)
		o.Strategies = nil
		unnamed := run(t, o)
		o.Strategies = []string{"random"}
		assert.Equal(t, outcomeOf(run(t, o)), outcomeOf(unnamed))
	})
}

func TestLeaguesOfEveryShape(t *testing.T) {
	t.Parallel()
	shapes := []struct {
		name       string
		players    int
		legs       int
		strategies []string
	}{
		{"two players", 2, 1, everyday()},
		{"three, so one has a bye", 3, 1, everyday()},
		{"a strategy for each player", 5, 1, []string{"odd", "even", "mirror", "random", "odd"}},
		{"every strategy, four legs", 8, 4, everyday()},
		{"all at random", 12, 1, []string{"random"}},
		{"the past matters, an odd number", 21, 2, []string{"mirror", "frequency", "contrarian", "random"}},
		{"more than 99 players", 101, 1, everyday()},
	}
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			o := options(s.players)
			o.Legs, o.Strategies = s.legs, s.strategies
			r := run(t, o)
			everyResultIsRight(t, o, r)
			everyChoiceIsThatOfAPlainLoop(t, o, r)
			l := &playedLeague{options: o, result: r, organiser: &decider{}}
			assert.Empty(t, oneResultEach(l))
			assert.Empty(t, tableOfResults(l))
			assert.Len(t, r.Players, s.players)
			for _, row := range r.Players {
				assert.Equal(t, strategyOf(o, row.PlayerID), row.Strategy, row.PlayerID)
			}
			assert.Equal(t, r.Players[0].PlayerID, r.State.Champion().PlayerID)
		})
	}
}

// strategyOf returns the strategy of a player: they get theirs in turn.
func strategyOf(o simulation.Options, id string) string {
	n, _ := league.ParsePlayerID(id)
	return o.Strategies[(n-1)%len(o.Strategies)]
}

// everyResultIsRight recomputes every draw, and the verdict without package rules.
func everyResultIsRight(t *testing.T, o simulation.Options, r *simulation.Result) {
	for _, m := range matchesOf(r) {
		number := evenodd.Number(rules.Chance{
			Nonce:    simulation.Nonce(o.Seed, m.MatchID),
			EntropyA: simulation.Entropy(o.Seed, m.MatchID, m.PlayerAID),
			EntropyB: simulation.Entropy(o.Seed, m.MatchID, m.PlayerBID),
		})
		assert.Equal(t, number, protocol.ValueOf(m.DrawnNumber), "%s: the seed is enough to draw it again", m.MatchID)

		parity := []string{"even", "odd"}[number%2]
		drawn := fmt.Sprintf("number was %d (%s)", number, parity)
		want := [3]string{"WIN", m.PlayerBID, m.PlayerBID + " chose " + parity + ", " + drawn}
		switch {
		case m.LastMoves()[0] == m.LastMoves()[1] && parity == m.LastMoves()[1]:
			want = [3]string{"DRAW", "", "Both chose " + m.LastMoves()[0] + ", " + drawn + " - both correct"}
		case m.LastMoves()[0] == m.LastMoves()[1]:
			want = [3]string{"DRAW", "", "Both chose " + m.LastMoves()[0] + ", " + drawn + " - both incorrect"}
		case m.LastMoves()[0] == parity:
			want = [3]string{"WIN", m.PlayerAID, m.PlayerAID + " chose " + parity + ", " + drawn}
		}
		assert.Equal(t, want, [3]string{m.Status, m.Winner(), m.Reason}, m.MatchID)
		assert.Subset(t, [2]string{"even", "odd"}, m.LastMoves(), m.MatchID)
		assert.Contains(t, []string{"REF01", "REF02"}, m.RefereeID, m.MatchID)
	}
}

// everyChoiceIsThatOfAPlainLoop plays the same league in a loop without agents and
// messages: one match after the other, each player with a strategy and a memory.
func everyChoiceIsThatOfAPlainLoop(t *testing.T, o simulation.Options, r *simulation.Result) {
	memories := map[string]*strategy.Memory{}
	for n := range o.Players {
		memories[league.PlayerID(n+1)] = strategy.NewMemory()
	}
	choose := func(m record.Match, id, opponent string) string {
		s, err := strategy.New(strategyOf(o, id))
		require.NoError(t, err)
		choice, err := s.Choose(t.Context(), strategy.View{
			Options: []string{"even", "odd"}, RoundID: m.RoundID, PlayerID: id, OpponentID: opponent,
			Memory: func() *strategy.Memory { return memories[id] }, Random: simulation.Random(o.Seed, id, m.MatchID),
		})
		require.NoError(t, err)
		return choice
	}
	for _, m := range matchesOf(r) {
		a, b := choose(m, m.PlayerAID, m.PlayerBID), choose(m, m.PlayerBID, m.PlayerAID)
		require.Equal(t, [2]string{a, b}, m.LastMoves(), m.MatchID)
		parity := []string{"even", "odd"}[protocol.ValueOf(m.DrawnNumber)%2]
		memories[m.PlayerAID].Remember(m.PlayerBID, b, parity)
		memories[m.PlayerBID].Remember(m.PlayerAID, a, parity)
	}
}

func TestProgressIsReportedOncePerMatch(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			o := options(8)
			o.Transport, o.Legs = transport, 2
			var told []int
			o.Progress = func(recorded, matches int) { // the calls are sequential: no lock
				told = append(told, recorded)
				assert.Equal(t, 56, matches)
			}
			run(t, o)
			require.Len(t, told, 56)
			for i, recorded := range told {
				assert.Equal(t, i+1, recorded)
			}
		})
	}
}

// noLeak fails if f leaves goroutines.
func noLeak(t *testing.T, f func()) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	f()
	goleak.VerifyNone(t, before)
}

// The moments at which a league is interrupted.
var moments = []struct {
	name      string
	interrupt func(o *simulation.Options, cancel func())
}{
	{"before it begins", func(_ *simulation.Options, cancel func()) { cancel() }},
	{"while agents register", func(o *simulation.Options, cancel func()) {
		o.Log = zerolog.New(zerolog.SyncWriter(&trigger{after: 4, text: "REGISTERED", pull: cancel})).Level(zerolog.InfoLevel)
	}},
	{"when the last has registered", func(o *simulation.Options, cancel func()) {
		o.Log = zerolog.New(zerolog.SyncWriter(&trigger{after: 1, text: "LEAGUE_STARTED", pull: cancel})).Level(zerolog.InfoLevel)
	}},
	{"after the first result", atResult(1)},
	{"in the middle", atResult(14)},
	{"at the last result", atResult(28)},
}

func atResult(n int) func(o *simulation.Options, cancel func()) {
	return func(o *simulation.Options, cancel func()) {
		o.Progress = func(recorded, _ int) {
			if recorded == n {
				cancel()
			}
		}
	}
}

// trigger is a log that calls a function when a text was written a number of times.
type trigger struct {
	after int
	text  string
	pull  func()
}

func (w *trigger) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(w.text)) {
		w.after--
		if w.after == 0 {
			w.pull()
		}
	}
	return len(line), nil
}

func TestInterruptedLeagueEndsAtOnce(t *testing.T) {
	for _, moment := range moments {
		for _, transport := range transports {
			t.Run(moment.name+", "+transport, func(t *testing.T) {
				interrupted := func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					o := options(8)
					o.Transport = transport
					moment.interrupt(&o, cancel)
					r, err := simulation.Run(ctx, o)
					require.ErrorIs(t, err, context.Canceled)
					assert.Nil(t, r)
				}
				if transport == simulation.HTTP { // real connections have no virtual time
					noLeak(t, func() { interrupted(t) })
					return
				}
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					interrupted(t)
					assert.Zero(t, time.Since(begin), "nothing is waited for")
				})
			})
		}
	}
}

func TestInvalidOptions(t *testing.T) {
	unknown := `unknown strategy %q; choose one of: ` + external.Names(false)
	for _, tt := range []struct {
		name   string
		change func(*simulation.Options)
		want   []string
	}{
		{"one player", func(o *simulation.Options) { o.Players = 1 }, []string{"a league has 2 to 10,000 players, not 1"}},
		{"too many players", func(o *simulation.Options) { o.Players = 10_001 }, []string{"a league has 2 to 10,000 players, not 10001"}},
		{"no referee", func(o *simulation.Options) { o.Referees = 0 }, []string{"a league has 1 to 1,000 referees, not 0"}},
		{"too many referees", func(o *simulation.Options) { o.Referees = 1001 }, []string{"a league has 1 to 1,000 referees, not 1001"}},
		{"negative legs", func(o *simulation.Options) { o.Legs = -1 }, []string{"legs are 1 or more, not -1"}},
		{"too many legs", func(o *simulation.Options) { o.Players, o.Legs = 4, 22_369_622 }, []string{"4 players and 22369622 legs make 134217732 matches: more than the 134217728 that a league can have"}},
		{"more legs than can be counted", func(o *simulation.Options) { o.Legs = math.MaxInt }, []string{"a round robin of 4 players and 9223372036854775807 legs has more matches than can be counted"}},
		{"negative concurrency", func(o *simulation.Options) { o.Concurrency = -1 }, []string{"concurrency is 1 to 10,000, not -1"}},
		{"too much concurrency", func(o *simulation.Options) { o.Concurrency = 10_001 }, []string{"concurrency is 1 to 10,000, not 10001"}},
		{"an unknown transport", func(o *simulation.Options) { o.Transport = "pigeon" }, []string{`transport "pigeon": one of memory, wire, http`}},
		{"no transport", func(o *simulation.Options) { o.Transport = "" }, []string{`transport "": one of memory, wire, http`}},
		{"unknown strategies", func(o *simulation.Options) { o.Strategies = []string{"odd", "clever", "lucky"} },
			[]string{fmt.Sprintf(unknown, "clever"), fmt.Sprintf(unknown, "lucky")}},
		{"a strategy of another game", func(o *simulation.Options) { o.Strategies = []string{"random", "perfect"} },
			[]string{"strategy perfect plays tic_tac_toe, not even_odd"}},
		{"too many rounds", func(o *simulation.Options) {
			o.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 3}
		}, []string{"a Swiss system of 4 players has at most 2 rounds, not 3"}},
		{"legs of a knockout", func(o *simulation.Options) {
			o.Tournament, o.Legs = &journal.Tournament{Algorithm: pairing.Knockout}, 2
		}, []string{"only a round-robin or gauntlet has legs, not a tournament of format knockout"}},
		{"an unknown name in the seeding", func(o *simulation.Options) {
			o.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Seeding: []string{"Player 04", "Player 05"}}
		}, []string{`seeding: no player is called "Player 05": the players are random 1 to alternate 4`}},
		{"a seeding of another league", func(o *simulation.Options) {
			o.Tournament = &journal.Tournament{Algorithm: pairing.Swiss, Seeding: []string{"A", "B", "C", "D", "E"}}
		}, []string{
			`seeding: no player is called "A": the players are random 1 to alternate 4`,
			`seeding: no player is called "B": the players are random 1 to alternate 4`,
			`seeding: no player is called "C": the players are random 1 to alternate 4`,
			`seeding: no player has these names: 5 in all`,
		}},
		{"everything", func(o *simulation.Options) {
			*o = simulation.Options{Transport: "x", Strategies: []string{""}}
			o.Players, o.Referees, o.Legs, o.Concurrency = -1, -2, -3, -4
		}, []string{
			"a league has 2 to 10,000 players, not -1", "a league has 1 to 1,000 referees, not -2", "legs are 1 or more, not -3",
			"concurrency is 1 to 10,000, not -4", `transport "x": one of memory, wire, http`, fmt.Sprintf(unknown, ""),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(4)
			tt.change(&o)
			want := strings.Join(tt.want, "\n")
			require.EqualError(t, o.Validate(), want)
			r, err := simulation.Run(t.Context(), o)
			require.EqualError(t, err, want, "and it is not played")
			assert.Nil(t, r)
		})
	}
}

func TestLeagueThatCannotStartLeavesNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*simulation.Options)
		want   string
	}{
		{"an unknown game", func(o *simulation.Options) { o.GameType = "chess" }, `unknown game "chess"; known: even_odd`},
		{"no games", func(o *simulation.Options) { o.Games = rules.Registry{} }, `unknown game "even_odd"; known: none`},
		{"a league that has no name", func(o *simulation.Options) { o.LeagueID = "" }, `league id ""`},
	} {
		for _, transport := range transports {
			t.Run(tt.name+", "+transport, func(t *testing.T) {
				o := options(4)
				o.Transport = transport
				tt.change(&o)
				noLeak(t, func() {
					r, err := simulation.Run(t.Context(), o)
					require.ErrorContains(t, err, tt.want)
					assert.Nil(t, r)
				})
			})
		}
	}
}

// Agents of a simulation listen before they register. The manager does not ping them, and
// the journal has no event about it.
func TestSimulatedAgentsAreNotPinged(t *testing.T) {
	folder := stored(t, options(4))
	journal, err := os.ReadFile(folder.Journal(options(4).LeagueID))
	require.NoError(t, err)
	for _, member := range []string{"agent_answered", "awaits_answer", "registration_grace_sec"} {
		assert.NotContains(t, string(journal), member)
	}
}
