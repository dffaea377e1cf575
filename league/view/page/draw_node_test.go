package page_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A drawVector is a draw as data-attributes have it, with what Go computes.
type drawVector struct {
	League     string `json:"league"`
	Match      string `json:"match"`
	Attempt    string `json:"attempt"`
	Referee    string `json:"referee"`
	Nonce      string `json:"nonce"`
	EntropyA   string `json:"entropyA"`
	EntropyB   string `json:"entropyB"`
	Commitment string `json:"commitment"`
	Number     int    `json:"number"`
}

const runDraw = `
const fs = require("fs"), vm = require("vm");
const context = vm.createContext({ TextEncoder });
for (const file of process.argv.slice(2, 4)) vm.runInContext(fs.readFileSync(file, "utf8"), context);
const found = JSON.parse(fs.readFileSync(process.argv[4], "utf8")).map((d) =>
  ({ commitment: context.drawCheck.commitment(d), number: context.drawCheck.number(d) }));
console.log(JSON.stringify(found));
`

// The script of the match page computes what Go computes: nonces, entropies that are missing, names
// that are not ASCII, and draws in which bytes of 250 and more are passed over.
func TestDrawInTheBrowserEqualsTheDrawInGo(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	var vectors []drawVector
	secret := func(n int) (s protocol.Secret) {
		s[0], s[1], s[2], s[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
		return s
	}
	for i, n := range []int{0, 1, 107, 594, 16273, 59808, 1 << 30} {
		nonce, a := secret(n), secret(i)
		v := drawVector{League: "league ליגה é", Match: "R1M1", Attempt: "2", Referee: "REF01", Nonce: nonce.Hex()}
		v.Commitment = protocol.DrawCommitment(v.League, v.Match, 2, v.Referee, nonce)
		chance := rules.Chance{Nonce: nonce}
		if i%2 == 1 {
			v.EntropyA, v.EntropyB = a.Hex(), nonce.Hex()
			chance.EntropyA, chance.EntropyB = a, nonce
		}
		v.Number = evenodd.Number(chance)
		vectors = append(vectors, v)
	}
	raw, err := json.Marshal(append(vectors, drawVector{Nonce: "no nonce"}))
	require.NoError(t, err)
	file, script := filepath.Join(t.TempDir(), "vectors.json"), filepath.Join(t.TempDir(), "run.cjs")
	require.NoError(t, os.WriteFile(file, raw, 0o600))
	require.NoError(t, os.WriteFile(script, []byte(runDraw), 0o600))
	out, err := exec.CommandContext(t.Context(), node, script, "assets/sha256.min.js", "assets/draw.js", file).Output()
	require.NoError(t, err)
	var got []struct {
		Commitment *string
		Number     *int
	}
	require.NoError(t, json.Unmarshal(out, &got))
	require.Len(t, got, len(vectors)+1)
	for i, want := range vectors {
		assert.Equal(t, want.Commitment, *got[i].Commitment)
		assert.Equal(t, want.Number, *got[i].Number)
	}
	assert.Nil(t, got[len(vectors)].Commitment, "an invalid nonce has no commitment")
	assert.Nil(t, got[len(vectors)].Number)
}
