package evenodd_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rulestest"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, evenodd.Game{})
}

// drawing returns a chance that draws the number.
func drawing(t require.TestingT, number int) rules.Chance {
	for i := range uint64(10_000) {
		if c := (rules.Chance{Nonce: nonce(i)}); evenodd.Number(c) == number {
			return c
		}
	}
	require.FailNow(t, "no chance draws it", "number %d", number)
	return rules.Chance{}
}

// nonce returns the i-th of a fixed sequence of nonces.
func nonce(i uint64) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte("test nonce "), i))
}

// verdict plays a match through the interface of all games.
func verdict(a, b string, chance rules.Chance) rules.Verdict {
	return evenodd.Game{}.Start().Play([2]string{a, b}).Judge(chance)
}

// wins is the truth table of the game: for each pair of choices, the winner for an
// odd and for an even number.
var wins = map[[2]string]struct{ odd, even rules.Side }{
	{"even", "even"}: {rules.NoSide, rules.NoSide},
	{"even", "odd"}:  {rules.SideB, rules.SideA},
	{"odd", "even"}:  {rules.SideA, rules.SideB},
	{"odd", "odd"}:   {rules.NoSide, rules.NoSide},
}

func TestWinnerOfAllChoicesAndNumbers(t *testing.T) {
	for choices, by := range wins {
		for number := 1; number <= 10; number++ {
			t.Run(fmt.Sprintf("%s against %s, %d", choices[0], choices[1], number), func(t *testing.T) {
				want, parity := by.odd, "odd"
				switch number {
				case 2, 4, 6, 8, 10:
					want, parity = by.even, "even"
				}
				assert.Equal(t, want, evenodd.Winner(choices[0], choices[1], number))
				assert.Equal(t, parity, evenodd.Parity(number))

				v := verdict(choices[0], choices[1], drawing(t, number))
				assert.Equal(t, want, v.Winner)
				assert.Equal(t, number, v.Number)
				assert.Equal(t, parity, v.Parity)
				assert.Equal(t, choices, v.Moves)
			})
		}
	}
}

func TestReasonsFollowTheSpecification(t *testing.T) {
	// The matches with the numbers 8, 7 and 4 are in spec 003, table 7.
	for _, tt := range []struct {
		name   string
		a, b   string
		number int
		want   string
	}{
		{"A alone is right, even", "even", "odd", 8, "P01 chose even, number was 8 (even)"},
		{"A alone is right, odd", "odd", "even", 3, "P01 chose odd, number was 3 (odd)"},
		{"B alone is right, even", "odd", "even", 10, "P02 chose even, number was 10 (even)"},
		{"B alone is right, odd", "even", "odd", 7, "P02 chose odd, number was 7 (odd)"},
		{"both wrong, even", "odd", "odd", 4, "Both chose odd, number was 4 (even) - both incorrect"},
		{"both wrong, odd", "even", "even", 9, "Both chose even, number was 9 (odd) - both incorrect"},
		{"both right, even", "even", "even", 2, "Both chose even, number was 2 (even) - both correct"},
		{"both right, odd", "odd", "odd", 5, "Both chose odd, number was 5 (odd) - both correct"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict(tt.a, tt.b, drawing(t, tt.number))
			assert.Equal(t, tt.want, v.Reason([2]string{"P01", "P02"}))
		})
	}
	t.Run("the players are named as they are called", func(t *testing.T) {
		v := verdict("even", "odd", drawing(t, 7))
		assert.Equal(t, "P100 chose odd, number was 7 (odd)", v.Reason([2]string{"P07", "P100"}))
	})
}

func TestCheckAcceptsExactlyEvenAndOdd(t *testing.T) {
	for _, side := range []rules.Side{rules.SideA, rules.SideB} {
		for _, move := range []string{"even", "odd"} {
			require.NoError(t, evenodd.Game{}.Start().Check(side, move))
		}
		for _, move := range []string{
			"Even", "EVEN", "ODD", "e", "maybe", "0", "false", "null", "", " even", "odd\n", "evenodd",
			"еven", // its first letter is Cyrillic
			"even\x00",
		} {
			err := evenodd.Game{}.Start().Check(side, move)
			assert.EqualError(t, err, `choice must be "even" or "odd"`, "%q", move)
		}
	}
}

func TestCheckAcceptsNothingElse(t *testing.T) {
	// Words similar to the legal ones, and arbitrary ones.
	word := rapid.OneOf(rapid.String(), rapid.StringMatching(`[eE]?[vVoO]?[eEdD]?[nNdD]?\s?`))
	rapid.Check(t, func(t *rapid.T) {
		move := word.Draw(t, "move")
		err := evenodd.Game{}.Start().Check(rules.SideA, move)
		assert.Equal(t, move == "even" || move == "odd", err == nil, "%q: %v", move, err)
	})
}

// number is a simple and slow implementation of the draw.
func number(c rules.Chance) int {
	for i := 0; ; i++ {
		text := []byte("evenodd-number-v1")
		text = append(text, c.Nonce[:]...)
		text = append(text, c.EntropyA[:]...)
		text = append(text, c.EntropyB[:]...)
		text = append(text, byte(i>>24), byte(i>>16), byte(i>>8), byte(i))
		h := sha256.New()
		h.Write(text)
		for _, b := range h.Sum(nil) {
			if b < 250 {
				return int(b%10) + 1
			}
		}
	}
}

func TestNumberFollowsTheProtocol(t *testing.T) {
	secret := rapid.Custom(func(t *rapid.T) [32]byte {
		return [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "bytes"))
	})
	rapid.Check(t, func(t *rapid.T) {
		c := rules.Chance{
			Nonce:    secret.Draw(t, "nonce"),
			EntropyA: secret.Draw(t, "entropy A"),
			EntropyB: secret.Draw(t, "entropy B"),
		}
		got := evenodd.Number(c)
		assert.Equal(t, number(c), got)
		assert.True(t, 1 <= got && got <= 10, "%d is from 1 to 10", got)
		assert.Equal(t, got, evenodd.Number(c), "the same chance gives the same number")
	})
}

func TestNumberOfKnownChances(t *testing.T) {
	counting := func(from byte) (s [32]byte) {
		for i := range s {
			s[i] = from + byte(i)
		}
		return s
	}
	// front returns a secret that begins with a number; the rest is zero.
	front := func(n uint32) (s [32]byte) {
		binary.BigEndian.PutUint32(s[:], n)
		return s
	}
	var zero, ones [32]byte
	for i := range ones {
		ones[i] = 0xff
	}
	x, y, z := counting(0), counting(32), counting(64)
	tests := []struct { // computed by an independent program
		name  string
		nonce [32]byte
		a, b  [32]byte
		want  int
	}{
		{"all zero", zero, zero, zero, 6},
		{"all ones", ones, ones, ones, 9},
		{"three different parts", x, y, z, 6},
		{"the players' parts exchanged", x, z, y, 5},
		{"nonce and A's part exchanged", y, x, z, 4},
		{"no player has committed", x, zero, zero, 8},
		{"only B committed", x, zero, y, 7},
		{"249 is the last byte that counts", front(107), zero, zero, 10},
		{"250 is passed over", front(594), zero, zero, 4},
		{"four bytes are passed over: fa fe fc fd", front(16273), zero, zero, 1},
		{"three bytes are passed over: fd fe fd", front(59808), zero, zero, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, evenodd.Number(rules.Chance{Nonce: tt.nonce, EntropyA: tt.a, EntropyB: tt.b}))
		})
	}
}

func TestDrawsAreUniform(t *testing.T) {
	const draws = 100_000
	var seen [11]int
	for i := range uint64(draws) {
		seen[evenodd.Number(rules.Chance{Nonce: nonce(i)})]++
	}
	require.Zero(t, seen[0])
	expected, chi2 := draws/10.0, 0.0
	for _, n := range seen[1:] {
		chi2 += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	const limit = 27.88 // of χ² with 9 degrees of freedom, which uniform draws exceed with p = 0.001
	assert.Less(t, chi2, limit, "counts %v", seen[1:])
}

func TestEveryPartyAffectsTheDraw(t *testing.T) {
	// For any values of two of the three secrets, the third can lead to each number: no agent
	// determines the number alone.
	for name, part := range map[string]func(*rules.Chance) *[32]byte{
		"referee": func(c *rules.Chance) *[32]byte { return &c.Nonce },
		"A":       func(c *rules.Chance) *[32]byte { return &c.EntropyA },
		"B":       func(c *rules.Chance) *[32]byte { return &c.EntropyB },
	} {
		t.Run(name, func(t *testing.T) {
			numbers := map[int]bool{}
			c := rules.Chance{Nonce: nonce(1), EntropyA: nonce(2), EntropyB: nonce(3)}
			for i := range uint64(200) {
				*part(&c) = nonce(100 + i)
				numbers[evenodd.Number(c)] = true
			}
			assert.Len(t, numbers, 10)
		})
	}
}

func TestNoQuestionAfterTheChoices(t *testing.T) {
	chosen := evenodd.Game{}.Start().Play([2]string{"even", "odd"})
	assert.Empty(t, chosen.ToMove())
	assert.Empty(t, chosen.Ask(rules.SideA).Options)
	require.EqualError(t, chosen.Check(rules.SideA, "even"), "both have chosen already")
	assert.Equal(t, chosen, chosen.Play([2]string{"odd", "even"}), "a choice is final")
}

func TestNoWinnerBeforeTheChoices(t *testing.T) {
	v := evenodd.Game{}.Start().Judge(rules.Chance{})
	assert.Equal(t, rules.NoSide, v.Winner)
	assert.Zero(t, v.Number, "nothing is drawn before both have chosen")
	assert.Empty(t, v.Moves)
}

func TestInfoIsTheRegistryEntryOfTheSpecification(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "messages", "*game_registry.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var registry struct {
			Games map[string]struct {
				DisplayName  string              `json:"display_name"`
				MoveTypes    []string            `json:"move_types"`
				ValidChoices map[string][]string `json:"valid_choices"`
				MinPlayers   int                 `json:"min_players"`
				MaxPlayers   int                 `json:"max_players"`
			} `json:"game_registry"`
		}
		require.NoError(t, json.Unmarshal(raw, &registry))
		info := evenodd.Game{}.Info()
		require.Contains(t, registry.Games, info.Type)
		entry := registry.Games[info.Type]
		assert.Equal(t, rules.Info{
			Type: "even_odd", DisplayName: entry.DisplayName, Rules: info.Rules, MoveTypes: entry.MoveTypes,
			ValidChoices: entry.ValidChoices, MaxMoves: 1, SidesAlike: true,
		}, info)
		assert.Equal(t, [2]int{2, 2}, [2]int{entry.MinPlayers, entry.MaxPlayers})
		assert.Equal(t, info.ValidChoices[evenodd.MoveType], evenodd.Game{}.Start().Ask(rules.SideA).Options)
	}
}

func TestInfoIsACopy(t *testing.T) {
	info := evenodd.Game{}.Info()
	info.ValidChoices[evenodd.MoveType][0] = "changed"
	info.MoveTypes[0] = "changed"
	assert.Equal(t, []string{"even", "odd"}, evenodd.Game{}.Info().ValidChoices["choose_parity"])
	assert.Equal(t, []string{"choose_parity"}, evenodd.Game{}.Info().MoveTypes)
}

func TestDrawingDoesNotAllocate(t *testing.T) {
	c := rules.Chance{Nonce: nonce(1)}
	drawn := 0
	assert.Zero(t, testing.AllocsPerRun(1000, func() { drawn += evenodd.Number(c) }))
	assert.Positive(t, drawn)
}
