// Package dialect translates between the forms of messages that third-party
// agents use and the forms of the specification. It is pure: it takes and returns
// values, and has no clock, goroutine, lock, network or log. Package bridge has
// them, and remembers what it learns about other agents. docs/third-party.md
// lists the forms, with an agent that uses each of them.
package dialect

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// A Method is a method of the protocol that has messages. The tools are not Methods.
type Method struct {
	protocol.MethodRow
	traits
}

// The traits of a method.
type traits struct {
	Registers  bool   // it registers an agent
	Notice     bool   // the caller does not depend on the answer
	InMatch    bool   // a referee sends it to a player
	Deferrable bool   // an agent may post the answer later
	Essential  string // the member without which a reply does not answer the call; "" for none
	nested     string // the member that an edition of the exercise adds to the message; "" for none
	// further names as a tool of an MCP server
	toolAliases []string
}

var traitsOf = map[string]traits{
	protocol.RegisterPlayer.Name:  {Registers: true, Essential: "status"},
	protocol.RegisterReferee.Name: {Registers: true, Essential: "status"},
	protocol.Invite.Name:          {InMatch: true, Deferrable: true, Essential: "accept", nested: "game_invitation"},
	protocol.ChooseParity.Name: {
		InMatch: true, Deferrable: true, Essential: "parity_choice", nested: "parity_context",
		toolAliases: []string{"parity_choice"},
	},
	protocol.MakeMove.Name:              {InMatch: true, Deferrable: true, Essential: "move_data"},
	protocol.NotifyMatchResult.Name:     {InMatch: true, Notice: true, nested: "league_id"},
	protocol.NotifyGameError.Name:       {InMatch: true, Notice: true},
	protocol.NotifyRound.Name:           {Notice: true},
	protocol.UpdateStandings.Name:       {Notice: true},
	protocol.NotifyRoundCompleted.Name:  {Notice: true},
	protocol.NotifyLeagueCompleted.Name: {Notice: true},
}

// The Methods, and the names of the tools for debugging and control.
var methods, tools = func() (all []Method, tools map[string]bool) {
	tools = map[string]bool{ // first the steps of agents, which are tools in the documents (003 §5.4.1, §5.5.1)
		"register_to_league": true, "collect_choices": true, "draw_number": true, "finalize_match": true,
		"create_schedule": true,
	}
	for _, row := range protocol.Methods() {
		if row.Request == "" {
			tools[row.Name] = true
			continue
		}
		all = append(all, Method{row, traitsOf[row.Name]})
	}
	return all, tools
}()

// Methods in three indexes: by the name in the specification, by message type, and by
// each name in lower case. The message type is a name, too.
var byName, byType, byAnyName = func() (name, messageType, anyName map[string]*Method) {
	name, messageType, anyName = map[string]*Method{}, map[string]*Method{}, map[string]*Method{}
	for i := range methods {
		m := &methods[i]
		name[m.Name], messageType[m.Request] = m, m
		for _, n := range m.names() {
			anyName[strings.ToLower(n)] = m
		}
	}
	return name, messageType, anyName
}()

// MethodOf returns the method with a name in the specification; nil for a tool and for
// any other name.
func MethodOf(name string) *Method { return byName[name] }

// names are the names of the method, likeliest first. No agent calls an assignment by
// its message type in capitals, so the types are last there.
func (m *Method) names() []string {
	others, types := slices.Concat(m.ThirdParty, m.Aliases), m.typeNames()[1:]
	if m.Name == protocol.StartMatch.Name {
		return slices.Concat([]string{m.Name}, others, types)
	}
	return slices.Concat([]string{m.Name}, types, others)
}

// typeNames are the names of the method without aliases: its name in the specification,
// and the message type in capitals and in lower case.
func (m *Method) typeNames() []string {
	names := []string{m.Name, m.Request}
	if lower := strings.ToLower(m.Request); lower != m.Name {
		names = append(names, lower)
	}
	return names
}

// toolNames are the names of the method as a tool of MCP.
func (m *Method) toolNames() []string { return append([]string{m.Name}, m.ThirdParty...) }

// inMatch tells whether a referee sends a message of this type to a player.
func inMatch(messageType string) bool {
	m := byType[messageType]
	return m != nil && m.InMatch
}
