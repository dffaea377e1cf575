package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

func TestMembersFollowTheirRules(t *testing.T) {
	const (
		system   = "system.json"
		agents   = "agents/agents_config.json"
		games    = "games/games_registry.json"
		referee  = "defaults/referee.json"
		player   = "defaults/player.json"
		ofLeague = "leagues/" + league + ".json"

		id      = "must be 1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot or a dash"
		seconds = "must be a whole number of seconds from 1"
		window  = "must be a whole number of seconds from 0"
		year    = "must be at most 31536000 seconds, a year"
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
	tests := []struct {
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
		{system, "network.default_player_port_range", `[8150,8101] null {}`, ports, `[8101,8150]`},
		{system, "security", `true`, "must be an object", `{}`},
		{system, "security.enable_auth_tokens", `false "true" 1 null`, "must be true: a league without tokens could be ended by anyone", `true`},
		{system, "security.token_length", `21 44 0 "43" 30.5`, "must be a whole number from 22 to 43", `22 43`},
		{system, "security.token_ttl_hours", `-1 "24" 1.5 8761`, "must be a whole number from 0 to 8760", `0 24`},
		{system, "timeouts.register_referee_timeout_sec", `0 -1 0.5 "thirty" null true`, seconds, `1 31536000`},
		{system, "timeouts.register_player_timeout_sec", `0 "10"`, seconds, `1`},
		{system, "timeouts.game_join_ack_timeout_sec", `0 []`, seconds, `5`},
		{system, "timeouts.move_timeout_sec", `"thirty" 0`, seconds, `30`},
		{system, "timeouts.move_timeout_sec", `31536001 1e300`, year, ``},
		{system, "timeouts.generic_response_timeout_sec", `0 1.5`, seconds, `10`},
		{system, "retry_policy", `3`, "must be an object", `{}`},
		{system, "retry_policy.max_retries", `-1 11 1.5 "3"`, "must be a whole number from 0 to 10", `0 10`},
		{system, "retry_policy.delay_sec", `-1 -0.5 3601 "2" null`, delay, `0 0.5 2 3600`},
		{system, "retry_policy.backoff_strategy", `"none" "" "Fixed" 1`, backoff, `"fixed" "linear" "exponential"`},

		{ofLeague, "league_id", `"another" "" 1`, `must be "` + league + `", like the file's name`, `"` + league + `"`},
		{ofLeague, "display_name", `"" 5 "a\u0007b"`, called, `"Cup"`},
		{ofLeague, "game_type", `"go" "" 1 null`, "must be one of chess, even_odd", `"chess"`},
		{ofLeague, "status", `"" 1 null`, "must be a text such as ACTIVE", `"ACTIVE" "PAUSED"`},
		{ofLeague, "scoring.win_points", `-1 1001 1.5 "3" null`, points, `0 5 1000`},
		{ofLeague, "scoring.draw_points", `-1`, points, `2`},
		{ofLeague, "scoring.loss_points", `-1`, points, `1`},
		{ofLeague, "scoring.technical_loss_points", `-1`, points, `1`},
		{ofLeague, "scoring.tiebreakers", `[] ["goals"] ["points","points"] "points" [1] null`, ties, `["wins"] ["points","head_to_head"]`},
		{ofLeague, "participants.min_players", `1 0 -1 10001 "2"`, "must be a whole number from 2 to 10000", `2 10000`},
		{ofLeague, "participants.max_players", `1 10001`, "must be a whole number from 2 to 10000", `2 100`},
		{ofLeague, "participants.min_referees", `0 1001`, "must be a whole number from 1 to 1000", `1 100`},
		{ofLeague, "participants.max_referees", `0 1001`, "must be a whole number from 1 to 1000", `1 1000`},
		{ofLeague, "legs", `0 134217729 1.5 "1"`, "must be a whole number from 1 to 134217728", `1 3000`},
		{ofLeague, "broadcast", `"never" "" true`, "must be one of round, match", `"round" "match"`},
		{ofLeague, "unique_display_names", `"yes" 1 null`, "must be true or false", `true false`},
		{ofLeague, "registration_window_sec", `-1 1.5 "60" null`, window, `0 60`},
		{ofLeague, "registration_window_sec", `31536001`, year, ``},
		{ofLeague, "registration_grace_sec", `0 1.5 "30" null`, "must be a whole number of seconds from 1", `1 30`},
		{ofLeague, "announce_lead_sec", `-1`, window, `0 60`},
		{ofLeague, "lifecycle", `[] 3 null`, "must be an object", `{}`},
		{ofLeague, "lifecycle.suspend_after", `-1 1001 1.5 "3" null`, "must be a whole number from 0 to 1000", `0 3`},
		{ofLeague, "lifecycle.shutdown_after", `-1 1001`, "must be a whole number from 0 to 1000", `0 10`},
		{ofLeague, "replies", `"lenient" true null`, "must be one of by_meaning, strict", `"strict" "by_meaning"`},
		{ofLeague, "auth", `"by_meaning" false null`, "must be one of strict, lenient", `"strict" "lenient"`},
		{ofLeague, "signatures", `"off" true null`, "must be one of optional, required", `"required" "optional"`},
		{ofLeague, "evidence", `"proven" true null`, "must be one of stated, recomputed", `"stated" "recomputed"`},
		{ofLeague, "allowed_endpoints", `"any" {} null`, "must be a list", `[] ["any"] ["10.1.0.0/16","127.0.0.1","::1","2001:db8::/32"]`},
		{ofLeague, "allowed_endpoints[0]", `"10.0.0.0/33" "localhost" "" 1 "fe80::1%eth0"`, `must be a network such as 10.1.0.0/16, an address, or "any"`, `"any"`},
		{referee, "allowed_endpoints", `"any" {} null`, "must be a list", `[] ["any"] ["100.64.0.0/10","127.0.0.1"]`},
		{referee, "allowed_endpoints[0]", `"10.0.0.0/33" "localhost"`, `must be a network such as 10.1.0.0/16, an address, or "any"`, `"any"`},
		{ofLeague, "limits", `[] 3 null`, "must be an object", `{}`},
		{ofLeague, "limits.requests_per_sec", `0 -1 100001 1.5`, "must be a whole number from 1 to 100000", `1 1000`},
		{ofLeague, "limits.burst", `0 1000001`, "must be a whole number from 1 to 1000000", `1 100`},
		{ofLeague, "timeouts", `[]`, "must be an object", `{}`},
		{ofLeague, "timeouts.move_timeout_sec", `0`, seconds, `1`},
		{ofLeague, "retry_policy.max_retries", `11`, "must be a whole number from 0 to 10", `0`},

		{games, "games", `{} "even_odd" null`, "must be a list", `[]`},
		{games, "games[0]", `[] 1`, "must be an object", `{"game_type":"chess"}`},
		{games, "games[0].game_type", `"go" 1`, "must be one of chess, even_odd", `"even_odd"`},
		{games, "games[0].display_name", `""`, called, `"Parity"`},
		{games, "games[0].rules_module", `"games.even_odd" "rules/chess"`, `must be "rules/evenodd", the module that has this game`, `"rules/evenodd"`},
		{games, "games[0].rules_module", `5 ""`, "must be a text", ``},
		{games, "games[0].max_round_time_sec", `-1 0.5`, window, `0 120`},
		{games, "games[0].min_players", `1 3`, "must be 2, as many as play a match of even_odd", `2`},
		{games, "games[0].max_players", `4`, "must be 2, as many as play a match of even_odd", `2`},
		{games, "games[0].max_players", `0 "2"`, "must be a whole number from 1 to 10000", ``},

		{agents, "league_manager", `[]`, "must be an object", `{}`},
		{agents, "league_manager.display_name", `""`, called, `"Boss"`},
		{agents, "league_manager.endpoint", `"" "localhost:8000" "ftp://a/b" 5`, url, `"http://localhost:8000/mcp" "https://far/mcp"`},
		{agents, "referees", `{}`, "must be a list", `[]`},
		{agents, "referees[0]", `1`, "must be an object", `{"referee_id":"REF02"}`},
		{agents, "referees[0].referee_id", `"P01" "REF1" "" 1`, "must be an id such as REF01", `"REF01" "REF100"`},
		{agents, "referees[0].display_name", `""`, called, `"Whistle"`},
		{agents, "referees[0].endpoint", `"x"`, url, `"http://localhost:8001/mcp"`},
		{agents, "referees[0].version", `"1" 1`, number, `"1.2.3"`},
		{agents, "referees[0].game_types", `[] ["go"] "even_odd"`, types, `["even_odd","chess"]`},
		{agents, "referees[0].max_concurrent_matches", `0 11`, "must be a whole number from 1 to 10", `1 10`},
		{agents, "referees[0].active", `"no" 0`, "must be true or false", `true false`},
		{agents, "players[0].player_id", `"REF01" "P1" 1`, "must be an id such as P01", `"P01" "P100"`},
		{agents, "players[0].default_endpoint", `"x"`, url, `"http://localhost:8101/mcp"`},
		{agents, "players[0].preferred_leagues", `"x" null`, "must be a list", `[] ["a","b"]`},
		{agents, "players[0].preferred_leagues[0]", `"../x" 1`, id, `"x"`},
		{agents, "players[0].active", `null`, "must be true or false", `true`},

		{games, "games[0].move_types", `"choose_parity" 1`, "must be a list", `["choose_parity"]`},
		{games, "games[0].valid_choices", `["even"] "even"`, "must be an object", `{"choose_parity":["odd","even"]}`},
		{games, "games[0].valid_choices.choose_parity", `"even" 5`, "must be a list", ``},
		{referee, "version", `"1.0" ""`, number, `"1.0.0" "2.0.0-rc.1"`},
		{referee, "game_types", `[]`, types, `["chess"]`},
		{referee, "max_concurrent_matches", `0 11`, "must be a whole number from 1 to 10", `10`},
		{referee, "log_level", `"loud" "" "DEBUG"`, level, `"debug"`},
		{player, "version", `1`, number, `"1.0.0"`},
		{player, "game_types", `["go"]`, types, `["even_odd"]`},
		{player, "strategy", `"luck" ""`, "must be one of random, even, odd", `"odd"`},
		{player, "log_level", `5`, level, `"disabled"`},
	}
	for _, tt := range tests {
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
			"games[0]": `"game_type":"even_odd"`, "referees[0]": `"referee_id":"REF01"`, "players[0]": `"player_id":"P01"`,
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
	tests := []struct{ file, text, want string }{
		{"agents/agents_config.json", `{"referees": [{}]}`, "referees[0].referee_id: must be present"},
		{"agents/agents_config.json", `{"players": [{"player_id": "P01"}, {}]}`, "players[1].player_id: must be present"},
		{"games/games_registry.json", `{"games": [{}]}`, "games[0].game_type: must be present"},
	}
	for _, tt := range tests {
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
	tests := []struct{ file, text, want string }{
		{file, `{"participants": {"min_players": 5, "max_players": 4}}`, "participants.min_players: must not be above max_players, 4, got 5"},
		{file, `{"participants": {"min_referees": 101}}`, "participants.min_referees: must not be above max_referees, 100, got 101"},
		{"agents/agents_config.json", `{"referees": [{"referee_id": "REF01"}, {"referee_id": "REF01"}]}`,
			`referees[1].referee_id: must be an id that no other agent has, got "REF01"`},
		{"games/games_registry.json", `{"games": [{"game_type": "chess"}, {"game_type": "chess"}]}`,
			`games[1].game_type: must be a game that is not listed before, got "chess"`},
		{"games/games_registry.json", `{"games": [{"game_type": "chess", "move_types": ["offer"]}]}`,
			`games[0].move_types: must be ["clock","offer"], the kinds of move of chess, got ["offer"]`},
		{"games/games_registry.json", `{"games": [{"game_type": "chess", "valid_choices": {"clock": ["1-5"], "offer": ["draw"]}}]}`,
			`games[0].valid_choices: must be {"clock":["1-3","5"],"offer":["draw"]}, the choices of chess, got {"clock":["1-5"],"offer":["draw"]}`},
		{"games/games_registry.json", `{"games": [{"game_type": "even_odd", "valid_choices": {}}]}`,
			`games[0].valid_choices: must be {"choose_parity":["even","odd"]}, the choices of even_odd, got {}`},
	}
	for _, tt := range tests {
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
		path + `timeouts.move_timeout_sec: must be a whole number of seconds from 1, got "thirty"`,
		path + `retry_policy.backoff_strategy: must be one of fixed, linear, exponential, got "` + strings.Repeat("x", 59) + `…`,
	}, "\n"))
}

func TestUnlistedGameIsAnError(t *testing.T) {
	dir := dataFolder(t, map[string]string{
		"games/games_registry.json":   `{"games": [{"game_type": "chess"}]}`,
		"leagues/" + league + ".json": `{}`,
	})
	_, err := config.NewLoader(dir, known()).Rules(league)
	require.EqualError(t, err, filepath.Join(dir, "config", "games", "games_registry.json")+": games: must list even_odd, the game of league "+league)
}
