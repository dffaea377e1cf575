package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// commands returns a few commands with flags. One flag has the name of a command.
func commands() map[string]*pflag.FlagSet {
	player := pflag.NewFlagSet("player", pflag.ContinueOnError)
	player.Int("port", 8101, "")
	player.String("manager", "http://localhost:8000/mcp", "")
	player.String("log-level", "info", "")
	player.String("host", "localhost", "")
	player.StringSlice("strategies", []string{"random"}, "")
	player.Bool("quiet", false, "")
	player.Uint64("seed", 0, "")
	player.String("config", "", "")
	player.BoolP("help", "h", false, "")
	player.String("secret", "", "")
	_ = player.MarkHidden("secret")
	manager := pflag.NewFlagSet("manager", pflag.ContinueOnError)
	manager.Int("port", 8000, "")
	manager.Int("players", 4, "")
	return map[string]*pflag.FlagSet{"player": player, "manager": manager}
}

// settingsFile writes a settings file and returns its path.
func settingsFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// loadedFrom returns the settings of a valid file.
func loadedFrom(t *testing.T, path string, flags map[string]*pflag.FlagSet) *config.Settings {
	t.Helper()
	s, err := config.Load(path, func() map[string]*pflag.FlagSet { return flags })
	require.NoError(t, err)
	return s
}

// currentSetting returns one setting of a command.
func currentSetting(t *testing.T, s *config.Settings, command, name string, flags map[string]*pflag.FlagSet) config.Setting {
	t.Helper()
	all, err := s.Apply(command, flags[command])
	require.NoError(t, err)
	for _, one := range all {
		if one.Name == name {
			return one
		}
	}
	require.FailNow(t, "no such setting", name)
	return config.Setting{}
}

func TestPrecedenceOfFlagsVariablesAndFiles(t *testing.T) {
	// Each case sets all sources from the expected one down.
	const section, top = "player:\n  port: 4\n", "port: 5\n"
	for _, tt := range []struct {
		name   string
		flag   string
		env    map[string]string
		file   string
		value  string
		source string
	}{
		{"flag before everything", "1", map[string]string{"EVENODD_PLAYER_PORT": "2", "EVENODD_PORT": "3"}, section + top, "1", "flag"},
		{"the command's variable", "", map[string]string{"EVENODD_PLAYER_PORT": "2", "EVENODD_PORT": "3"}, section + top, "2", "environment EVENODD_PLAYER_PORT"},
		{"the general variable", "", map[string]string{"EVENODD_PORT": "3"}, section + top, "3", "environment EVENODD_PORT"},
		{"another command's variable has no effect", "", map[string]string{"EVENODD_MANAGER_PORT": "9"}, section, "4", "file FILE"},
		{"a variable without the prefix has no effect", "", map[string]string{"PORT": "9"}, section, "4", "file FILE"},
		{"the command's section of the file", "", nil, section + top, "4", "file FILE"},
		{"the top of the file", "", nil, top, "5", "file FILE"},
		{"another command's section has no effect", "", nil, "manager:\n  port: 9\n" + top, "5", "file FILE"},
		{"a file without the setting", "", nil, "log-level: debug\n", "8101", "default"},
		{"no source", "", nil, "", "8101", "default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			flags := commands()
			if tt.flag != "" {
				require.NoError(t, flags["player"].Parse([]string{"--port", tt.flag}))
			}
			file := ""
			if tt.file != "" {
				file = settingsFile(t, "settings.yaml", tt.file)
			}
			got := currentSetting(t, loadedFrom(t, file, flags), "player", "port", flags)
			assert.Equal(t, config.Setting{
				Name: "port", Value: tt.value, Source: strings.ReplaceAll(tt.source, "FILE", file),
			}, got)
			assert.Equal(t, tt.value, flags["player"].Lookup("port").Value.String(), "the flag has the value that is shown")
		})
	}
}

func TestFlagMayHaveTheNameOfACommand(t *testing.T) {
	const builtIn = "http://localhost:8000/mcp"
	for _, tt := range []struct {
		name, text string
		value      string
		fromFile   bool
	}{
		{"the command's section is no value", "manager:\n  port: 9000\n", builtIn, false},
		{"a value at the top", "manager: http://far:1/mcp\n", "http://far:1/mcp", true},
		{"a value in a section, beside the command's", "manager:\n  port: 9000\nplayer:\n  manager: http://far:2/mcp\n", "http://far:2/mcp", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := settingsFile(t, "settings.yaml", tt.text)
			flags := commands()
			want := config.Setting{Name: "manager", Value: tt.value, Source: "default"}
			if tt.fromFile {
				want.Source = "file " + file
			}
			assert.Equal(t, want, currentSetting(t, loadedFrom(t, file, flags), "player", "manager", flags))
			assert.Equal(t, tt.value, flags["player"].Lookup("manager").Value.String())
		})
	}
}

func TestSettingsFileValuesHaveTheFormOfFlags(t *testing.T) {
	for _, tt := range []struct {
		name, text, flag string
		want             string
	}{
		{"a list", "strategies: [even, odd, mirror]", "strategies", "even,odd,mirror"},
		{"a list of one", "strategies: [even]", "strategies", "even"},
		{"a list in the form of the flag", "strategies: even,odd", "strategies", "even,odd"},
		{"an empty list", "strategies: []", "strategies", ""},
		{"a number for a text", "host: 127", "host", "127"},
		{"a text for a number", `port: "9"`, "port", "9"},
		{"the largest seed", "seed: 18446744073709551615", "seed", "18446744073709551615"},
		{"brackets that are part of the value", `host: "[::1]"`, "host", "[::1]"},
		{"an empty text", `host: ""`, "host", ""},
		{"no value", "host:", "host", "localhost"},
		{"upper case", "Player:\n  HOST: far", "host", "far"},
		{"an empty section", "player: {}\n", "host", "localhost"},
		{"JSON", `{"player": {"strategies": ["even", "odd"]}}`, "strategies", "even,odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := commands()
			s := loadedFrom(t, settingsFile(t, "settings.yaml", tt.text), flags)
			assert.Equal(t, tt.want, currentSetting(t, s, "player", tt.flag, flags).Value)
		})
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // the keys, in the order in which they are named, and after > the closest setting
	}{
		{"at the top", "prot: 1\n", []string{"prot>port"}},
		{"in a section", "player:\n  prot: 1\n", []string{"player.prot>player.port"}},
		{"a flag of another command", "player:\n  players: 4\n", []string{"player.players"}},
		{"a key below a flag", "player:\n  port:\n    number: 4\n", []string{"player.port.number"}},
		{"a section in place of a value", "port:\n  number: 4\n", []string{"port.number"}},
		{"underscores for dashes", "log_level: debug\n", []string{"log_level>log-level"}},
		{"without a value", "prot:\n", []string{"prot>port"}},
		{"all unknown keys, in order", "zeal: 1\nplayer:\n  prot: 1\nage: 2\nport: 1\n", []string{"age", "player.prot>player.port", "zeal"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := settingsFile(t, "settings.yaml", tt.text)
			_, err := config.Load(file, commands)
			var want []string
			for _, one := range tt.want {
				key, closest, found := strings.Cut(one, ">")
				text := "settings file " + file + `: unknown setting "` + key + `"`
				if found {
					text += " (did you mean " + closest + "?)"
				}
				want = append(want, text)
			}
			require.EqualError(t, err, strings.Join(want, "\n"))
		})
	}
}

func TestBadValuesNameTheirSource(t *testing.T) {
	t.Setenv("EVENODD_QUIET", "perhaps")
	t.Setenv("EVENODD_PLAYER_HOST", "replaces a bad value")
	file := settingsFile(t, "settings.yaml", "port: [1, 2]\nseed: -1\nhost: [x]\n")
	flags := commands()
	_, err := loadedFrom(t, file, flags).Apply("player", flags["player"])
	require.ErrorContains(t, err, "file "+file+`: port "1,2"`)
	require.ErrorContains(t, err, "file "+file+`: seed "-1"`)
	require.ErrorContains(t, err, `environment EVENODD_QUIET: quiet "perhaps"`)
	assert.NotContains(t, err.Error(), "host")
}

func TestFlagAliasWorksInEverySource(t *testing.T) {
	flags := func() map[string]*pflag.FlagSet {
		all := commands()
		config.Alias(all["player"], "manager", "boss")
		return all
	}
	path := settingsFile(t, "settings.yaml", "player:\n  boss: of-the-file\n")
	set := flags()
	require.NoError(t, set["player"].Parse([]string{"--boss", "of-the-flag"}))
	assert.Equal(t, config.Setting{Name: "manager", Value: "of-the-flag", Source: config.SourceFlag},
		currentSetting(t, loadedFrom(t, path, set), "player", "manager", set))
	set = flags()
	assert.Equal(t, config.Setting{Name: "manager", Value: "of-the-file", Source: "file " + path},
		currentSetting(t, loadedFrom(t, path, set), "player", "manager", set))
	t.Setenv("EVENODD_BOSS", "of-the-environment")
	set = flags()
	assert.Equal(t, config.Setting{Name: "manager", Value: "of-the-environment", Source: "environment EVENODD_BOSS"},
		currentSetting(t, loadedFrom(t, path, set), "player", "manager", set))
	t.Setenv("EVENODD_MANAGER", "by-its-own-name")
	set = flags()
	assert.Equal(t, "by-its-own-name", currentSetting(t, loadedFrom(t, path, set), "player", "manager", set).Value)
	_, err := config.Load(settingsFile(t, "other.yaml", "manager:\n  boss: nobody\n"), flags)
	assert.ErrorContains(t, err, `unknown setting "manager.boss"`, "a command without that flag")
}

// leagueFileOf writes the files of a data folder, and returns the file of its league.
func leagueFileOf(t *testing.T) (l *config.Loader, file map[string]any) {
	t.Helper()
	dir := t.TempDir()
	_, err := config.Init(dir, known(), time.Now())
	require.NoError(t, err)
	l = config.NewLoader(dir, known())
	system, err := l.System()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "config", "leagues", system.DefaultLeagueID+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	return l, file
}

// The fields of a league's file in docs/settings.md exist, with the built-in values of the page.
func TestSettingsPageHasTheBuiltInValues(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "settings.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Fields of a league's file\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, file := leagueFileOf(t)
	compared := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\| ([^|]+) \\|$").FindAllStringSubmatch(section, -1) {
		require.Contains(t, file, row[1], "a league's file has no such field")
		var want any
		word := strings.Trim(row[2], "`")
		if json.Unmarshal([]byte(word), &want) != nil {
			if word == row[2] {
				continue // a sentence, or several values
			}
			want = word
		}
		compared++
		assert.Equal(t, want, file[row[1]], row[1])
	}
	assert.GreaterOrEqual(t, compared, 6)
	var pages strings.Builder // other pages describe some fields
	paths, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		pages.Write(text)
	}
	delete(file, "last_updated") // of no effect
	for name := range file {
		assert.Contains(t, pages.String(), strings.TrimPrefix(name, "_"), "no page names this field of a league's file")
	}
}
