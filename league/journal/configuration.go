package journal

import (
	"errors"
	"fmt"

	"evenodd/league/protocol"
)

// A Configuration is what the operator has set and the other members of Created do not
// have. It contains no secrets. Times are in seconds.
type Configuration struct {
	Timeouts     protocol.Timeouts    `json:"timeouts"`
	RetryPolicy  protocol.RetryPolicy `json:"retry_policy"`
	LongestMatch float64              `json:"longest_match_sec,omitzero"` // 0: computed from the timeouts
	// RepliesByMeaning or protocol.RepliesStrict
	Replies string `json:"replies"`
	// SignaturesOptional or SignaturesRequired; "" for a league that does not sign
	Signatures string `json:"signatures,omitzero"`
	// the lowest grade of a recorded result: GradeStated or GradeRecomputed
	Evidence string `json:"evidence,omitzero"`
	// protocol.MembersPlain, or "" for messages with the members that this program adds
	Members            string  `json:"members,omitzero"`
	Broadcast          string  `json:"broadcast"` // BroadcastRound or BroadcastMatch
	AnnounceLead       float64 `json:"announce_lead_sec"`
	Pace               float64 `json:"pace_sec"`
	RegistrationWindow float64 `json:"registration_window_sec"`
	RegistrationUntil  string  `json:"registration_until,omitzero"` // RFC 3339; "" for no end
	StartAt            string  `json:"start_at,omitzero"`           // RFC 3339; "" for no time
	Participants       `json:"participants"`
	Roster             *Roster  `json:"roster,omitzero"` // nil if any agent may register
	UniqueDisplayNames bool     `json:"unique_display_names"`
	AllowedEndpoints   []string `json:"allowed_endpoints,omitzero"` // networks of agents; nil in a simulation
	TokenTTL           float64  `json:"token_ttl_sec"`              // 0: as long as the league
	Limits             Limits   `json:"limits"`
}

// Participants are the numbers of agents with which a league starts, and that it admits.
type Participants struct {
	Players     int `json:"players"` // 0: the league starts by start_league
	MinPlayers  int `json:"min_players"`
	MaxPlayers  int `json:"max_players"`
	Referees    int `json:"referees"`
	MaxReferees int `json:"max_referees"`
}

// Roster is the number of agents that the roster of a league lists.
type Roster = protocol.RosterSize

// Limits bound the queries of one agent: a burst, then a rate.
type Limits struct {
	RequestsPerSecond int `json:"requests_per_sec"`
	Burst             int `json:"burst"`
}

// Values of members of Configuration.
const (
	RepliesByMeaning = "by_meaning"

	SignaturesOptional = "optional" // agents without keys take part
	SignaturesRequired = "required"

	BroadcastRound = "round" // the standings after every round
	BroadcastMatch = "match" // after every match as well
)

// Configured records that a resumed league has another configuration than before.
type Configured struct {
	Configuration *Configuration `json:"configuration"`
}

func (d *Configured) apply(s *State, _ string) error {
	switch known := s.Configuration; {
	case d.Configuration == nil:
		return errors.New("a configuration changes, but the event has none")
	case d.Configuration.Signatures != known.Signatures:
		return errors.New("a league keeps its rule for signatures")
	case d.Configuration.Evidence != known.Evidence:
		return errors.New("a league keeps its rule for evidence")
	case d.Configuration.Members != known.Members:
		return errors.New("a league keeps its rule for members")
	case s.Started != nil && known.Roster == nil && d.Configuration.Roster != nil:
		return errors.New("a league that has started without a roster gets none")
	case s.Completed != nil:
		return errors.New("the configuration changes after the end of the league")
	}
	s.Configuration = d.Configuration
	return nil
}

// Plain tells whether messages have the members of chapter 4 of the specification alone, from the start of the
// league on: see protocol.Plain.
func (c *Configuration) Plain() bool { return c.Members == protocol.MembersPlain }

// CheckMembers returns an error for a rule that messages with the members of chapter 4 alone cannot keep.
func (c *Configuration) CheckMembers() error {
	var rule, why string
	switch {
	case !c.Plain():
		return nil
	case c.Signatures == SignaturesRequired:
		rule, why = "signatures: required", "chapter 4 has no signatures"
	case c.Evidence == GradeRecomputed:
		rule, why = "evidence: recomputed", "chapter 4 has no draw that anybody can recompute"
	case c.Replies == protocol.RepliesStrict:
		rule, why = "replies: strict", "a strict referee demands what the plain question does not ask for"
	default:
		return nil
	}
	return fmt.Errorf("members: plain and %s exclude each other, because %s: remove one of them from the league's file",
		rule, why)
}
