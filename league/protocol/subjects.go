package protocol

import (
	"slices"
	"strings"
)

// NATS is the scheme of endpoints on NATS servers. An agent answers at the subject evenodd.LEAGUE.agent.NAME, the
// manager at evenodd.LEAGUE.manager.NAME, where NAME is that of the caller: the servers let each user call it
// with its own name only.
const NATS = "nats"

// The names of the manager's users on a NATS server: the one that calls agents, and the one that writes the journal. No
// agent has them.
const (
	NATSManagerName = "manager"
	NATSJournalName = "journal"
)

// ValidSubjectToken tells whether a league id or a name can be a part of a subject: 1 to 64 letters, digits, dashes and
// underscores.
func ValidSubjectToken(s string) bool {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return s != "" && len(s) <= 64 && strings.Trim(s, allowed) == ""
}

// ValidNATSName tells whether an agent may have a name on a NATS server.
func ValidNATSName(s string) bool {
	return ValidSubjectToken(s) && !slices.Contains([]string{NATSManagerName, NATSJournalName}, s)
}

// AgentSubject is the subject of an agent; that of all agents of the league for *.
func AgentSubject(leagueID, name string) string { return "evenodd." + leagueID + ".agent." + name }

// ManagerSubject is the subject of the manager for one caller; for all of them for *.
func ManagerSubject(leagueID, caller string) string {
	return "evenodd." + leagueID + ".manager." + caller
}

// NATSEndpoint is the endpoint with a subject.
func NATSEndpoint(subject string) string { return NATS + "://" + subject }

// NATSNameOf is the name of the agent of a league at an endpoint; "" unless that has exactly this form. A subject of
// another form may be that of a journal, and a call to it would become a line of that.
func NATSNameOf(leagueID, endpoint string) string {
	name, found := strings.CutPrefix(endpoint, NATSEndpoint(AgentSubject(leagueID, "")))
	if !found || !ValidNATSName(name) {
		return ""
	}
	return name
}
