package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/protocol"
)

const league = "league_2025_even_odd"

// known returns the games and strategies of a program.
func known() config.Known {
	return config.Known{
		Tiebreakers: []string{"points", "wins", "draws", "head_to_head"},
		Tournaments: []string{"round-robin", "swiss"},
		Strategies:  []string{"random", "even", "odd"},
		Games: map[string]config.Game{
			"even_odd": {
				DisplayName: "Even/Odd", RulesModule: "rules/evenodd", MinPlayers: 2, MaxPlayers: 2,
				MoveTypes: []string{"choose_parity"}, ValidChoices: map[string][]string{"choose_parity": {"even", "odd"}},
			},
			"chess": {
				DisplayName: "Chess", RulesModule: "rules/chess", MinPlayers: 2, MaxPlayers: 2,
				MoveTypes: []string{"clock", "offer"}, ValidChoices: map[string][]string{"clock": {"1", "2", "3", "5"}, "offer": {"draw"}},
			},
		},
	}
}

// dataFolder makes a data folder with these files below config.
func dataFolder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// loaderWith returns a loader of a folder with one file.
func loaderWith(t *testing.T, name, text string) *config.Loader {
	t.Helper()
	return config.NewLoader(dataFolder(t, map[string]string{name: text}), known())
}

// loadAll loads all files, by name.
func loadAll(l *config.Loader) map[string]func() (config.File, error) {
	return map[string]func() (config.File, error){
		"system.json":                 func() (config.File, error) { return l.System() },
		"agents/agents_config.json":   func() (config.File, error) { return l.Agents() },
		"leagues/" + league + ".json": func() (config.File, error) { return l.League(league) },
		"games/games_registry.json":   func() (config.File, error) { return l.Games() },
		"defaults/referee.json":       func() (config.File, error) { return l.RefereeDefaults() },
		"defaults/player.json":        func() (config.File, error) { return l.PlayerDefaults() },
	}
}

// valuesOf returns the values of a file without its path and its time.
func valuesOf(t *testing.T, f config.File) map[string]any {
	t.Helper()
	text, err := json.Marshal(f)
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal(text, &tree))
	delete(tree, "last_updated")
	return tree
}

func TestMissingFilesHaveBuiltInValues(t *testing.T) {
	for _, dir := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "missing")} {
		l := config.NewLoader(dir, known())
		system, err := l.System()
		require.NoError(t, err)
		assert.Equal(t, "localhost", system.Network.BaseHost)
		assert.Equal(t, 8000, system.Network.ManagerPort)
		assert.Equal(t, "8001-8010", system.Network.RefereePortRange.String())
		assert.Equal(t, "8101-8150", system.Network.PlayerPortRange.String())
		assert.Equal(t, protocol.Name, system.ProtocolVersion)
		assert.Empty(t, system.Path())
		assert.False(t, system.Gives("network.base_host"), "no file gives it")

		r, err := l.Rules(league)
		require.NoError(t, err)
		assert.Equal(t, protocol.DefaultTimeouts(), r.Timeouts.Protocol())
		want := protocol.DefaultRetryPolicy()
		want.Backoff = protocol.BackoffFixed
		assert.Equal(t, want, protocol.RetryPolicy(r.Retry))
		assert.Zero(t, r.Game.MaxRoundTime)
		assert.Equal(t, config.Scoring{Win: 3, Draw: 1, Tiebreakers: []string{"points", "wins", "draws"}}, r.League.Scoring)
		assert.Equal(t, config.Participants{MinPlayers: 2, MaxPlayers: 10_000, MinReferees: 1, MaxReferees: 100}, r.League.Participants)
		assert.Equal(t, league, r.League.LeagueID)

		agents, err := l.Agents()
		require.NoError(t, err)
		assert.Empty(t, agents.Referees)
		assert.Empty(t, agents.Players)
	}
}

// members lists the paths of all members of an object and its objects.
func members(tree map[string]any, path string) (all []string) {
	for name, value := range tree {
		all = append(all, path+name)
		if inner, ok := value.(map[string]any); ok {
			all = append(all, members(inner, path+name+".")...)
		}
	}
	return all
}

func TestBuiltInFilesHaveExactlyTheMembersOfTheirTypes(t *testing.T) {
	for name, load := range loadAll(config.NewLoader("", known())) {
		f, err := load()
		require.NoError(t, err)
		values, builtIn := valuesOf(t, f), map[string]any{}
		for _, made := range []string{"league_id", "game_types"} { // by the loader
			delete(values, made)
		}
		file := strings.Replace(filepath.Base(name), league+".json", "league.json", 1)
		raw, err := os.ReadFile(filepath.Join("builtin", file))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &builtIn))
		assert.ElementsMatch(t, members(values, ""), members(builtIn, ""), name)
	}
}

func TestExamplesOfTheSpecificationAreRead(t *testing.T) {
	l := config.NewLoader(dataFolder(t, map[string]string{
		// Spec 003 §9.3.1 and §9.3.3.
		"system.json": `{"schema_version": "1.0.0", "system_id": "league_system_prod", "protocol_version": "league.v2",
			"timeouts": {"move_timeout_sec": 30, "generic_response_timeout_sec": 10},
			"retry_policy": {"max_retries": 3, "backoff_strategy": "exponential"}}`,
		"leagues/" + league + ".json": `{"league_id": "league_2025_even_odd", "game_type": "even_odd", "status": "ACTIVE",
			"scoring": {"win_points": 3, "draw_points": 1, "loss_points": 0},
			"participants": {"min_players": 2, "max_players": 10000}}`,
	}), known())
	r, err := l.Rules(league)
	require.NoError(t, err)
	assert.Equal(t, "league_system_prod", r.System.SystemID)
	assert.Equal(t, config.RetryPolicy{MaxRetries: 3, Delay: 2, Backoff: "exponential"}, r.Retry)
	assert.Equal(t, 10, r.Timeouts.RegisterPlayer, "what a file leaves out is built in")
	assert.True(t, r.System.Gives("timeouts.move_timeout_sec"))
	assert.False(t, r.System.Gives("timeouts.register_player_timeout_sec"))
	assert.False(t, r.System.Gives("system_id.of"))
	assert.Equal(t, config.StatusActive, r.League.Status)
}

func TestLeagueFilePrecedesSystemFile(t *testing.T) {
	l := config.NewLoader(dataFolder(t, map[string]string{
		"system.json":                 `{"timeouts": {"move_timeout_sec": 20, "game_join_ack_timeout_sec": 7}, "retry_policy": {"max_retries": 1, "delay_sec": 9}}`,
		"leagues/" + league + ".json": `{"timeouts": {"move_timeout_sec": 8}, "retry_policy": {"delay_sec": 0, "backoff_strategy": "linear"}}`,
		"games/games_registry.json":   `{"games": [{"game_type": "chess"}, {"game_type": "even_odd", "max_round_time_sec": 90}]}`,
	}), known())
	r, err := l.Rules(league)
	require.NoError(t, err)
	assert.Equal(t, 8, r.Timeouts.Move, "the league's")
	assert.Equal(t, 7, r.Timeouts.GameJoinAck, "the system's")
	assert.Equal(t, 10, r.Timeouts.Generic, "built in")
	assert.Equal(t, config.RetryPolicy{MaxRetries: 1, Delay: 0, Backoff: "linear"}, r.Retry)
	assert.Equal(t, 90, r.Game.MaxRoundTime)
	assert.Equal(t, "rules/evenodd", r.Game.RulesModule, "that of the program")
	assert.Equal(t, 2, r.Game.MaxPlayers)

	other, err := l.Rules("another")
	require.NoError(t, err)
	assert.Equal(t, 20, other.Timeouts.Move, "a league without a file has what the system says")
	system, err := l.System()
	require.NoError(t, err)
	assert.Equal(t, 20, system.Timeouts.Move, "which no league has changed")
}

func TestPresetsAreFoundByID(t *testing.T) {
	l := loaderWith(t, "agents/agents_config.json", `{
		"referees": [{"referee_id": "REF01", "display_name": "Alpha", "endpoint": "http://localhost:8001/mcp", "version": "2.0.0",
			"game_types": ["even_odd"], "max_concurrent_matches": 4, "active": false, "registration_code": "code-of-alpha"}, {"referee_id": "REF02"}],
		"players": [{"player_id": "P01", "preferred_leagues": ["a", "b"], "default_endpoint": "https://far/mcp"}, {"player_id": "P100", "active": true}]
	}`)
	agents, err := l.Agents()
	require.NoError(t, err)
	referee := agents.Referee("REF01")
	assert.True(t, referee.Inactive())
	referee.Active = nil
	assert.Equal(t, &config.Referee{
		RefereeID: "REF01", Endpoint: "http://localhost:8001/mcp", MaxConcurrentMatches: 4,
		Preset: config.Preset{DisplayName: "Alpha", Version: "2.0.0", GameTypes: []string{"even_odd"}, RegistrationCode: "code-of-alpha"},
	}, referee)
	player := agents.Player("P01")
	assert.Equal(t, &config.Player{PlayerID: "P01", PreferredLeagues: []string{"a", "b"}, DefaultEndpoint: "https://far/mcp"}, player)
	player = agents.Player("P02")
	assert.Zero(t, *player)
	assert.False(t, player.Inactive(), "active by default")

	broken := loaderWith(t, "agents/agents_config.json", `[]`)
	_, err = broken.Agents()
	require.ErrorContains(t, err, "must be an object")
}

func TestFilesAreReadOnceAndOnlyWhenAsked(t *testing.T) {
	dir := dataFolder(t, map[string]string{"system.json": `{"system_id": "one"}`, "defaults/player.json": `{`})
	l := config.NewLoader(dir, known())
	system, err := l.System()
	require.NoError(t, err, "the other file is broken, and not asked for")
	require.NoError(t, os.Remove(system.Path()))
	system, err = l.System()
	require.NoError(t, err)
	assert.Equal(t, "one", system.SystemID, "from the cache")
	_, err = l.PlayerDefaults()
	require.Error(t, err)
}

func TestLeagueIDCannotNameAnotherFile(t *testing.T) {
	l := config.NewLoader(t.TempDir(), known())
	for _, id := range []string{"", "../system", "a/b", ".hidden", strings.Repeat("x", 65)} {
		_, err := l.League(id)
		require.ErrorContains(t, err, "1 to 64 letters", id)
		_, err = l.Rules(id)
		require.ErrorContains(t, err, "1 to 64 letters", id)
	}
}

func TestUnreadableFilesNameTheProblem(t *testing.T) {
	const mend = "; correct it, or remove the file to use the built-in values"
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1: not JSON: "},
		{"truncated", "{\n  \"schema_version\": \"1.0.0\",\n  \"x\": {\n", "line 3: not JSON: "},
		{"a comma too many", "{\n\"system_id\": \"x\",\n}\n", "line 2: not JSON: "},
		{"two values", "{}\n{}\n", mend},
		{"a member twice", "{\n\"x\": 1,\n\"x\": 2}", "line 3: not JSON: "},
		{"bad UTF-8", "{\"x\": \"\xff\"}", "invalid UTF-8"},
		{"a list", `[1]`, "must be an object, got [1]"},
		{"null", `null`, "must be an object, got null"},
		{"an invalid schema version", `{"schema_version": "one"}`, `schema_version: must be a version of the form MAJOR.MINOR.PATCH, got "one"`},
		{"a number as schema version", `{"schema_version": 1}`, `schema_version: must be a version of the form MAJOR.MINOR.PATCH, got 1`},
		{"a local time", `{"last_updated": "2025-01-15T10:00:00+02:00"}`, `last_updated: must be a time of the form YYYY-MM-DDTHH:MM:SSZ, got "2025-01-15T10:00:00+02:00"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{}
			for name := range loadAll(nil) {
				files[name] = tt.text
			}
			dir := dataFolder(t, files)
			for name, load := range loadAll(config.NewLoader(dir, known())) {
				f, err := load()
				path := filepath.Join(dir, "config", name)
				require.ErrorContains(t, err, path+": ")
				assert.ErrorContains(t, err, strings.ReplaceAll(tt.want, "DIR", dir))
				assert.Equal(t, 1, strings.Count(err.Error(), path), "named once: %s", err)
				assert.Nil(t, f)
			}
		})
	}
	t.Run("a folder in place of the file", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "config", "system.json")
		require.NoError(t, os.MkdirAll(path, 0o755))
		_, err := config.NewLoader(dir, known()).System()
		require.EqualError(t, err, path+": cannot be read: is a directory; make it a readable file, or remove it to use the built-in values")
	})
	t.Run("a byte order mark is ignored", func(t *testing.T) {
		system, err := loaderWith(t, "system.json", "\ufeff{\"system_id\": \"x\"}").System()
		require.NoError(t, err)
		assert.Equal(t, "x", system.SystemID)
	})
}

func TestInitWritesMissingFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "SHARED")
	now := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	done, err := config.Init(dir, known(), now)
	require.NoError(t, err)
	require.Len(t, done, 6)
	written := map[string]string{}
	for _, w := range done {
		assert.True(t, w.Created, w.Path)
		text, err := os.ReadFile(w.Path)
		require.NoError(t, err)
		written[w.Path] = string(text)
		assert.True(t, strings.HasPrefix(string(text), "{\n  \"schema_version\": \"1.0.0\",\n  \"last_updated\": \"2025-01-15T10:30:00Z\",\n"), w.Path)
		assert.True(t, strings.HasSuffix(string(text), "\n}\n"), w.Path)
	}

	builtIn := loadAll(config.NewLoader("", known()))
	for name, load := range loadAll(config.NewLoader(dir, known())) {
		assert.Contains(t, written, filepath.Join(dir, "config", name))
		f, err := load()
		require.NoError(t, err, "the written file is valid")
		want, err := builtIn[name]()
		require.NoError(t, err)
		assert.Equal(t, valuesOf(t, want), valuesOf(t, f), "what is written is what is built in")
	}
	file := written[filepath.Join(dir, "config", "leagues", league+".json")]
	assert.NotContains(t, file, "timeouts", "so that those of the system file take effect")
	assert.NotContains(t, file, "retry_policy")
	assert.NotContains(t, written[filepath.Join(dir, "config", "agents", "agents_config.json")], "endpoint", "so that the system's port takes effect")
	again, err := config.Init(dir, known(), now.Add(time.Hour))
	require.NoError(t, err)
	for _, w := range again {
		assert.False(t, w.Created, w.Path)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		assert.False(t, strings.HasSuffix(path, ".tmp"), path)
		return err
	}))
}

func TestRosterIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"two columns":            "name,code\nAlice,code-of-alice\nBob,code-of-bobby\n",
		"a byte order mark":      "\ufeffname,code\nAlice,code-of-alice\nBob,code-of-bobby\n",
		"CRLF, spaces and lines": "Name , Code\r\n Alice , code-of-alice \r\n\r\nBob, code-of-bobby\r\n",
		"another order, a role":  "role,code,name\n,code-of-alice,Alice\nPlayer,code-of-bobby,\"Bob\"",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := config.ParseRoster([]byte(text))
			require.NoError(t, err)
			assert.Equal(t, []config.RosterEntry{
				{Role: "player", Name: "Alice", Code: "code-of-alice"}, {Role: "player", Name: "Bob", Code: "code-of-bobby"},
			}, got)
		})
	}
	got, err := config.ParseRoster([]byte("name,code,role\nAndre\u0301,code-of-andre,\nAndré,code-of-whistle,referee\n"))
	require.NoError(t, err)
	assert.Equal(t, []config.RosterEntry{
		{Role: "player", Name: "André", Code: "code-of-andre"}, {Role: "referee", Name: "André", Code: "code-of-whistle"},
	}, got, "names are in NFC, and each role has its own")
}

func TestBadRosterIsRefusedWithItsLines(t *testing.T) {
	const rule = "a registration code has 8 to 128 ASCII characters without spaces, commas, double quotes and backslashes"
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                 {"", "line 1: the first line names the columns: name,code or name,code,role"},
		"no agents":             {"name,code\n", "the roster lists no agent"},
		"no header":             {"Alice,code-of-alice\n", `line 1: unknown or repeated column "alice"`},
		"no codes":              {"name,role\n", "line 1: the first line names the columns"},
		"semicolons":            {"name;code\nAlice;code-of-alice\n", "separated by commas"},
		"a column twice":        {"name,code,name\n", `line 1: unknown or repeated column "name"`},
		"a missing column":      {"name,code\nAlice\n", "line 2: the line has 1 columns, the header has 2"},
		"a short code":          {"name,code\nAlice,sekret7\n", "line 2: code: " + rule},
		"a long code":           {"name,code\nAlice," + strings.Repeat("x", 129) + "\n", "line 2: code: " + rule},
		"a code with a space":   {"name,code\nAlice,code of alice\n", "line 2: code: " + rule},
		"a code twice":          {"name,code\nAlice,code-of-both\nBob,code-of-both\n", "line 3: the code is in line 2 already"},
		"a name twice":          {"name,code\nAlice,code-of-alice\nAlice,code-of-other\n", `line 3: name "Alice": line 2 has this name already`},
		"a name like another":   {"name,code\nAlice,code-of-alice\nALICE,code-of-other\n", `line 3: name "ALICE": line 2 has this name already, or one that looks like it`},
		"no name":               {"name,code\n,code-of-alice\n", `line 2: name "": must have 1 to 50 characters`},
		"a name like an id":     {"name,code\nＰ０３,code-of-alice\n", `line 2: name "Ｐ０３": display_name: the name looks like an id (P03, REF01, R1M1)`},
		"an invisible name":     {"name,code\nAl\u200bice,code-of-alice\n", `line 2: name "Al\u200bice": display_name has a character that cannot be seen, U+200B`},
		"an unknown role":       {"name,code,role\nAlice,code-of-alice,judge\n", `line 2: role "judge": must be player or referee`},
		"a quote in the middle": {"name,code\nAl\"ice,code-of-alice\n", "not CSV"},
		"all lines with errors": {"name,code\nAlice,x\nBob,y\n", "line 3: code: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.ParseRoster([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "sekret", "codes are secret")
		})
	}
}

// A league whose id the manager has made of the date has the rules of the folder, unless it has a file.
func TestLeaguesWithADateHaveTheRulesOfTheDefaultLeague(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, "config", "leagues", name+".json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("league_2025_even_odd", `{"legs": 4}`)
	write("2026-11-30-cup", `{"legs": 2}`)
	legs := func(id string) int {
		file, err := config.NewLoader(dir, known()).League(id)
		require.NoError(t, err)
		return file.Legs
	}
	assert.Equal(t, []int{4, 2, 1}, []int{legs("2026-11-29-cup"), legs("2026-11-30-cup"), legs("cup")})
}
