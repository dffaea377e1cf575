package cmd

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
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

func TestEachFlagOfAMemberIsOneOfACommand(t *testing.T) {
	known := map[string]bool{}
	for _, c := range documented(t) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name], known[c.Name()+":"+f.Name] = true, true })
	}
	named := 0
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			walk(of.Field(i).Type)
			for flag := range strings.FieldsSeq(of.Field(i).Tag.Get("flag")) {
				named++
				assert.True(t, known[flag], "no command has the flag %s of %s.%s", flag, of.Name(), of.Field(i).Name)
			}
		}
	}
	for _, f := range []config.File{new(config.System), new(config.Agents), new(config.League), new(config.Games),
		new(config.RefereeDefaults), new(config.PlayerDefaults)} {
		walk(reflect.TypeOf(f))
	}
	assert.NotZero(t, named)
}
