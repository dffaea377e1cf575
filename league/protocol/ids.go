package protocol

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Sender names of the protocol (spec 003 §2.4.4).
const (
	ManagerSender = "league_manager"
	refereePrefix = "referee:"
	playerPrefix  = "player:"

	playerLetters  = "P"
	refereeLetters = "REF"

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

// PlayerID formats the n-th player's identifier: P01 … P99, P100 ….
func PlayerID(n int) string { return fmt.Sprintf("P%02d", n) }

// RefereeID formats the n-th referee's identifier: REF01 … REF99, REF100 ….
func RefereeID(n int) string { return fmt.Sprintf("REF%02d", n) }

// ParsePlayerID is the number of a well-formed player id, from 1.
func ParsePlayerID(id string) (int, bool) { return numbered(id, playerLetters) }

// ParseRefereeID is the number of a well-formed referee id, from 1.
func ParseRefereeID(id string) (int, bool) { return numbered(id, refereeLetters) }

// numbered accepts two digits, or more without leading zeros.
func numbered(id, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(id, prefix)
	if !ok || len(digits) < 2 || len(digits) > 6 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	if n == 0 || len(digits) > 2 && digits[0] == '0' {
		return 0, false
	}
	return n, true
}

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

// validSender accepts league_manager, referee:ID and player:ID.
func validSender(s string) bool {
	if s == ManagerSender {
		return true
	}
	if s == "" || !short(s, senderLimit) {
		return false
	}
	return strings.HasPrefix(s, playerPrefix) && len(s) > len(playerPrefix) ||
		strings.HasPrefix(s, refereePrefix) && len(s) > len(refereePrefix)
}

// A MatchID identifies a match by its round and its number in that round, both
// from 1. The zero MatchID identifies no match. As text it is R1M1 (002 §4.1.2).
type MatchID struct{ Round, Number int }

// String returns the id as messages contain it.
func (id MatchID) String() string {
	text, _ := id.AppendText(make([]byte, 0, 16))
	return string(text)
}

// AppendText appends the id as messages contain it. It never fails.
func (id MatchID) AppendText(text []byte) ([]byte, error) {
	text = strconv.AppendInt(append(text, 'R'), int64(id.Round), 10)
	return strconv.AppendInt(append(text, 'M'), int64(id.Number), 10), nil
}

// MarshalText implements encoding.TextMarshaler. It never fails.
func (id MatchID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText accepts only text that MarshalText returns for a valid id.
func (id *MatchID) UnmarshalText(text []byte) error {
	parsed, ok := ParseMatchID(string(text))
	if !ok {
		return fmt.Errorf("%.40q is not a match id such as R1M1", text)
	}
	*id = parsed
	return nil
}

// ParseMatchID is the reverse of MatchID.String for ids with a round and number
// of at least 1. For all other text it returns the zero MatchID and false.
func ParseMatchID(text string) (MatchID, bool) {
	rest, ok := strings.CutPrefix(text, "R")
	if !ok || len(text) > 20 {
		return MatchID{}, false
	}
	round, number, ok := strings.Cut(rest, "M")
	if !ok {
		return MatchID{}, false
	}
	r, okR := counting(round)
	n, okN := counting(number)
	if !okR || !okN {
		return MatchID{}, false
	}
	return MatchID{r, n}, true
}

// Compare orders match ids by round, then by number.
func (id MatchID) Compare(other MatchID) int {
	return cmp.Or(cmp.Compare(id.Round, other.Round), cmp.Compare(id.Number, other.Number))
}

// An Attempt identifies one attempt at a match. Numbers count from 1.
type Attempt struct {
	MatchID MatchID `json:"match_id"`
	Number  int     `json:"attempt"`
}

// Conversation is MatchConversation for the attempt.
func (a Attempt) Conversation() string { return MatchConversation(a.MatchID.String(), a.Number) }

func counting(s string) (int, bool) {
	if s == "" || len(s) > 9 || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// MatchConversation is the conversation id in all messages of one attempt at a
// match: conv-r1m1-a1. The match id may be one of a third-party manager.
func MatchConversation(matchID string, attempt int) string {
	return string(appendConversation(make([]byte, 0, 32), matchID, attempt))
}

// IsMatchConversation compares an id with MatchConversation.
func IsMatchConversation(id, matchID string, attempt int) bool {
	return string(appendConversation(make([]byte, 0, 32), matchID, attempt)) == id
}

func appendConversation(id []byte, matchID string, attempt int) []byte {
	id = append(id, "conv-"...)
	for _, c := range []byte(matchID) {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		id = append(id, c)
	}
	id = append(id, "-a"...)
	return strconv.AppendInt(id, int64(attempt), 10)
}

// ValidLeagueID tells whether id can name a league: 1 to 64 letters, digits,
// dots, dashes and underscores, not starting with a dot or a dash, because it
// also names files.
func ValidLeagueID(id string) bool {
	if id == "" || len(id) > 64 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for _, c := range []byte(id) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

// CompareIDs orders identifiers: players by number (P99 before P100), then
// referees by number, then whatever is not well formed, as text.
func CompareIDs(a, b string) int {
	for _, prefix := range []string{playerLetters, refereeLetters} {
		x, okA := numbered(a, prefix)
		y, okB := numbered(b, prefix)
		switch {
		case okA && okB:
			return x - y
		case okA:
			return -1
		case okB:
			return 1
		}
	}
	return strings.Compare(a, b)
}
