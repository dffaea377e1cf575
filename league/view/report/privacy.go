package report

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// hideIn hides the addresses in the reasons of an event.
func hideIn(d journal.Data) {
	switch d := d.(type) {
	case *journal.MatchReported:
		d.Reason = record.Public(d.Reason)
	case *journal.AgentFailed:
		d.Reason = record.Public(d.Reason)
	case *journal.AttemptLost:
		d.Reason = record.Public(d.Reason)
	case *journal.MatchDisputed:
		d.Reason = record.Public(d.Reason)
	}
}

// conversation makes the conversation of an attempt without tokens and addresses.
func conversation(doc *store.Match, games rules.Registry) *record.Conversation {
	c := record.ConversationOf(doc, games)
	for i := range c.Lines {
		line := &c.Lines[i]
		line.Says, line.Answer, line.Void = record.Public(line.Says), record.Public(line.Answer), record.Public(line.Void)
		if line.Error != nil {
			shown := *line.Error
			shown.Detail = record.Public(shown.Detail)
			line.Error = &shown
		}
		if line.Message != nil {
			line.Message = jsontext.Value(record.Public(string(line.Message)))
		}
	}
	return c
}

// publicStrategy hides the command of a program, which may name folders and keys.
func publicStrategy(strategy string) string {
	if strings.HasPrefix(strategy, "exec:") {
		return "program"
	}
	return strategy
}

// publicSimulation is the input of a simulation without the commands of programs.
func publicSimulation(input *journal.Simulation) *journal.Simulation {
	if input == nil {
		return nil
	}
	s := *input
	s.Strategies, s.Entrants = slices.Clone(s.Strategies), slices.Clone(s.Entrants)
	for i := range s.Strategies {
		s.Strategies[i] = publicStrategy(s.Strategies[i])
	}
	for i := range s.Entrants {
		s.Entrants[i].Strategy = publicStrategy(s.Entrants[i].Strategy)
	}
	return &s
}
