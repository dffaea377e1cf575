package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// The built-in registry has the games of the program; a file may list fewer.
func TestBuiltInRegistryHasTheGamesOfTheProgram(t *testing.T) {
	l := config.NewLoader(t.TempDir(), known())
	games, err := l.Games()
	require.NoError(t, err)
	types := []string{}
	for _, g := range games.Games {
		types = append(types, g.GameType)
		assert.Equal(t, known().Games[g.GameType].RulesModule, g.RulesModule)
		assert.Equal(t, known().Games[g.GameType].MaxPlayers, g.MaxPlayers)
	}
	assert.Equal(t, []string{"chess", "even_odd"}, types)
	referees, err := l.RefereeDefaults()
	require.NoError(t, err)
	assert.Equal(t, types, referees.GameTypes)
	players, err := l.PlayerDefaults()
	require.NoError(t, err)
	assert.Equal(t, types, players.GameTypes)

	l = config.NewLoader(dataFolder(t, map[string]string{
		"games/games_registry.json": `{"games": [{"game_type": "even_odd", "min_players": 7, "move_types": ["x"]}]}`,
		"defaults/player.json":      `{"game_types": ["even_odd"]}`,
	}), known())
	games, err = l.Games()
	require.NoError(t, err)
	require.Len(t, games.Games, 1)
	assert.Equal(t, "Even/Odd", games.Games[0].DisplayName, "what it leaves out of a game is that of this game")
	assert.Equal(t, 2, games.Games[0].MinPlayers, "what describes a game is that of the program")
	assert.Equal(t, []string{"choose_parity"}, games.Games[0].MoveTypes)
	players, err = l.PlayerDefaults()
	require.NoError(t, err)
	assert.Equal(t, []string{"even_odd"}, players.GameTypes)
	_, err = l.Rules(league, "chess")
	require.ErrorContains(t, err, "games: must list chess, the game of league "+league)
}

func TestLeagueCanPlayAnotherGame(t *testing.T) {
	l := config.NewLoader(dataFolder(t, map[string]string{
		"leagues/" + league + ".json": `{"display_name": "Evenings", "legs": 3}`,
	}), known())
	r, err := l.Rules(league, "even_odd")
	require.NoError(t, err)
	assert.Equal(t, "Evenings", r.League.DisplayName)
	r, err = l.Rules(league, "chess")
	require.NoError(t, err)
	assert.Equal(t, "chess", r.League.GameType)
	assert.Equal(t, "chess", r.Game.GameType)
	assert.Equal(t, known().Games["chess"].DisplayName+" League", r.League.DisplayName, "the file's name is that of another game")
	assert.Equal(t, 3, r.League.Legs)
	r, err = l.Rules(league)
	require.NoError(t, err)
	assert.Equal(t, "even_odd", r.League.GameType, "the file's own is as it was")
}
