package cmd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/manager"
)

// leagueOfFour are options that have only what flags give.
func leagueOfFour() (o manager.Options) {
	o.LeagueID, o.GameType, o.Players, o.Referees, o.Legs = "cup", "even_odd", 4, 1, 1
	return o
}

func TestLeagueOptionsFollowTheFile(t *testing.T) {
	for text, want := range map[string][2]int{
		``:                                    {3, 10},
		`, "lifecycle": {"suspend_after": 2}`: {2, 10},
		`, "lifecycle": {"suspend_after": 0, "shutdown_after": 0}`:  {0, 0},
		`, "lifecycle": {"suspend_after": 1, "shutdown_after": 50}`: {1, 50},
	} {
		dir := t.TempDir()
		writeFile(t, `{"schema_version": "1.0.0", "league_id": "cup"`+text+`}`, dir, "config/leagues/cup.json")
		o := leagueOfFour()
		_, err := new(leagueSettings).complete(config.NewLoader(dir, known()), &o)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{o.SuspendAfter, o.ShutdownAfter}, text)
	}
}

func TestManagerKnowsTheGamesOfTheRegistry(t *testing.T) {
	dir := t.TempDir()
	const registry = `{"games": [{"game_type": "tic_tac_toe"}, {"game_type": "even_odd"}]}`
	writeFile(t, registry, dir, "config/games/games_registry.json")
	o := leagueOfFour()
	_, err := new(leagueSettings).complete(config.NewLoader(dir, known()), &o)
	require.NoError(t, err)
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, o.Games.Types())
}
