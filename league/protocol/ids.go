package protocol

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/words"
)

// Sender names of the protocol (spec 003 §2.4.4).
const (
	ManagerSender = "league_manager"
	refereePrefix = "referee:"
	playerPrefix  = "player:"

	senderLimit = 120 // characters

	nameless = "unknown" // the id of a sender that the old dialect leaves out
)

// The roles of agents in registrations and answers to a ping.
const (
	RolePlayer  = "player"
	RoleReferee = "referee"
	RoleManager = "league_manager"
)

// NamelessSender tells whether a request came without a sender.
func (e *Envelope) NamelessSender() bool { return AgentOf(e.Sender) == nameless }

// PlayerSender is the sender name of a player id.
func PlayerSender(id string) string { return playerPrefix + id }

// RefereeSender is the sender name of a referee id.
func RefereeSender(id string) string { return refereePrefix + id }

// AgentOf is the id in a sender: P01 of player:P01; the sender itself when it
// has no type.
func AgentOf(sender string) string {
	if _, id, ok := strings.Cut(sender, ":"); ok {
		return id
	}
	return sender
}

// ValidSender accepts league_manager, referee:ID and player:ID.
func ValidSender(s string) bool {
	kind, id, _ := strings.Cut(s, ":")
	return s == ManagerSender || id != "" && (kind == RolePlayer || kind == RoleReferee)
}

// ConversationOf is MatchConversation for an attempt.
func ConversationOf(a league.Attempt) string { return MatchConversation(a.MatchID.String(), a.Number) }

// MatchConversation is the conversation id in all messages of one attempt at a
// match: conv-r1m1-a1. The match id may be one of a third-party manager.
func MatchConversation(matchID string, attempt int) string {
	var buffer [64]byte
	return string(strconv.AppendInt(appendConversation(buffer[:0], matchID), int64(attempt), 10))
}

// appendConversation appends the conversation id of a match up to the number of the attempt.
func appendConversation(b []byte, matchID string) []byte {
	b = append(b, "conv-"...)
	for i := range len(matchID) {
		c := matchID[i]
		if c >= utf8.RuneSelf { // only in one of a third-party manager
			b = append(b[:len(b)-i], strings.ToLower(matchID)...)
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return append(b, "-a"...)
}

// ConversationAttempt returns the attempt in the conversation id of a match; 0 for an id in another form than that of
// MatchConversation. A third-party id may look similar, so the whole id must match.
func ConversationAttempt(matchID, conversation string) int {
	var buffer [64]byte
	begin := appendConversation(buffer[:0], matchID)
	if len(conversation) < len(begin) || conversation[:len(begin)] != string(begin) {
		return 0
	}
	number := conversation[len(begin):]
	if n, err := strconv.Atoi(number); err == nil && n > 0 && number == strconv.Itoa(n) {
		return n
	}
	return 0
}

// ValidLeagueID tells whether id can name a league: 1 to 64 letters, digits,
// dots, dashes and underscores, not starting with a dot or a dash, because it
// also names files.
func ValidLeagueID(id string) bool { return leagueID().MatchString(id) }

var leagueID = words.Pattern(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)

// A registration code has no character that JSON or CSV quotes: no double quote (22), comma (2c) and backslash (5c).
var registrationCode = words.Pattern(`^[!\x23-\x2b\x2d-\x5b\x5d-~]{8,128}$`)

// CheckRegistrationCode returns the rule that a registration code breaks. It does not name
// the code, which is secret.
func CheckRegistrationCode(code string) error {
	if !registrationCode().MatchString(code) {
		return errors.New(
			`a registration code has 8 to 128 ASCII characters without spaces, commas, double quotes and backslashes`)
	}
	return nil
}

// CanonicalURL returns the same text for all URLs of an endpoint: scheme and host in lower
// case, localhost for a loopback address, an explicit port, no slash at the end, and
// neither query nor fragment. It returns a text that is not a URL unchanged, and so an endpoint on NATS.
func CanonicalURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == NATS {
		return text
	}
	host, port, _ := net.SplitHostPort(HostPort(u)) // just joined
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().IsLoopback() {
		host = "localhost"
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(host), port) +
		strings.TrimSuffix(u.Path, "/")
}

// SameEndpoint tells whether two URLs have the same endpoint.
func SameEndpoint(a, b string) bool { return CanonicalURL(a) == CanonicalURL(b) }

// HostPort returns the host and port of a URL for a connection.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if strings.EqualFold(u.Scheme, "https") {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

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

// UsualID returns the id for an agent's port, because third-party programs know agents from static files: P01
// listens on port 8101, REF01 on 8001. It returns "" for other ports.
func UsualID(role, endpoint string) string {
	base, id := 8100, league.PlayerID
	if role == RoleReferee {
		base, id = 8000, league.RefereeID
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	port, _ := strconv.Atoi(u.Port()) // 0 for none
	if n := port - base; n >= 1 && n <= 99 {
		return id(n)
	}
	return ""
}
