package league_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

func TestAgentIsFoundByIDOrName(t *testing.T) {
	agents := []league.Ref{
		{ID: "P01", Name: "Anna", Role: "player"},
		{ID: "P02", Name: "P03", Role: "player"}, // of an old league
		{ID: "P03", Name: "Zoë Straße", Role: "player"},
		{ID: "P04", Name: "anna", Role: "player"},
		{ID: "P05", Name: "perfect 5", Former: "Player 05", Role: "player"},
		{ID: "P06", Name: "Team 6", Role: "player"},
		{ID: "P07", Name: "Twins", Role: "player"},
		{ID: "P08", Name: "Twins", Role: "player"},
		{ID: "REF01", Name: "Team 6", Role: "referee"},
		{ID: "REF02", Name: "Whistle", Role: "referee"},
	}
	for _, tt := range []struct{ text, want string }{
		{"P03", "P03"}, // the id wins
		{"p03", "P03"},
		{"Ｐ０３", "P03"},
		{"player:P03", "P03"},
		{"Anna", "P01"}, // as it is written
		{"anna", "P04"},
		{" zoë  STRASSE ", "P03"},
		{"perfect 5", "P05"},
		{"Player 05", "P05"},
		{"player:Team 6", "P06"},
		{"Referee: team 6", "REF01"},
		{"whistle", "REF02"},

		{"ANNA", `2 agents have the name "ANNA": P01 Anna and P04 anna; name one by its id`},
		{"Team 6", `2 agents have the name "Team 6": P06 Team 6 and REF01 Team 6; name one by its id, or with player: ` +
			`or referee: before its name`},
		{"player:Twins", `2 agents have the name "Twins": P07 Twins and P08 Twins; name one by its id`},
		{"Whistlee", `no agent "Whistlee"; did you mean REF02 Whistle?`},
		{"straße", `no agent "straße"; did you mean P03 Zoë Straße?`},
		{"player:whistle", `no agent "player:whistle": the league has P01 Anna, P02 P03, P03 Zoë Straße, P04 anna, ` +
			`P05 perfect 5, P06 Team 6, P07 Twins and P08 Twins`},
		{"P1", `no agent "P1"; did you mean P01 Anna?`},
		{"", `no agent "": the league has P01 Anna, P02 P03, P03 Zoë Straße, P04 anna, P05 perfect 5, P06 Team 6, P07 ` +
			`Twins, P08 Twins, REF01 Team 6 and REF02 Whistle`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			found, err := league.FindAgent(tt.text, agents)
			if err != nil {
				found.ID = err.Error()
			}
			assert.Equal(t, tt.want, found.ID)
		})
	}
	_, err := league.FindAgent("Bob", nil)
	require.EqualError(t, err, `no agent "Bob": none has registered`)
	var many []league.Ref
	for n := range 30 {
		many = append(many, league.Ref{ID: league.PlayerID(n + 1), Name: fmt.Sprint("Team ", n+1), Role: "player"})
	}
	_, err = league.FindAgent("Alice", many)
	require.ErrorContains(t, err, "P12 Team 12 and 18 more")
	assert.Equal(t, "P08 Team 8", many[7].String())
	assert.Equal(t, "P08", league.Ref{ID: "P08"}.String())
}

func TestNewNamesLookLikeNoID(t *testing.T) {
	for _, name := range []string{"P03", "p03", "P100", "REF01", "R1M1", "r12m3", "Ｐ０３", "ＲＥＦ０１",
		"P\u200b03", " P03 ", "player:Ann", "Referee:1"} {
		require.Error(t, league.CheckNewName(name), name)
	}
	for _, name := range []string{"Ann", "P", "P03x", "Player 03", "R2D2", "REF", "R1", "Team P03", "players", "Π03", "P3", "P003", "Ref1"} {
		require.NoError(t, league.CheckNewName(name), name)
	}
	assert.Equal(t, "player:P03", league.SeedID("p03"))
	assert.Equal(t, "player:P03", league.SeedID("player:P03"))
	assert.Empty(t, league.SeedID("REF01"))
	assert.Empty(t, league.SeedID("Ann"))
}
