package cmd

import (
	"bytes"
	crand "crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy/person"
)

// An upPlan is what the parent of evenodd up gives to each of its children, as JSON.
type upPlan struct {
	LeagueID string

	Agents  []*upAgent // the manager is the first one
	Resumed bool       // the manager has listened in a child before
	Over    bool       // the league was over before evenodd up began
	Shows   bool       // a terminal shows the league
	Brief   bool       // lines of logs are only in the files
	Silent  bool       // of evenodd play: nor does a terminal show what the manager says, and agents stop at once
}

// An upAgent is an agent of the league of evenodd up, or an external player.
type upAgent struct {
	Role, Name string
	Args       []string        // its flags, without those that follow from the manager
	Entrant    *config.Entrant // of a player
	Key        string          // of the player's language model; "" for none
	Code       string          // in the roster; "" for none
	Port       string          // of a manager the flag --port; of another agent the port on which it listened, "" for none

	person *person.Person // the strategy of a person; nil for another one, and in another process

	// of the child, whose lock guards what changes
	child *upChild
	index int // in the plan
	state supervise.State
	ready bool         // it has listened once
	heard bool         // the last run has listened; true before the first one
	final bool         // the last end would come again
	table bytes.Buffer // of a manager, what it has printed
}

// An upReport is what the child tells the parent, a value of JSON.
type upReport struct {
	Text    string // a line for people
	Page    string // URL of the page; a terminal shows it as a code, too
	Manager string // URL for agents on other computers; with Page
	Opened  bool   // the manager listens
	Over    bool   // the league was over before evenodd up began; with the first Opened
	Agent   int    // in the plan; with Port
	Port    string // on which the agent listens
	End     *upEnd // the last report
}

// An upEnd is how the league of a child has ended.
type upEnd struct {
	Code    int      // exit code of evenodd up
	Problem []string // the lines of the error; nil for none
	Table   string   // the final table; "" for none
}

// plan returns the agents of a league, and the roster for its manager; nil for none.
func (o *upOptions) plan(entrants []config.Entrant) (agents []*upAgent, roster []byte, err error) {
	agent := func(role, name string, flags ...string) *upAgent {
		args := []string{"--data=" + o.data}
		if o.ca != "" {
			args = append(args, "--tls-ca="+o.ca)
		}
		if role != "manager" && o.program != "" {
			args = append(args, "--game="+o.program)
		}
		return &upAgent{Role: role, Name: name, Args: slices.Concat(args, flags, o.passed[role])}
	}
	manager := agent("manager", "manager", append(o.start(len(entrants)), "--host="+o.address.host,
		"--exit-when-done="+strconv.FormatBool(!o.stays()))...)
	manager.Port = o.address.ports.String()
	agents = append(agents, manager)
	for i := range o.Referees {
		name := fmt.Sprintf("Referee-%d", i+1)
		flags := []string{"--name=" + name, "--id=" + league.RefereeID(i+1)}
		if len(o.shares) > i && o.shares[i] > 0 {
			flags = append(flags, "--max-concurrent="+strconv.Itoa(o.shares[i]))
		}
		agents = append(agents, agent(protocol.RoleReferee, name, flags...))
	}
	for i := range entrants {
		e := &entrants[i]
		player := agent(protocol.RolePlayer, e.Name, "--name="+e.Name, "--id="+league.PlayerID(i+1))
		player.Entrant, player.Key = e, e.LLM.Key()
		agents = append(agents, player)
	}
	if o.admission.roster == "" {
		manager.Args = append(manager.Args, "--referees="+strconv.Itoa(o.Referees))
		return agents, nil, nil
	}
	roster, err = o.admit(agents[1:])
	return agents, roster, err
}

// externalURL is the URL of an external player; "" for an agent of the child.
func (a *upAgent) externalURL() string {
	if a.Entrant != nil && a.Entrant.Kind == config.KindURL {
		return a.Entrant.Value
	}
	return ""
}

// admit gives each agent that this command starts its code in the roster, and returns a roster for the manager that
// also has those that the file lacks, such as all referees: only agents with a code take part.
func (o *upOptions) admit(agents []*upAgent) (text []byte, err error) {
	listed, err := readRoster(o.admission.roster)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		name := norm.NFC.String(a.Name)
		i := slices.IndexFunc(listed, func(e config.RosterEntry) bool { return e.Role == a.Role && e.Name == name })
		switch {
		case i < 0 && a.externalURL() != "":
			return nil, usage("%s runs elsewhere: add its name with a code to --roster %s", a.Name, o.admission.roster)
		case i < 0:
			i = len(listed)
			listed = append(listed, config.RosterEntry{Role: a.Role, Name: name, Code: crand.Text()})
		}
		a.Code = listed[i].Code
	}
	var written bytes.Buffer
	rows := csvRows("name code role", slices.Values(listed), func(e config.RosterEntry) []any {
		return []any{e.Name, e.Code, e.Role}
	})
	err = writeCSV(&written, rows, words.Escape)
	return written.Bytes(), err
}

// withoutKeys returns an environment without the keys of language models: each key is only
// for its player.
func withoutKeys(environ []string, agents []*upAgent) []string {
	secret := []string{llmKeyVariable, openAIKeyVariable}
	for _, a := range agents {
		if a.Entrant != nil {
			secret = append(secret, a.Entrant.LLM.KeyEnv)
		}
	}
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(secret, name)
	})
}
