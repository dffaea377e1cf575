// Package config finds the value of every setting: from its flag, the environment, a
// settings file, the files of the data folder, or the built-in values, in this order.
// Settings holds the values of flags, a Loader the files of the data folder's
// configuration layer. Only this package uses viper. It
// must not depend on agents, games or strategies: its callers list what exists in
// Known.
package config

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// Prefix is the prefix of every environment variable.
const Prefix = "EVENODD"

// A Setting is the current value of one flag, with its source.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // SourceFlag, "environment NAME", "file PATH", Layer.Source or SourceDefault
}

// Sources of a setting.
const (
	SourceFlag    = "flag"
	SourceDefault = "default"
)

// A Layer has the values that one file of the data folder gives to flags of a command.
type Layer struct {
	Path   string            // of the file; "" if Source tells where the values are from
	Source string            // for people, in place of the path
	Values map[string]string // by flag
}

// LayerOf returns the layer of a file and of presets in it. The tag flag of a member names the flags of a
// command to which it gives its value; a flag of one command has the name of the command and a colon before it.
// A member of the file counts if the file has it, one of a preset if it is not zero.
func LayerOf(command string, f File, presets ...any) Layer {
	l := Layer{Path: f.head().path, Values: map[string]string{}}
	l.add(command, reflect.ValueOf(f).Elem(), "", f.head().Gives)
	for _, p := range presets {
		l.add(command, reflect.ValueOf(p).Elem(), "", nil)
	}
	return l
}

// add adds the values of the members of a struct. gives is nil for a preset.
func (l *Layer) add(command string, s reflect.Value, path string, gives func(member string) bool) {
	fields := slices.DeleteFunc(reflect.VisibleFields(s.Type()), // with those of embedded structs
		func(f reflect.StructField) bool { return f.Anonymous || !f.IsExported() })
	for _, f := range fields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, member := s.FieldByIndex(f.Index), strings.TrimPrefix(path+"."+name, ".")
		if value.Kind() == reflect.Struct {
			l.add(command, value, member, gives)
		}
		if f.Tag.Get("flag") == "" || gives == nil && value.IsZero() || gives != nil && !gives(member) {
			continue
		}
		shown := fmt.Sprint(value.Interface())
		if list, ok := value.Interface().([]string); ok {
			shown = JoinList(list)
		}
		for flag := range strings.FieldsSeq(f.Tag.Get("flag")) {
			if of, only, limited := strings.Cut(flag, ":"); !limited {
				l.Values[flag] = shown
			} else if of == command {
				l.Values[only] = shown
			}
		}
	}
}

// Settings resolves flags from the environment and a settings file. It is read-only.
type Settings struct {
	file  string
	viper *viper.Viper
}

// maxSettings is the largest size of a settings file in bytes.
const maxSettings = 1 << 20

// Load reads a settings file (YAML or JSON, by its extension); "" means the file
// in EVENODD_CONFIG, or none. commands returns the flags of all commands. A key of the file
// is the name of a flag, at the top level or below the name of a command. Any other
// key is an error, because it is a spelling mistake.
func Load(file string, commands func() map[string]*pflag.FlagSet) (*Settings, error) {
	file = cmp.Or(file, os.Getenv(variable("config")))
	s := &Settings{file: file, viper: viper.New()}
	if file == "" {
		return s, nil
	}
	text, err := userfile.Read(file, maxSettings)
	if err != nil {
		return nil, fmt.Errorf("settings file %s: %w", file, err)
	}
	format := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	if !slices.Contains([]string{"yaml", "yml", "json"}, format) { // viper reads more
		return nil, fmt.Errorf("settings file %s: its format is unknown: name it *.yaml or *.json", file)
	}
	s.viper.SetConfigType(format)
	if err := s.viper.ReadConfig(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("settings file %s: %w", file, err)
	}
	var problems []error
	flags := commands()
	names := settingNames(flags)
	for _, key := range s.viper.AllKeys() {
		empty := flags[key] != nil && s.viper.Get(key) == nil // the section of a command
		if !slices.Contains(names, key) && !empty {
			problems = append(problems, fmt.Errorf("settings file %s: unknown setting %q%s", file, key,
				words.DidYouMean(key, names)))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s, errors.Join(problems...)
}

// settingNames returns the keys that a settings file can have: those of all flags with their aliases, also below the
// name of their command.
func settingNames(commands map[string]*pflag.FlagSet) []string {
	var names []string
	for _, command := range slices.Sorted(maps.Keys(commands)) {
		commands[command].VisitAll(func(f *pflag.Flag) {
			for _, name := range append([]string{f.Name}, f.Annotations[aliases]...) {
				names = append(names, name, command+"."+name)
			}
		})
	}
	return names
}

// Apply sets every flag of a command that is not on the command line from the
// environment, the settings file or the layers, with precedence in this order, and
// lists the settings. EVENODD_PLAYER_PORT precedes EVENODD_PORT, and player.port in
// a file precedes port.
func (s *Settings) Apply(command string, flags *pflag.FlagSet, layers ...Layer) ([]Setting, error) {
	var settings []Setting
	var problems []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "config" {
			return
		}
		value, source := s.Value(command, f)
		if source == SourceDefault {
			for _, l := range layers {
				if v, there := l.Values[f.Name]; there {
					value, source = v, cmp.Or(l.Source, "file "+l.Path)
					break
				}
			}
		}
		if source != SourceFlag && source != SourceDefault {
			if err := flags.Set(f.Name, value); err != nil {
				problems = append(problems, fmt.Errorf("%s: %s %w", source, f.Name, WrongValue(err)))
			}
		}
		settings = append(settings, Setting{f.Name, shown(f), source})
	})
	return settings, errors.Join(problems...)
}

// aliases is the annotation with the further names of a flag.
const aliases = "evenodd_aliases"

// Alias gives a flag a further name on the command line, in the environment and in
// settings files.
func Alias(flags *pflag.FlagSet, name, alias string) {
	_ = flags.SetAnnotation(name, aliases, append(flags.Lookup(name).Annotations[aliases], alias)) // the flag exists
	before := flags.GetNormalizeFunc()
	flags.SetNormalizeFunc(func(set *pflag.FlagSet, given string) pflag.NormalizedName {
		if given == alias {
			given = name
		}
		return before(set, given)
	})
}

// secret is the annotation of a flag whose value no list of settings shows.
const secret = "evenodd_secret"

// Secret hides the value of a flag in lists of settings.
func Secret(flags *pflag.FlagSet, name string) {
	_ = flags.SetAnnotation(name, secret, []string{}) // the flag exists
}

// Value returns the value of one flag from the command line, the environment, the
// settings file or its default, and which of these. It does not set the flag: callers
// need some flags to find the layers.
func (s *Settings) Value(command string, f *pflag.Flag) (value, source string) {
	if f.Changed {
		return f.Value.String(), SourceFlag
	}
	for _, name := range append([]string{f.Name}, f.Annotations[aliases]...) {
		if value, from := s.find(command, name); from != "" {
			return value, from
		}
	}
	return f.DefValue, SourceDefault
}

// find looks a flag up in the environment and the settings file; from is "" if it is
// in neither.
func (s *Settings) find(command, flag string) (value, from string) {
	for _, name := range []string{variable(command, flag), variable(flag)} {
		if value, ok := os.LookupEnv(name); ok {
			return value, "environment " + name
		}
	}
	for _, key := range []string{command + "." + flag, flag} {
		switch s.viper.Get(key).(type) {
		case nil, map[string]any: // absent, or the section of a command with the name of the flag
		case []any:
			return JoinList(s.viper.GetStringSlice(key)), "file " + s.file
		default:
			return s.viper.GetString(key), "file " + s.file
		}
	}
	return "", ""
}

// shown returns the value of a flag in the form of the command line; *** for a secret.
func shown(f *pflag.Flag) string {
	if _, hidden := f.Annotations[secret]; hidden && f.Value.String() != "" {
		return protocol.HiddenToken
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return JoinList(list.GetSlice())
	}
	return f.Value.String()
}

// JoinList returns a list as the value of a flag: a line of CSV, which quotes the items with a comma or a quote.
func JoinList(list []string) string {
	var line strings.Builder
	w := csv.NewWriter(&line)
	_ = w.Write(list) // a builder takes everything
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n")
}

// variable returns the environment variable of a setting, such as EVENODD_LOG_LEVEL.
func variable(parts ...string) string {
	name := Prefix + "_" + strings.Join(parts, "_")
	return strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// UnknownVariables returns the variables of an environment that have the prefix but are no
// setting of any command and none of others, each with the closest name. environ has the form of
// os.Environ. Those that begin with EVENODD_TEST_ are for tests.
func UnknownVariables(environ []string, commands func() map[string]*pflag.FlagSet, others ...string) []string {
	var names []string
	for _, one := range environ {
		name, _, _ := strings.Cut(one, "=")
		if strings.HasPrefix(name, Prefix+"_") && !strings.HasPrefix(name, Prefix+"_TEST_") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	known := slices.Concat(others, []string{variable("config")})
	for _, name := range settingNames(commands()) {
		known = append(known, variable(strings.Split(name, ".")...))
	}
	var unknown []string
	for _, name := range names {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name+words.DidYouMean(name, known))
		}
	}
	slices.Sort(unknown)
	return unknown
}

// WrongValue says which values a flag takes, after one that it does not take. Other errors stay
// as they are.
func WrongValue(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	rule := map[string]string{
		"int":      "must be a whole number",
		"uint64":   "must be a whole number from 0 to 18446744073709551615",
		"duration": "must be a duration with a unit, such as 300ms, 30s or 5m",
		"bool":     "must be true or false",
	}[wrong.GetFlag().Value.Type()]
	switch {
	case rule == "":
		rule = wrong.Unwrap().Error()
	case wrong.GetFlag().Value.Type() == "int" && errors.Is(err, strconv.ErrRange):
		rule = "too large: " + wrong.GetFlag().Usage // which says the largest number
	}
	return fmt.Errorf("%q: %s", wrong.GetValue(), rule)
}
