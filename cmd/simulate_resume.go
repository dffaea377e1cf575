package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"evenodd/league/journal"
)

// A settled setting is one that a league keeps from its start to its end.
type settledSetting struct {
	flag         string
	given, begun string // the value of this command, and that with which the league began
}

// settled returns the settings that a simulation which is resumed keeps. Others may change: the transport,
// the concurrency, logs.
func (o *simulateOptions) settled(created *journal.Created) []settledSetting {
	from, begun, given := created.Simulation, created.Tournament, o.Tournament
	settings := []settledSetting{
		{"seed", strconv.FormatUint(o.Seed, 10), strconv.FormatUint(from.Seed, 10)},
		{"players", strconv.Itoa(o.Players), strconv.Itoa(from.Players)},
		{"referees", strconv.Itoa(o.Referees), strconv.Itoa(from.Referees)},
		{"game", o.GameType, created.GameType},
		{"tournament", cmp.Or(o.format, journal.FormatRoundRobin), cmp.Or(begun.Format(), journal.FormatRoundRobin)},
		{"legs", strconv.Itoa(o.Legs), strconv.Itoa(created.Legs)},
		{"openings", strconv.Itoa(o.Openings), strconv.Itoa(created.Openings)},
		{"until-significant", strconv.FormatBool(o.untilSignificant), strconv.FormatBool(begun.IsSequential())},
		{"strategies", strings.Join(o.Strategies, ","), strings.Join(from.Strategies, ",")},
		{"faults", o.Faults, from.Faults},
		{"time", o.TimeBank.String(), created.TimeBank.String()},
		{"members", o.members, cmp.Or(created.Members, membersAll)},
	}
	if begun != nil && begun.Bounds != nil {
		settings = append(settings, settledSetting{"elo0", elo(o.elo.Elo0), elo(begun.Bounds.Elo0)},
			settledSetting{"elo1", elo(o.elo.Elo1), elo(begun.Bounds.Elo1)})
	}
	if begun != nil && given != nil {
		settings = append(settings, settledSetting{"rounds", strconv.Itoa(given.Rounds), strconv.Itoa(begun.Rounds)},
			settledSetting{"gauntlet", strconv.Itoa(given.Gauntlet), strconv.Itoa(begun.Gauntlet)},
			settledSetting{"seeding", strings.Join(given.Seeding, ","), strings.Join(begun.Seeding, ",")})
	}
	return settings
}

func elo(difference float64) string { return strconv.FormatFloat(difference, 'g', -1, 64) }

// contradictions returns an error for each setting that the user has given and that differs from that of the
// league that is resumed.
func (o *simulateOptions) contradictions(created *journal.Created) error {
	if created.Simulation == nil {
		return nil // the simulation says that the league is none
	}
	var problems []error
	for _, s := range o.settled(created) {
		if o.given(s.flag) && s.given != s.begun {
			problems = append(problems, fmt.Errorf("--%s %s%s: league %s began with %s", s.flag, shellWord(s.given),
				o.origin(s.flag), created.LeagueID, shellWord(s.begun)))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return asUsage(errors.Join(append(problems, errors.New("--resume continues a league with its own settings: leave these "+
		"out, give the values with which it began, or start another league with --new-league"))...))
}

// origin says where a setting comes from, unless it is on the command line.
func (o *simulateOptions) origin(flag string) string {
	if source := o.sources[flag]; strings.Contains(source, " ") { // "environment NAME", "file PATH"
		return " (" + source + ")"
	}
	return ""
}

// toResume returns the flags with which the interrupted league must be resumed, because the files of the data
// folder give other values.
func (o *simulateOptions) toResume(created *journal.Created) string {
	var text strings.Builder
	for _, s := range o.settled(created) {
		if other, shadowed := o.shadowed[s.flag]; shadowed && other != s.begun {
			text.WriteString(" --" + s.flag + " " + shellWord(s.begun))
		}
	}
	return text.String()
}

// shellWord returns a text as one word of a command line.
func shellWord(text string) string {
	if text != "" && !strings.ContainsAny(text, " '\"\\$`*?;&|<>()") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
