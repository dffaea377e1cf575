package report

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// hidden replaces what a report does not show.
const hidden = "[address]"

// addresses are URLs, and addresses with or without a port.
var addresses = regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s"'<>)\\]+` +
	`|\b(?:localhost|(?:\d{1,3}\.){3}\d{1,3}):\d{1,5}\b` +
	`|\b(?:\d{1,3}\.){3}\d{1,3}\b` +
	`|\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(?:%\w+)?\](?::\d{1,5})?`)

// A secrecy hides tokens and the endpoints of agents in texts of other agents and in errors of
// the network.
type secrecy struct {
	hosts map[string]bool // of endpoints, with and without a port
}

// learn adds an endpoint.
func (s *secrecy) learn(endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return
	}
	if s.hosts == nil {
		s.hosts = map[string]bool{}
	}
	if u.Port() != "" {
		s.hosts[u.Host] = true
	}
	if name := u.Hostname(); strings.ContainsAny(name, ".:") {
		s.hosts[name] = true
	}
}

// hide returns a text without tokens and addresses.
func (s *secrecy) hide(text string) string {
	text = addresses.ReplaceAllString(string(protocol.HideTokens([]byte(text))), hidden)
	for host := range s.hosts {
		text = strings.ReplaceAll(text, host, hidden)
	}
	return text
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
