package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// The games registry may have the form of spec 003 §3.8.3, an object by game type.
func TestGamesRegistryOfTheSpecificationIsRead(t *testing.T) {
	const entry = `{"display_name": "Odd or even", "move_types": ["choose_parity"],
		"valid_choices": {"choose_parity": ["even", "odd"]}, "min_players": 2, "max_players": 2}`
	for name, test := range map[string]struct {
		text    string
		games   []string
		name    string // of the first game
		unknown []string
		problem string
	}{
		"as in the specification": {`{"game_registry": {"even_odd": ` + entry + `}}`, []string{"even_odd"}, "Odd or even", nil, ""},
		"two games":               {`{"game_registry": {"even_odd": {}, "chess": {"game_type": "chess"}}}`, []string{"chess", "even_odd"}, "Chess", nil, ""},
		"our form":                {`{"games": [{"game_type": "even_odd"}]}`, []string{"even_odd"}, "Even/Odd", nil, ""},
		"an unknown member":       {`{"game_registry": {"even_odd": {"min_player": 2}}}`, []string{"even_odd"}, "Even/Odd", []string{"game_registry.even_odd.min_player (did you mean min_players?)"}, ""},
		"a misspelt registry":     {`{"games_registry": {}}`, []string{"chess", "even_odd"}, "Chess", []string{"games_registry (did you mean game_registry?)"}, ""},
		"an unknown game":         {`{"game_registry": {"go": {}}}`, nil, "", nil, `game_registry.go.game_type: must be one of chess, even_odd`},
		"another game_type":       {`{"game_registry": {"chess": {"game_type": "even_odd"}}}`, nil, "", nil, `game_registry.chess.game_type: must be the name of the member, "chess"`},
		"a bad value":             {`{"game_registry": {"chess": {"max_round_time_sec": -1}}}`, nil, "", nil, `game_registry.chess.max_round_time_sec: must be a whole number`},
		"no game":                 {`{"game_registry": {}}`, nil, "", nil, "game_registry: must be an object with a member for each game"},
		"a list":                  {`{"game_registry": ["even_odd"]}`, nil, "", nil, "game_registry: must be an object"},
		"a game that is none":     {`{"game_registry": {"chess": 1}}`, nil, "", nil, "game_registry.chess: must be an object"},
		"both forms":              {`{"games": [{"game_type": "chess"}], "game_registry": {"chess": {}}}`, nil, "", nil, "game_registry: and games name the games twice"},
	} {
		t.Run(name, func(t *testing.T) {
			l := config.NewLoader(dataFolder(t, map[string]string{"games/games_registry.json": test.text}), known())
			var unknown []string
			l.OnUnknown(func(member string) { unknown = append(unknown, member) })
			games, err := l.Games()
			if test.problem != "" {
				require.ErrorContains(t, err, test.problem)
				return
			}
			require.NoError(t, err)
			var types []string
			for _, g := range games.Games {
				types = append(types, g.GameType)
			}
			assert.Equal(t, test.games, types)
			assert.Equal(t, test.name, games.Games[0].DisplayName)
			assert.Equal(t, 2, games.Games[0].MinPlayers)
			require.Len(t, unknown, len(test.unknown))
			for i, want := range test.unknown {
				assert.Contains(t, unknown[i], want)
			}
		})
	}
}

// Unknown members are reported for each file, also for one that is read later.
func TestUnknownMembersOfEachFileAreReported(t *testing.T) {
	slip := `{"colour": "red"}`
	files := map[string]string{
		"system.json": slip, "agents/agents_config.json": slip, "games/games_registry.json": slip, "defaults/referee.json": slip,
		"defaults/player.json": slip, "leagues/" + league + ".json": slip,
	}
	l := config.NewLoader(dataFolder(t, files), known())
	var unknown []string
	report := func(member string) { unknown = append(unknown, member) }
	load := []func() error{
		func() error { _, err := l.System(); return err }, func() error { _, err := l.Agents(); return err },
		func() error { _, err := l.Games(); return err }, func() error { _, err := l.RefereeDefaults(); return err },
		func() error { _, err := l.PlayerDefaults(); return err }, func() error { _, err := l.League(league); return err },
	}
	for i, read := range load {
		if i == 3 {
			l.OnUnknown(report)
			assert.Len(t, unknown, 3, "those that were read before")
		}
		require.NoError(t, read())
		require.NoError(t, read(), "once for each file")
	}
	assert.Len(t, unknown, len(files))
	for _, member := range unknown {
		assert.Contains(t, member, ".json: colour")
	}
}
