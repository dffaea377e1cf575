package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// Each rule has one member here; the tags of the other members name the same rules.
func TestMembersFollowTheirRules(t *testing.T) {
	const (
		system   = "system.json"
		agents   = "agents/agents_config.json"
		referee  = "defaults/referee.json"
		player   = "defaults/player.json"
		ofLeague = "leagues/" + league + ".json"

		id      = "must be 1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash"
		seconds = "must be a whole number from 1 to 31536000"
		window  = "must be a whole number from 0 to 31536000"
		ports   = "must be two ports [first, last] from 1 to 65535, the first not above the last"
		port    = "must be a whole number from 1 to 65535"
		host    = "must be the name or the address of a host, without port"
		called  = "must be 1 to 50 characters without control characters"
		url     = "must be a URL such as http://localhost:8101/mcp"
		number  = "must be a version of the form MAJOR.MINOR.PATCH"
		types   = "must be a list of at least one of chess, even_odd, each once"
		ties    = "must be a list of at least one of points, wins, draws, head_to_head, each once"
		points  = "must be a whole number from 0 to 1000"
		level   = "must be one of debug, info, warn, error, disabled"
		backoff = "must be one of fixed, linear, exponential"
		delay   = "must be a number of seconds from 0 (at once) to 3600"
	)
	for _, tt := range []struct {
		file, field string
		bad         string // JSON values, divided by spaces
		rule        string
		good        string
	}{
		{system, "system_id", `"" 1 null`, "must be a text", `"prod"`},
		{system, "protocol_version", `"league.v1" "" 2`, `must be "league.v2"`, `"league.v2"`},
		{system, "default_league_id", `"" "../x" ".x" "-x" "a/b" 5 null`, id, `"a" "league_2025"`},
		{system, "network", `[] "x" null`, "must be an object", `{}`},
		{system, "network.base_host", `"" "localhost:8000" "http://localhost" "a/b" 5`, host, `"localhost" "::1" "10.0.0.1" "my-host.example"`},
		{system, "network.default_league_manager_port", `0 65536 -1 80.5 "8000" null`, port, `1 65535`},
		{system, "network.default_referee_port_range", `[8010,8001] [0,5] [1,65536] [8001] [1,2,3] [] 8001 "8001-8010" [1,"2"] [1.5,2]`, ports, `[8001,8010] [8001,8001] [1,65535]`},
		{system, "security.enable_auth_tokens", `false "true" 1 null`, "must be true: a league without tokens could be ended by anyone", `true`},
		{system, "security.token_length", `21 44 0 "43" 30.5`, "must be a whole number from 22 to 43", `22 43`},
		{system, "timeouts.register_referee_timeout_sec", `0 -1 0.5 31536001 1e300 "thirty" null true`, seconds, `1 31536000`},
		{system, "retry_policy.delay_sec", `-1 -0.5 3601 "2" null`, delay, `0 0.5 2 3600`},
		{system, "retry_policy.backoff_strategy", `"none" "" "Fixed" 1`, backoff, `"fixed" "linear" "exponential"`},

		{ofLeague, "league_id", `"another" "" 1`, `must be "` + league + `", like the file's name`, `"` + league + `"`},
		{ofLeague, "display_name", `"" 5 "a\u0007b"`, called, `"Cup"`},
		{ofLeague, "game_type", `"go" "" 1 null`, "must be one of chess, even_odd", `"chess"`},
		{ofLeague, "status", `"" 1 null`, "must be a text such as ACTIVE", `"ACTIVE" "PAUSED"`},
		{ofLeague, "scoring.win_points", `-1 1001 1.5 "3" null`, points, `0 5 1000`},
		{ofLeague, "scoring.tiebreakers", `[] ["goals"] ["points","points"] "points" [1] null`, ties, `["wins"] ["points","head_to_head"]`},
		{ofLeague, "broadcast", `"never" "" true`, "must be one of round, match", `"round" "match"`},
		{ofLeague, "unique_display_names", `"yes" 1 null`, "must be true or false", `true false`},
		{ofLeague, "registration_window_sec", `-1 1.5 "60" null`, window, `0 60`},
		{ofLeague, "registration_grace_sec", `0 1.5 "30" null`, seconds, `1 30`},
		{ofLeague, "replies", `"lenient" true null`, "must be one of by_meaning, strict", `"strict" "by_meaning"`},
		{ofLeague, "auth", `"by_meaning" false null`, "must be one of strict, lenient", `"strict" "lenient"`},
		{ofLeague, "signatures", `"off" true null`, "must be one of optional, required", `"required" "optional"`},
		{ofLeague, "evidence", `"proven" true null`, "must be one of stated, recomputed", `"stated" "recomputed"`},
		{ofLeague, "members", `"few" true null`, "must be one of all, plain", `"plain" "all"`},
		{ofLeague, "allowed_endpoints", `"any" {} null`, "must be a list", `[] ["any"] ["10.1.0.0/16","127.0.0.1","::1","2001:db8::/32"]`},
		{ofLeague, "allowed_endpoints[0]", `"10.0.0.0/33" "localhost" "" 1 "fe80::1%eth0"`, `must be a network such as 10.1.0.0/16, an address, or "any"`, `"any"`},

		{agents, "league_manager.endpoint", `"" "localhost:8000" "ftp://a/b" 5`, url, `"http://localhost:8000/mcp" "https://far/mcp"`},
		{agents, "referees[0].referee_id", `"P01" "REF1" "" 1`, "must be an id such as REF01", `"REF01" "REF100"`},
		{agents, "referees[0].version", `"1" 1`, number, `"1.2.3"`},
		{agents, "referees[0].game_types", `[] ["go"] "even_odd"`, types, `["even_odd","chess"]`},
		{agents, "players[0].player_id", `"REF01" "P1" 1`, "must be an id such as P01", `"P01" "P100"`},

		{referee, "log_level", `"loud" "" "DEBUG"`, level, `"debug"`},
		{player, "strategy", `"luck" ""`, "must be one of random, even, odd", `"odd"`},
	} {
		t.Run(tt.file+" "+tt.field, func(t *testing.T) {
			for _, value := range strings.Fields(tt.bad) {
				dir := dataFolder(t, map[string]string{tt.file: nested(tt.field, value)})
				_, err := loadAll(config.NewLoader(dir, known()))[tt.file]()
				want := filepath.Join(dir, "config", tt.file) + ": " + tt.field + ": " + tt.rule + ", got "
				require.Error(t, err, value)
				require.Contains(t, err.Error(), want, value)
				if value != "1e300" && !strings.Contains(value, `\u`) {
					require.Equal(t, want+value, err.Error())
				}
			}
			for _, value := range strings.Fields(tt.good) {
				dir := dataFolder(t, map[string]string{tt.file: nested(tt.field, value)})
				_, err := loadAll(config.NewLoader(dir, known()))[tt.file]()
				assert.NoError(t, err, value)
			}
		})
	}
}

// nested is a file with one field, a[0].b, and the ids of its items.
func nested(field, value string) string {
	first, rest, more := strings.Cut(field, ".")
	inner := value
	if more {
		inner = strings.TrimSuffix(strings.TrimPrefix(nested(rest, value), "{"), "}")
		if required, listed := map[string]string{
			"referees[0]": `"referee_id":"REF01"`, "players[0]": `"player_id":"P01"`,
		}[first]; listed {
			name, _, _ := strings.Cut(required, ":")
			if !strings.HasPrefix(inner, name) {
				inner = required + "," + inner
			}
		}
		inner = "{" + inner + "}"
	}
	if name, _, item := strings.Cut(first, "["); item {
		return `{"` + name + `":[` + inner + `]}`
	}
	return `{"` + first + `":` + inner + `}`
}

func TestMissingRequiredMembersAreErrors(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"agents/agents_config.json", `{"referees": [{}]}`, "referees[0].referee_id: must be present"},
		{"agents/agents_config.json", `{"players": [{"player_id": "P01"}, {}]}`, "players[1].player_id: must be present"},
		{"games/games_registry.json", `{"games": [{}]}`, "games[0].game_type: must be present"},
	} {
		_, err := loadAll(loaderWith(t, tt.file, tt.text))[tt.file]()
		require.ErrorContains(t, err, ": "+tt.want)
	}
	for name := range loadAll(nil) {
		_, err := loadAll(loaderWith(t, name, `{}`))[name]()
		require.NoError(t, err, "nothing else must be in %s", name)
	}
}

func TestContradictoryMembersAreErrors(t *testing.T) {
	const file = "leagues/" + league + ".json"
	for _, tt := range []struct{ file, text, want string }{
		{file, `{"participants": {"min_players": 5, "max_players": 4}}`, "participants.min_players: must not be above max_players, 4, got 5"},
		{file, `{"participants": {"min_referees": 101}}`, "participants.min_referees: must not be above max_referees, 100, got 101"},
		{"agents/agents_config.json", `{"referees": [{"referee_id": "REF01"}, {"referee_id": "REF01"}]}`,
			`referees[1].referee_id: must be an id that no other agent has, got "REF01"`},
		{"games/games_registry.json", `{"games": [{"game_type": "chess"}, {"game_type": "chess"}]}`,
			`games[1].game_type: must be a game that is not listed before, got "chess"`},
	} {
		_, err := loadAll(loaderWith(t, tt.file, tt.text))[tt.file]()
		require.ErrorContains(t, err, ": "+tt.want)
	}
}

func TestAllProblemsOfAFileAreReported(t *testing.T) {
	dir := dataFolder(t, map[string]string{"system.json": `{
		"last_updated": "yesterday",
		"protocol_version": "league.v3",
		"network": {"base_host": "", "default_player_port_range": [2, 1]},
		"timeouts": {"move_timeout_sec": "thirty", "unknown": "thirty"},
		"retry_policy": {"backoff_strategy": "` + strings.Repeat("x", 100) + `"}
	}`})
	_, err := config.NewLoader(dir, known()).System()
	path := filepath.Join(dir, "config", "system.json") + ": "
	require.EqualError(t, err, strings.Join([]string{
		path + `last_updated: must be a time of the form YYYY-MM-DDTHH:MM:SSZ, got "yesterday"`,
		path + `protocol_version: must be "league.v2", got "league.v3"`,
		path + `network.base_host: must be the name or the address of a host, without port, got ""`,
		path + `network.default_player_port_range: must be two ports [first, last] from 1 to 65535, the first not above the last, got [2,1]`,
		path + `timeouts.move_timeout_sec: must be a whole number from 1 to 31536000, got "thirty"`,
		path + `retry_policy.backoff_strategy: must be one of fixed, linear, exponential, got "` + strings.Repeat("x", 59) + `…`,
	}, "\n"))
}

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

// fuzzedFiles are the files of the configuration layer. Their order is part of
// the corpus.
var fuzzedFiles = []struct {
	path string
	load func(*config.Loader) (config.File, error)
}{
	{"system.json", func(l *config.Loader) (config.File, error) { return l.System() }},
	{"agents/agents_config.json", func(l *config.Loader) (config.File, error) { return l.Agents() }},
	{"leagues/L.json", func(l *config.Loader) (config.File, error) { return l.League("L") }},
	{"games/games_registry.json", func(l *config.Loader) (config.File, error) { return l.Games() }},
	{"defaults/referee.json", func(l *config.Loader) (config.File, error) { return l.RefereeDefaults() }},
	{"defaults/player.json", func(l *config.Loader) (config.File, error) { return l.PlayerDefaults() }},
}

// FuzzFiles reads any text as each file: nothing panics, an error names the file, and
// reading the file again gives the same.
func FuzzFiles(f *testing.F) {
	for i, builtin := range []string{"system", "agents_config", "league", "games_registry", "referee", "player"} {
		raw, err := os.ReadFile(filepath.Join("builtin", builtin+".json"))
		require.NoError(f, err)
		f.Add(uint8(i), raw)
		f.Add(uint8(i), bytes.Replace(raw, []byte("{"), []byte(`{"_ours": {"deep": [1, {"a": null}]}, "schema_version": "1.7.3",`), 1))
		f.Add(uint8(i), []byte("{}"))
	}
	dir := f.TempDir()
	if inMemory, err := os.MkdirTemp("/dev/shm", "evenodd-fuzz-"); err == nil { // every rewrite waits for the disk
		f.Cleanup(func() { os.RemoveAll(inMemory) })
		dir = inMemory
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		file := fuzzedFiles[int(which)%len(fuzzedFiles)]
		path := filepath.Join(dir, "config", filepath.FromSlash(file.path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		defer os.Remove(path)
		l := config.NewLoader(dir, known())
		first, err := file.load(l)
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		l.OnUnknown(func(member string) { require.Contains(t, member, path) })
		second, err := file.load(config.NewLoader(dir, known()))
		require.NoError(t, err, "a file that was accepted is accepted again")
		require.Equal(t, first, second)
	})
}
