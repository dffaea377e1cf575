package simulation_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
	"evenodd/league/simulation"
)

func TestKeysStayTheSame(t *testing.T) {
	// Computed by another program: a seed gives the same league in every version.
	for _, tt := range []struct {
		name string
		key  protocol.Secret
		want string
	}{
		{"nonce", simulation.Nonce(7, "R1M1"), "e688895195d84613c0ca337cc64136feafcdf1cebede9e81113bb59755debdb7"},
		{"entropy", simulation.Entropy(7, "R1M1", "P02"), "76b48d0ea4cc963dd00be423f2a3f47135bb1ea40ff824d855e634e4e91e0ff4"},
		{"second choice in a match, largest seed", simulation.Derive(1<<64-1, "choice", "R12M3/1", "P100"),
			"311dc756eab913d4a3919fe20a3fa0a16a7e517b1d4fda79ce84a8619cd14126"},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.key.Hex()) })
	}
	t.Run("a choice's source begins with its key", func(t *testing.T) {
		const high, low = 0x311dc756eab913d4, 0xa3919fe20a3fa0a1
		assert.Equal(t, rand.New(rand.NewPCG(high, low)).Uint64(), simulation.Random(1<<64-1, "P100", "R12M3/1").Uint64())
	})
}

// A key determines the random values of a decision.
type key struct {
	seed       uint64
	what, a, b string
}

func (k key) derive() protocol.Secret { return simulation.Derive(k.seed, k.what, k.a, k.b) }

func TestDifferentDecisionsHaveDifferentKeys(t *testing.T) {
	// Few letters, so that two keys often have the same concatenated parts; zero bytes,
	// because lengths contain them.
	part := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("R1M\x00\x01")), 0, 4, -1),
		rapid.SampledFrom([]string{"R1M1", "R1M11", "R11M1", "R1M1/1", "P01", "P10", "P011"}),
		rapid.StringN(0, 200, 1000), // longer than usual ids
	)
	any1 := rapid.Custom(func(t *rapid.T) key {
		return key{
			rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "seed"),
			rapid.SampledFrom([]string{"nonce", "entropy", "choice"}).Draw(t, "what"),
			part.Draw(t, "a"), part.Draw(t, "b"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		keys := map[protocol.Secret]key{}
		for _, k := range rapid.SliceOfN(any1, 2, 30).Draw(t, "keys") {
			secret := k.derive()
			if other, taken := keys[secret]; taken {
				assert.Equal(t, other, k, "two decisions, one key")
			}
			keys[secret] = k
			assert.Equal(t, secret, k.derive(), "the same decision, the same key")
		}
	})
}
