package cmd

import (
	"bytes"
	"cmp"
	"context"
	crand "crypto/rand"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// An upMember is a process of the league, or a player that runs elsewhere. The group's lock
// guards its changing members.
type upMember struct {
	group      *upGroup
	name, role string
	args       []string // without those that follow from the manager
	dir        string   // "" for that of this process
	env        []string
	elsewhere  string // the URL of a player that runs elsewhere; "" for a process

	state    supervise.State
	stopping bool   // the process is told to stop
	port     string // on which it listened last; "" before
	ready    bool   // it has listened once
	heard    bool   // this run has listened
	last     string // the last line of its log
	problem  string // its last error
	output   strings.Builder
}

// The lines by which a process tells that it listens. The log names the endpoint of an agent.
var (
	leagueLine    = words.Pattern(`^League \S+ at (https?://\S+:(\d+)/\S*) `)
	listeningLine = words.Pattern(`"endpoint":"(?:https?://[^"]*:(\d+)/|nats://)[^"]*".*"event_type":"` +
		"LISTENING" + `"`)
	usageLine = words.Pattern(`^Try 'evenodd .*--help'\.$`)
)

// addMembers adds the manager, the referees and the players of a league.
func (g *upGroup) addMembers(entrants []config.Entrant) error {
	env := withoutKeys(os.Environ(), entrants)
	member := func(role, name string, flags ...string) *upMember {
		args := []string{role, "--data=" + g.data, "--log-level=info"}
		files := flagsWithValue([2]string{"config", g.settings}, [2]string{"tls-ca", g.ca})
		return &upMember{group: g, name: name, role: role, env: env, args: slices.Concat(args, files, flags, g.passed[role])}
	}
	for i := range g.Referees {
		name := fmt.Sprintf("Referee-%d", i+1)
		flags := []string{"--name=" + name, "--id=" + league.RefereeID(i+1)}
		if len(g.shares) > i && g.shares[i] > 0 {
			flags = append(flags, "--max-concurrent="+strconv.Itoa(g.shares[i]))
		}
		g.agents = append(g.agents, member(protocol.RoleReferee, name, flags...))
	}
	for i := range entrants {
		e := &entrants[i]
		m := member(protocol.RolePlayer, e.Name, append(entrantFlags(e), "--name="+e.Name, "--id="+league.PlayerID(i+1))...)
		switch {
		case e.Kind == config.KindURL:
			m.elsewhere = e.Value
		case e.Kind == config.KindExec || e.MCP.Command != "":
			m.dir = e.Folder
		case e.LLM.Key() != "":
			m.env = append(slices.Clone(env), llmKeyVariable+"="+e.LLM.Key())
		}
		g.agents = append(g.agents, m)
	}
	g.manager = member("manager", "manager", append(g.start(len(entrants)), "--host="+g.address.host,
		"--exit-when-done="+strconv.FormatBool(!g.stays()))...)
	g.manager.port = g.address.ports.String()
	if g.admission.roster == "" {
		g.manager.args = append(g.manager.args, "--referees="+strconv.Itoa(g.Referees))
		return nil
	}
	text, err := g.admit()
	g.roster = text
	return err
}

// admit gives each agent that this command starts its code in the roster, and returns a roster for the manager that
// also has those that the file lacks, such as all referees: only agents with a code take part.
func (g *upGroup) admit() (text []byte, err error) {
	listed, err := readRoster(g.admission.roster)
	if err != nil {
		return nil, err
	}
	for _, m := range g.agents {
		name := norm.NFC.String(m.name)
		i := slices.IndexFunc(listed, func(e config.RosterEntry) bool { return e.Role == m.role && e.Name == name })
		switch {
		case i < 0 && m.elsewhere != "":
			return nil, usage("%s runs elsewhere: add its name with a code to --roster %s", m.name, g.admission.roster)
		case i < 0:
			i = len(listed)
			listed = append(listed, config.RosterEntry{Role: m.role, Name: name, Code: crand.Text()})
		}
		m.env = append(slices.Clone(m.env), "EVENODD_REGISTRATION_CODE="+listed[i].Code)
	}
	var written bytes.Buffer
	rows := csvRows("name code role", listed, func(e config.RosterEntry) []any { return []any{e.Name, e.Code, e.Role} })
	err = writeCSV(&written, rows, words.Escape)
	return written.Bytes(), err
}

// withoutKeys returns an environment without the keys of language models: each key is only
// for the process of its player.
func withoutKeys(environ []string, entrants []config.Entrant) []string {
	secret := lists.Map(entrants, func(e config.Entrant) string { return e.LLM.KeyEnv })
	secret = append(secret, llmKeyVariable, openAIKeyVariable)
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(secret, name)
	})
}

// entrantFlags returns the flags of a player that follow from its entry.
func entrantFlags(e *config.Entrant) []string {
	return flagsWithValue([][2]string{
		{"strategy", e.Strategy()}, {"llm-url", e.LLM.URL}, {"llm-model", e.LLM.Model}, {"llm-prompt", e.LLM.PromptFile},
		{"mcp-command", e.MCP.Command}, {"mcp-url", e.MCP.URL}, {"mcp-tool", e.MCP.Tool},
	}...)
}

// flagsWithValue returns those of the flags, pairs of a name and a value, whose value is not "", as arguments.
func flagsWithValue(flags ...[2]string) (args []string) {
	for _, flag := range flags {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	return args
}

// run runs the process until it needs no restart.
func (m *upMember) run(ctx context.Context) supervise.State {
	task := supervise.Task{Process: m.runOnce, Final: m.final, Changed: m.changed, Policy: upPolicy()}
	return task.Run(ctx)
}

// why is the reason of the last end of the process.
func (m *upMember) why() string { return cmp.Or(m.problem, m.state.Exit.Text) }

// runOnce runs the process until it ends. A restarted process listens on the same port, if it had one.
func (m *upMember) runOnce(ctx context.Context) supervise.Exit {
	g := m.group
	g.mu.Lock()
	if !m.heard && m.role != "manager" {
		m.port = "" // maybe the port was the problem
	}
	args := append(slices.Clone(m.args), "--port="+cmp.Or(m.port, "0"))
	if m.role == "manager" && m.ready { // the old league has been archived
		args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--new-league") })
	} else if m.role != "manager" {
		args = append(args, "--league-id="+g.LeagueID)
		if !g.nats.on() {
			args = append(args, "--host="+g.agentHost(ctx), "--manager="+g.localURL())
		}
	}
	m.heard, m.problem = false, ""
	m.output.Reset()
	g.mu.Unlock()
	command := supervise.Command{Path: g.program, Args: args, Dir: m.dir, Env: m.env, Output: m.printed, Errors: m.logged,
		Started:  func(pid int) { g.detail("%s runs with process id %d", m.called(), pid) },
		Stopping: m.stop, Patience: upPatience}
	return command.Run(ctx)
}

// agentHost is the address on which agents listen: that of the manager, or if it listens on all, one that other
// computers reach.
func (g *upGroup) agentHost(ctx context.Context) string {
	if host := g.address.host; host != "" && !net.ParseIP(host).IsUnspecified() {
		return host
	}
	return ownAddresses(ctx)[0].String()
}

// localURL is the URL of the manager on this machine.
func (g *upGroup) localURL() string {
	return cmp.Or(store.Folder(g.data).ManagerURL(g.LeagueID), g.url)
}

// called is the name of the process for people.
func (m *upMember) called() string {
	if m.name == m.role {
		return m.name
	}
	return fmt.Sprintf("%s (%s)", m.name, m.role)
}

// stop notes that the process is told to stop.
func (m *upMember) stop() {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	m.stopping = true
}

// final tells whether the process is done, or would fail again: its command line is wrong, or
// it never listened.
func (m *upMember) final(e supervise.Exit) bool {
	m.group.mu.Lock()
	defer m.group.mu.Unlock()
	switch e.Code {
	case exitDone:
		return true
	case exitLosses:
		return m.role == "manager"
	case exitUsage: // also the exit code of a panic
		return usageLine().MatchString(m.last)
	case exitFailed:
		return !m.ready
	}
	return false
}

// succeeded tells whether a final state is that of a process that has done its work.
func (m *upMember) succeeded(s supervise.State) bool {
	return s.Phase == supervise.PhaseEnded && (s.Exit.Code == exitDone || s.Exit.Code == exitLosses)
}

// logged handles a line of standard error.
func (m *upMember) logged(line string) {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	m.last = line
	if text, ok := strings.CutPrefix(line, "evenodd: "); ok {
		m.problem = text
	}
	if found := listeningLine().FindStringSubmatch(line); found != nil && m.role != "manager" {
		m.port, m.ready, m.heard = found[1], true, true
	}
	if found := leagueLine().FindStringSubmatch(line); found != nil && m.role == "manager" {
		m.ready, m.heard, g.wasOver = true, true, strings.Contains(line, " is over already: ")
		if g.url == "" {
			g.url, m.port = found[1], found[2]
			close(g.listens)
		}
	}
	url, isPage := strings.CutPrefix(line, watchPage)
	switch {
	case g.brief && strings.HasPrefix(line, "{"):
	case g.shows && (m.role != "manager" || g.known || m.problem != ""):
	case isPage || g.shows:
		g.note("%s", line)
	case !m.stopping || !strings.HasPrefix(m.problem, "interrupted. "): // how to resume is for a single agent
		g.note("%s | %s", m.name, line)
	}
	if isPage && g.shows && !g.known && !loopback(g.address.host) {
		printCode(g.err, url)
	}
	g.known = g.known || line == tokenHint
}

// printed handles a line of standard output. That of the manager is the final table.
func (m *upMember) printed(line string) {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.role == "manager" {
		m.output.WriteString(line + "\n")
		return
	}
	m.last = line
	g.detail("%s | %s", m.name, line)
}

// changed shows a new state.
func (m *upMember) changed(s supervise.State) {
	g := m.group
	g.mu.Lock()
	defer g.mu.Unlock()
	m.state = s
	ended, cause := m.called()+" has ended", s.Exit.Text
	if g.shows {
		cause = m.why() // the lines before are only in the log
	}
	switch {
	case s.Phase == supervise.PhaseStopped:
		g.detail("%s is stopped", m.called())
	case s.Phase == supervise.PhasePausing:
		g.note("%s: %s; it starts again in %s", ended, cause, s.Pause.Round(time.Millisecond))
	case s.Phase == supervise.PhaseFailed:
		g.note("%s: %s; it is not started again, because it ended %d times in a minute", ended, cause, upPolicy().Most+1)
	case m.succeeded(s):
		g.detail("%s", ended)
	default:
		g.note("%s: %s; it is not started again, because the same would happen", ended, cause)
	}
}
