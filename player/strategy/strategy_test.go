package strategy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/player/strategy"
)

// everyName returns the names of the strategies that play any game, in the order of Names.
var everyName = []string{"random", "even", "odd", "alternate", "frequency", "mirror", "contrarian"}

func named(t require.TestingT, name string) strategy.Strategy {
	s, err := strategy.New(name)
	require.NoError(t, err)
	return s
}

// source returns the n-th of a fixed sequence of sources.
func source(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }

// past is a finished match.
type past struct{ opponent, choice, parity string }

// remembering returns the memory of matches, in their order.
func remembering(matches ...past) *strategy.Memory {
	m := strategy.NewMemory()
	for _, p := range matches {
		m.Remember(p.opponent, p.choice, p.parity)
	}
	return m
}

// parities returns a view of Even/Odd against P02.
func parities(m *strategy.Memory, n uint64) strategy.View {
	return strategy.View{
		GameType: "even_odd", MoveType: "choose_parity", Options: []string{"even", "odd"},
		MatchID: "R1M1", RoundID: 1, PlayerID: "P01", OpponentID: "P02", Memory: func() *strategy.Memory { return m }, Random: source(n),
	}
}

// choices counts the choices of a strategy with many random sources. A deterministic
// strategy has one choice.
func choices(t *testing.T, name string, view func(n uint64) strategy.View) map[string]int {
	counts := map[string]int{}
	for n := range uint64(1000) {
		choice, err := named(t, name).Choose(t.Context(), view(n))
		require.NoError(t, err)
		counts[choice]++
	}
	return counts
}

func TestNames(t *testing.T) {
	all := strategy.Names()
	assert.Subset(t, all, append(slices.Clone(everyName), "perfect", "lookahead", "nash"))
	for _, name := range all {
		assert.Equal(t, name, named(t, name).Name())
	}
	strategy.Names()[0] = "changed by the caller"
	assert.Equal(t, all, strategy.Names())
}

func TestUnknownNameIsRefused(t *testing.T) {
	for _, name := range []string{"", "Random", "llm", "even "} {
		s, err := strategy.New(name)
		require.EqualError(t, err, fmt.Sprintf(
			"unknown strategy %q; choose one of: %s", name, strings.Join(strategy.Names(), ", ")))
		assert.Nil(t, s)
	}
}

func TestViewWithoutOptionsIsAnError(t *testing.T) {
	for _, name := range everyName {
		v := parities(strategy.NewMemory(), 1)
		v.Options = nil
		choice, err := named(t, name).Choose(t.Context(), v)
		require.EqualError(t, err, name+": no move to choose from")
		assert.Empty(t, choice)
	}
}

// The strategies understand no words: they say something short, on one line, that insults nobody.
func TestStrategiesSayAWordWhereWordsAreAsked(t *testing.T) {
	for _, name := range everyName {
		for _, most := range []int{1, 2, 3, 2000} {
			v := parities(strategy.NewMemory(), 1)
			v.Options, v.Text = nil, most
			said, err := named(t, name).Choose(t.Context(), v)
			require.NoError(t, err, name)
			assert.Regexp(t, `^([a-z]+|\?)$`, said, name)
			assert.LessOrEqual(t, len(said), most, name)
		}
	}
}

// A strategy that understands no words says one of the examples of the question, but not the refused one.
func TestStrategiesSayAnExample(t *testing.T) {
	asked := func(refused *strategy.Refusal) func(n uint64) strategy.View {
		return func(n uint64) strategy.View {
			v := parities(strategy.NewMemory(), n)
			v.Options, v.Text, v.Context = nil, 3, map[string]any{"examples": []any{"one", "three", "two"}}
			v.Refused = refused
			return v
		}
	}
	said := choices(t, "random", asked(nil))
	assert.Len(t, said, 2)
	assert.InDelta(t, 500, said["one"], 100)
	assert.Equal(t, map[string]int{"two": 1000}, choices(t, "random", asked(&strategy.Refusal{Choice: "one"})))
}

func TestEveryChoiceIsLegal(t *testing.T) {
	move := rapid.SampledFrom([]string{"even", "odd", "0", "1", "8", "pass", ""})
	player := rapid.SampledFrom([]string{"P01", "P02", "P03", "P04", ""})
	remembered := rapid.Custom(func(t *rapid.T) past {
		return past{
			player.Draw(t, "opponent"), move.Draw(t, "choice"),
			rapid.SampledFrom([]string{"even", "odd", ""}).Draw(t, "parity"),
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		memory := remembering(rapid.SliceOfN(remembered, 0, 12).Draw(rt, "remembered")...)
		seed := rapid.Uint64().Draw(rt, "source")
		v := strategy.View{
			GameType: "any", MoveType: "any", OpponentID: player.Draw(rt, "opponent"),
			Options: rapid.SliceOfNDistinct(move, 1, 5, rapid.ID).Draw(rt, "options"),
			RoundID: rapid.IntRange(-3, 300).Draw(rt, "round"), Memory: func() *strategy.Memory { return memory },
		}
		options := slices.Clone(v.Options)
		for _, name := range everyName {
			v.Random = source(seed)
			choice, err := named(rt, name).Choose(t.Context(), v)
			require.NoError(rt, err, name)
			assert.Contains(rt, options, choice, name)
			assert.Equal(rt, options, v.Options, "%s leaves the options alone", name)

			v.Random = source(seed)
			again, err := named(rt, name).Choose(t.Context(), v)
			require.NoError(rt, err, name)
			assert.Equal(rt, choice, again, "%s chooses the same from the same source", name)
		}
	})
}

func TestRandomIsUniform(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []string
	}{
		{"two moves", []string{"even", "odd"}},
		{"nine moves", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const draws = 18_000
			counts := map[string]int{}
			random := source(1)
			for range draws {
				v := parities(strategy.NewMemory(), 0)
				v.Options, v.Random = tt.options, random
				choice, err := named(t, "random").Choose(t.Context(), v)
				require.NoError(t, err)
				counts[choice]++
			}
			for _, option := range tt.options {
				assert.InEpsilon(t, draws/len(tt.options), counts[option], 0.1, "%v", counts)
			}
		})
	}
}

func TestConstantStrategiesChooseTheirMove(t *testing.T) {
	for _, name := range []string{"even", "odd"} {
		other := map[string]string{"even": "odd", "odd": "even"}[name]
		full := remembering(past{"P02", other, other}, past{"P02", other, other})
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, map[string]int{name: 1000}, choices(t, name, func(n uint64) strategy.View { return parities(full, n) }))
		})
		t.Run(name+" in a game without it", func(t *testing.T) {
			counts := choices(t, name, func(n uint64) strategy.View {
				v := parities(full, n)
				v.Options = []string{"left", "right"}
				return v
			})
			assert.Len(t, counts, 2, "any legal move will do")
		})
	}
}

func TestAlternateGoesThroughTheOptionsByRound(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options []string
		round   int
		want    string
	}{
		{"round 1", []string{"even", "odd"}, 1, "even"},
		{"round 2", []string{"even", "odd"}, 2, "odd"},
		{"round 3", []string{"even", "odd"}, 3, "even"},
		{"round 100", []string{"even", "odd"}, 100, "odd"},
		{"the options in another order", []string{"odd", "even"}, 1, "odd"},
		{"three options, round 3", []string{"a", "b", "c"}, 3, "c"},
		{"three options, round 4", []string{"a", "b", "c"}, 4, "a"},
		{"one option", []string{"pass"}, 7, "pass"},
		{"the round is not known", []string{"even", "odd"}, 0, "even"},
		{"the round is nonsense", []string{"even", "odd"}, -2, "even"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counts := choices(t, "alternate", func(n uint64) strategy.View {
				v := parities(remembering(past{"P02", "odd", "odd"}), n)
				v.Options, v.RoundID = tt.options, tt.round
				return v
			})
			assert.Equal(t, map[string]int{tt.want: 1000}, counts)
		})
	}
}

// either means that a strategy chooses at random.
const either = "either"

func TestStrategiesWithMemory(t *testing.T) {
	for _, tt := range []struct {
		name     string
		strategy string
		matches  []past
		want     string
	}{
		{"frequency: nothing was drawn yet", "frequency", nil, either},
		{"frequency: even was drawn once", "frequency", []past{{"P03", "odd", "even"}}, "even"},
		{"frequency: odd was drawn more often", "frequency",
			[]past{{"P03", "even", "even"}, {"P03", "even", "odd"}, {"P04", "even", "odd"}}, "odd"},
		{"frequency: the last draw does not count more", "frequency",
			[]past{{"P03", "even", "odd"}, {"P03", "even", "odd"}, {"P04", "even", "even"}}, "odd"},
		{"frequency: both as often", "frequency", []past{{"P03", "even", "odd"}, {"P03", "even", "even"}}, either},
		{"frequency: matches without a draw do not count", "frequency",
			[]past{{"P02", "odd", ""}, {"P02", "odd", ""}, {"P03", "", "even"}}, "even"},

		{"mirror: no finished match", "mirror", nil, either},
		{"mirror: the opponent's only choice", "mirror", []past{{"P02", "odd", "even"}}, "odd"},
		{"mirror: the opponent's last choice, not its commonest", "mirror",
			[]past{{"P02", "odd", "odd"}, {"P02", "odd", "odd"}, {"P02", "even", "odd"}}, "even"},
		{"mirror: this opponent's, not the last one's", "mirror",
			[]past{{"P02", "odd", "even"}, {"P03", "even", "even"}}, "odd"},
		{"mirror: an unknown opponent, so the last one's", "mirror",
			[]past{{"P03", "odd", "even"}, {"P04", "even", "odd"}}, "even"},
		{"mirror: a forfeit shows nothing", "mirror", []past{{"P02", "odd", "even"}, {"P02", "", ""}}, "odd"},
		{"mirror: an opponent that only forfeited is unknown", "mirror",
			[]past{{"P02", "", ""}, {"P03", "even", "odd"}}, "even"},

		{"contrarian: no finished match", "contrarian", nil, either},
		{"contrarian: against the opponent's only choice", "contrarian", []past{{"P02", "odd", "odd"}}, "even"},
		{"contrarian: against the commonest, not the last", "contrarian",
			[]past{{"P02", "even", "odd"}, {"P02", "even", "odd"}, {"P02", "odd", "odd"}}, "odd"},
		{"contrarian: the opponent chose both as often", "contrarian",
			[]past{{"P02", "even", "odd"}, {"P02", "odd", "odd"}}, either},
		{"contrarian: this opponent, not all together", "contrarian",
			[]past{{"P02", "odd", "odd"}, {"P03", "even", "odd"}, {"P04", "even", "odd"}}, "even"},
		{"contrarian: an unknown opponent is like all others", "contrarian",
			[]past{{"P03", "even", "odd"}, {"P04", "even", "odd"}, {"P04", "odd", "odd"}}, "odd"},
		{"contrarian: a forfeit shows nothing", "contrarian", []past{{"P02", "even", "odd"}, {"P02", "", ""}}, "odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := remembering(tt.matches...)
			counts := choices(t, tt.strategy, func(n uint64) strategy.View { return parities(memory, n) })
			if tt.want != either {
				assert.Equal(t, map[string]int{tt.want: 1000}, counts)
				return
			}
			assert.InDelta(t, 500, counts["even"], 80, "%v", counts)
			assert.InDelta(t, 500, counts["odd"], 80, "%v", counts)
		})
	}
}

func TestStrategiesWithMemoryInGamesOfMoreMoves(t *testing.T) {
	thrice := []string{"rock", "paper", "scissors"}
	for _, tt := range []struct {
		name     string
		strategy string
		options  []string
		matches  []past
		want     []string // all of them, and no others
	}{
		{"contrarian avoids the commonest", "contrarian", thrice,
			[]past{{"P02", "rock", ""}, {"P02", "rock", ""}, {"P02", "paper", ""}}, []string{"paper", "scissors"}},
		{"contrarian avoids both of the commonest", "contrarian", thrice,
			[]past{{"P02", "rock", ""}, {"P02", "paper", ""}}, []string{"scissors"}},
		{"contrarian knows no commonest", "contrarian", thrice, nil, thrice},
		{"contrarian has no alternative", "contrarian", []string{"rock"}, []past{{"P02", "rock", ""}}, []string{"rock"}},
		{"mirror cannot repeat what is not legal now", "mirror", []string{"paper", "scissors"},
			[]past{{"P02", "rock", ""}}, []string{"paper", "scissors"}},
		{"frequency where no parity is drawn", "frequency", thrice, []past{{"P02", "rock", "even"}}, thrice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := remembering(tt.matches...)
			counts := choices(t, tt.strategy, func(n uint64) strategy.View {
				v := parities(memory, n)
				v.Options = tt.options
				return v
			})
			assert.Len(t, counts, len(tt.want), "%v", counts)
			for _, want := range tt.want {
				assert.Positive(t, counts[want], "%s of %v", want, counts)
			}
		})
	}
}

func TestMemoryIsSafeForConcurrentUse(t *testing.T) {
	const writers, matches = 8, 200
	m := strategy.NewMemory()
	var every []strategy.Strategy
	for _, name := range everyName {
		every = append(every, named(t, name))
	}
	var working sync.WaitGroup
	for w := range writers {
		opponent := fmt.Sprintf("P%02d", w+1)
		working.Go(func() {
			for i := range matches {
				m.Remember(opponent, []string{"even", "odd"}[i%2], []string{"odd", "even"}[i%2])
			}
		})
		working.Go(func() {
			for n := range uint64(matches) {
				v := parities(m, n)
				v.OpponentID = opponent
				for _, s := range every {
					choice, err := s.Choose(t.Context(), v)
					if assert.NoError(t, err) {
						assert.Contains(t, v.Options, choice)
					}
				}
			}
		})
	}
	working.Wait()
	assert.Equal(t, writers*matches/2, m.Drawn("even"))
	assert.Equal(t, writers*matches/2, m.Drawn("odd"))
	assert.Equal(t, matches/2, m.Chose("P01", "even"))
	assert.Equal(t, writers*matches/2, m.Chose("never met", "odd"))
	assert.Equal(t, "odd", m.Last("P08"))
}
