// Package external contains the strategies that decide outside this process: a program of
// the user in any language (a bot), and a language model. They receive the same view as
// a built-in strategy, and must answer before the referee's deadline. The package must
// not depend on the player, and takes programs and URLs only from the user's settings.
package external

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/program"
	"evenodd/league/words"
	"evenodd/player/strategy"
	"evenodd/player/strategy/person"
	"evenodd/rules"
)

// Tools configure external strategies.
type Tools struct {
	// Timeout limits the time of a decision; 0 means 5 s for a program, 20 s for a
	// model and 60 s for an MCP host. The referee's deadline may shorten it.
	Timeout time.Duration
	LLM     LLM
	MCP     MCP
	// Games are those that a model is told the rules and the board of.
	Games rules.Registry
	// Programs configures the programs of exec and of an MCP server with a command.
	Programs program.Programs
	// Hosted tells that an MCP server shows the questions of the strategy mcp-host, and a page those of person.
	Hosted   bool
	Player   string // display name of the player, for the strategy person
	Fallback string // strategy that chooses when an MCP host or server does not; "" means random
	Log      zerolog.Logger

	trial bool // no fallback strategy chooses
}

// Model is the strategy that calls a language model.
const Model = "llm"

// execPrefix begins the name of a strategy that is a program; the command line follows.
const execPrefix = "exec:"

// Runs tells whether a strategy is a program of the user.
func Runs(name string) bool { return strings.HasPrefix(name, execPrefix) }

// Computes tells whether a strategy decides with a program or a model of this computer, and so needs its processors.
func Computes(name string, t Tools) bool {
	switch {
	case Runs(name):
		return true
	case name == Model:
		return onThisComputer(t.LLM.URL)
	case name == Asked:
		return t.MCP.Command != "" || onThisComputer(t.MCP.URL)
	}
	return false
}

// onThisComputer tells whether a URL has a loopback address.
func onThisComputer(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip.Unmap().IsLoopback()
}

// Names lists the names of all strategies for an error or a help text; of those of a
// player with an MCP server, if hosted.
func Names(hosted bool) string {
	names := strings.Join(strategy.Names(), ", ") + ", llm, mcp"
	if hosted {
		names += ", " + HostName + ", " + person.Name
	}
	return names + ", exec:PROGRAM"
}

// Check returns an error for an unknown strategy, one with wrong settings, or one that
// plays none of the game types. It starts nothing. External strategies play any game.
func Check(name string, t Tools, types ...string) error {
	switch {
	case t.Timeout < 0:
		return fmt.Errorf("--bot-timeout %s: must be more than 0", t.Timeout)
	case Runs(name):
		_, _, err := t.Programs.Find("strategy "+execPrefix, strings.TrimPrefix(name, execPrefix))
		return cmp.Or(err, t.Programs.Check())
	case name == Model:
		return t.LLM.check()
	case name == Asked:
		_, err := newFallback(t)
		if t.MCP.Command != "" {
			err = cmp.Or(err, t.Programs.Check())
		}
		return cmp.Or(t.MCP.check(&t.Programs), err)
	case name == person.Name && !t.Hosted:
		return fmt.Errorf("strategy %s: only 'evenodd play' and 'evenodd player' have the page on which a person plays",
			person.Name)
	case name == person.Name:
		return nil
	case name == HostName && !t.Hosted:
		return fmt.Errorf("strategy %s: only 'evenodd player' has the MCP server that shows its questions", HostName)
	case name == HostName:
		_, err := newFallback(t)
		return err
	}
	s, err := strategy.New(name)
	if err != nil {
		return fmt.Errorf("unknown strategy %q%s; choose one of: %s", name,
			words.DidYouMean(name, append(strategy.Names(), Model, Asked, HostName, person.Name)), Names(t.Hosted))
	}
	return strategy.Fits(s, types...)
}

// Open returns the strategy of one player, and starts its program if it has one. The
// caller must call Close. The error is that of Check, or that of the start.
func Open(name string, t Tools, types ...string) (strategy.Strategy, error) {
	if err := Check(name, t, types...); err != nil {
		return nil, err
	}
	switch {
	case Runs(name):
		return newBot(name, t)
	case name == Model:
		return newModel(t)
	case name == Asked:
		return newAsker(t)
	case name == HostName:
		return newHost(t)
	case name == person.Name:
		return person.New(person.Options{Player: t.Player, Games: t.Games}), nil
	}
	return strategy.New(name)
}

// Close stops the program of a strategy and waits for its end. It does nothing for
// built-in strategies.
func Close(s strategy.Strategy) {
	if c, ok := s.(interface{ Close() }); ok {
		c.Close()
	}
}

// Totals returns the counts of a strategy; false for one of this process.
func Totals(s strategy.Strategy) (strategy.Totals, bool) {
	counted, ok := s.(interface{ Totals() strategy.Totals })
	if !ok {
		return strategy.Totals{}, false
	}
	return counted.Totals(), true
}

// Account summarizes the calls of an external strategy in a sentence; "" for others.
func Account(s strategy.Strategy) string {
	if a, ok := s.(interface{ Account() string }); ok {
		return a.Account()
	}
	return ""
}
