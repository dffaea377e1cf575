package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// SchemaVersion is that of the events written here.
const SchemaVersion = "1.0.0"

// Algorithm is the pairing method of new leagues.
const Algorithm = pairing.Circle

// AuthLenient is the auth of a league in which third-party agents need no token.
const AuthLenient = protocol.AuthLenient

// The roles of agents.
const (
	RolePlayer  = "player"
	RoleReferee = "referee"
)

// An Event is one line of the journal: something that happened to the league,
// after the event before it.
type Event struct {
	Seq  int    // from 1
	At   string // when the manager wrote it, RFC 3339 in UTC with milliseconds; nothing depends on it
	Prev string // Hash of the line before; Origin in the first
	Data Data
}

// Data is what an event says; one of the types of this package.
type Data interface{ kind() string }

// Created begins a journal: the rules of the league, which never change.
type Created struct {
	SchemaVersion string           `json:"schema_version"`
	LeagueID      string           `json:"league_id"`
	DisplayName   string           `json:"display_name,omitzero"`
	GameType      string           `json:"game_type"`
	Legs          int              `json:"legs"`
	Scoring       protocol.Scoring `json:"scoring"`
	Tiebreakers   []string         `json:"tiebreakers"`
	TokenLength   int              `json:"token_length,omitzero"`   // 0 for all of it
	SuspendAfter  int              `json:"suspend_after,omitzero"`  // failures in a row; 0 for DefaultSuspendAfter, below for never
	ShutdownAfter int              `json:"shutdown_after,omitzero"` // the same, with DefaultShutdownAfter
	Auth          string           `json:"auth,omitzero"`           // AuthLenient, or ""

	// RegistrationGrace is how many seconds a registered agent has to answer before
	// its registration may be dropped; 0 where agents are not pinged.
	RegistrationGrace int `json:"registration_grace_sec,omitzero"`

	Simulation *Simulation `json:"simulation,omitzero"`
}

// Simulation is what a simulated league derives from.
type Simulation struct {
	Seed       uint64   `json:"seed"`
	Players    int      `json:"players"`
	Referees   int      `json:"referees"`
	Strategies []string `json:"strategies"`
	Faults     string   `json:"faults,omitzero"`  // what goes wrong in it
	Outside    int      `json:"outside,omitzero"` // players that ran elsewhere: what they did derives from nothing
}

// AgentRegistered is a player or referee let into the league.
type AgentRegistered struct {
	AgentID      string `json:"agent_id"`
	Role         string `json:"role"`
	DisplayName  string `json:"display_name"`
	Endpoint     string `json:"endpoint"`
	Capacity     int    `json:"max_concurrent_matches,omitzero"` // of a referee
	Registration string `json:"registration"`                    // what knows the same registration again; no secret, and it gives none away
	Generation   int    `json:"generation"`                      // of its token, from 1
	RefereeAuth  string `json:"referee_auth,omitzero"`           // protocol.RefereeAuthNone for a referee that shows players no access tokens

	// Metadata from the registration; empty in simulations.
	Version         string   `json:"version,omitzero"`
	ProtocolVersion string   `json:"protocol_version,omitzero"`
	GameTypes       []string `json:"game_types,omitzero"`

	// AwaitsAnswer tells that the manager pings the agent's endpoint until it
	// answers. Journals without this member count the agent as one that answered.
	AwaitsAnswer bool `json:"awaits_answer,omitzero"`
}

// AgentAnswered records that something answers at the endpoint of an agent that
// awaits an answer. The league waits for it.
type AgentAnswered struct {
	AgentID string `json:"agent_id"`
}

// RegistrationDropped records that an agent which never answered has lost its
// registration before the start. Its id is never granted again.
type RegistrationDropped struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"` // DroppedSilent, DroppedAtStart, DroppedForbidden or DroppedManager
}

// The reasons for which a registration is dropped.
const (
	DroppedSilent    = "nothing answered at its endpoint within the grace period"
	DroppedAtStart   = "nothing had answered at its endpoint when the league started"
	DroppedForbidden = "its endpoint is at an address that this league does not call"
	DroppedManager   = "a league manager answers at its endpoint"
)

// AgentReturned is an agent that showed its token again: after a crash, or
// under another endpoint, or for a new token; or one that answers again. It ends
// a suspension.
type AgentReturned struct {
	AgentID    string `json:"agent_id"`
	Endpoint   string `json:"endpoint"`
	Generation int    `json:"generation"`
	Reason     string `json:"reason,omitzero"`
	// RefereeAuth is how a referee proves itself to players from now on; "" for as
	// before.
	RefereeAuth string `json:"referee_auth,omitzero"`
}

// AgentConfirmed is an agent that has used its token: from then on the answer
// that gave it away is given to nobody again.
type AgentConfirmed struct {
	AgentID    string `json:"agent_id"`
	Generation int    `json:"generation"`
}

// AgentSuspended is an agent that gets nothing to do until it returns.
type AgentSuspended struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"`
}

// AgentFailed is a referee that did not do what it was handed: it could not be
// reached for an attempt at a match, or was gone, or did not report. What it
// costs is decided when the round is over.
type AgentFailed struct {
	AgentID string `json:"agent_id"`
	protocol.Attempt
	Reason string `json:"reason"`
}

// AgentShutdown is an agent whose part in the league is over: it has failed too
// often, and cannot come back.
type AgentShutdown struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"`
}

// Started fixes who takes part, in order of ids. Who meets whom, and when,
// follows by the algorithm.
type Started struct {
	Algorithm string   `json:"algorithm"`
	Players   []string `json:"players"`
	Referees  []string `json:"referees"`
}

// RoundAnnounced opens a round. Referees are those of its matches, in order.
type RoundAnnounced struct {
	RoundID  int      `json:"round_id"`
	Referees []string `json:"referees"`
}

// MatchAssigned is written before a match is handed to a referee: an attempt is
// never used twice, whatever dies.
type MatchAssigned struct {
	protocol.Attempt
	RefereeID string `json:"referee_id"`
}

// MatchAccepted is the referee's word that it plays the match, and what binds
// it to its part in the draw.
type MatchAccepted struct {
	protocol.Attempt        // at the match that the referee plays: an earlier one, where it had begun that
	RefereeID        string `json:"referee_id"`
	DrawCommitment   string `json:"draw_commitment,omitzero"`
}

// MatchDeclined is the referee's word that it does not play the match it was
// handed; it may still take the same attempt later.
type MatchDeclined struct {
	protocol.Attempt
	RefereeID string `json:"referee_id"`
	Reason    string `json:"reason,omitzero"`
}

// MatchReported is the result of a match: the first that was accepted, and the
// only one.
type MatchReported struct {
	protocol.Attempt
	RefereeID string `json:"referee_id"`
	Outcome
	Score protocol.PerPlayer[int] `json:"score"` // by the league's scoring
	Draw  *protocol.Draw          `json:"draw,omitzero"`
}

// An Outcome is how a match ended. Winner, number and parity are null where
// there is none; a choice that was never made is null.
type Outcome = protocol.GameResult

// MatchForfeited is the result of a match that is not played, because players
// of it are suspended or shut down when its round begins: they lose it, and no
// referee hears of it.
type MatchForfeited struct {
	MatchID protocol.MatchID `json:"match_id"`
	Players []string         `json:"players"` // who forfeit, in the order of the match
	Outcome
	Score protocol.PerPlayer[int] `json:"score"` // by the league's scoring
}

// MatchDisputed is another result of a match that has one. It changes nothing.
type MatchDisputed struct {
	protocol.Attempt
	RefereeID string `json:"referee_id"`
	Outcome
}

// MatchDoubted records that a referee lost its attempt at a match by a rejected
// report: it contradicted itself, or it reported that two players failed that both
// answered a ping. Another referee gets the match. Without another referee Result is
// recorded as that of the attempt.
type MatchDoubted struct {
	protocol.Attempt
	RefereeID string   `json:"referee_id"`
	Reason    string   `json:"reason"`
	Result    *Outcome `json:"result,omitzero"` // what follows from the choices and the number of the report, else what it claims
}

// RoundCompleted closes a round: every match of it has a result.
type RoundCompleted struct {
	RoundID int                   `json:"round_id"`
	Summary protocol.RoundSummary `json:"summary"`
}

// LeagueCompleted makes the table final.
type LeagueCompleted struct {
	Champion protocol.Champion `json:"champion"`
}

// TailLost is a manager that found standings.json to know an event that the
// journal does not have any more, and went on from what it has.
type TailLost struct {
	Head string `json:"head"` // of the journal, as standings.json has it
}

// AgentInformed is an agent that knows that the league is over.
type AgentInformed struct {
	AgentID string `json:"agent_id"`
}

func (*Created) kind() string         { return "created" }
func (*AgentRegistered) kind() string { return "registered" }
func (*AgentAnswered) kind() string   { return "agent_answered" }
func (*RegistrationDropped) kind() string {
	return "registration_dropped"
}
func (*AgentReturned) kind() string   { return "agent_returned" }
func (*AgentConfirmed) kind() string  { return "agent_confirmed" }
func (*AgentSuspended) kind() string  { return "agent_suspended" }
func (*AgentFailed) kind() string     { return "agent_failed" }
func (*AgentShutdown) kind() string   { return "agent_shutdown" }
func (*Started) kind() string         { return "started" }
func (*RoundAnnounced) kind() string  { return "round_announced" }
func (*MatchAssigned) kind() string   { return "match_assigned" }
func (*MatchAccepted) kind() string   { return "match_accepted" }
func (*MatchDeclined) kind() string   { return "match_declined" }
func (*MatchReported) kind() string   { return "match_reported" }
func (*MatchForfeited) kind() string  { return "match_forfeited" }
func (*MatchDisputed) kind() string   { return "match_disputed" }
func (*MatchDoubted) kind() string    { return "match_doubted" }
func (*RoundCompleted) kind() string  { return "round_completed" }
func (*LeagueCompleted) kind() string { return "completed" }
func (*TailLost) kind() string        { return "tail_lost" }
func (*AgentInformed) kind() string   { return "agent_informed" }

// empty is a new event of each kind.
func empty(kind string) (Data, bool) {
	for _, d := range [...]Data{
		(*Created)(nil), (*AgentRegistered)(nil), (*AgentAnswered)(nil), (*RegistrationDropped)(nil), (*AgentReturned)(nil), (*AgentConfirmed)(nil), (*AgentSuspended)(nil), (*AgentFailed)(nil), (*AgentShutdown)(nil),
		(*Started)(nil), (*RoundAnnounced)(nil), (*MatchAssigned)(nil), (*MatchAccepted)(nil), (*MatchDeclined)(nil), (*MatchReported)(nil),
		(*MatchForfeited)(nil), (*MatchDisputed)(nil), (*MatchDoubted)(nil), (*RoundCompleted)(nil), (*LeagueCompleted)(nil), (*TailLost)(nil), (*AgentInformed)(nil),
	} {
		if d.kind() == kind {
			return reflect.New(reflect.TypeOf(d).Elem()).Interface().(Data), true
		}
	}
	return nil, false
}

// A line is how an event is written.
type line[D any] struct {
	Seq  int    `json:"seq"`
	At   string `json:"at"`
	Prev string `json:"prev"`
	Type string `json:"type"`
	Data D      `json:"data"`
}

// Encode is the line of an event, without the line feed.
func Encode(e *Event) ([]byte, error) {
	return json.Marshal(line[Data]{e.Seq, e.At, e.Prev, e.Data.kind(), e.Data}, json.Deterministic(true))
}

// Origin is the Prev of the first event.
const Origin = "0000000000000000000000000000000000000000000000000000000000000000"

// Hash is what the next event calls this line, which is given without its line
// feed: hex SHA-256.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Decode reads one line, without the line feed. It is strict: a member that is
// not known is an error, because what is not understood cannot be folded.
func Decode(text []byte) (*Event, error) {
	var l line[jsontext.Value]
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	data, known := empty(l.Type)
	if !known {
		return nil, fmt.Errorf("an event of the unknown type %.40q: damaged, or made by a newer evenodd", l.Type)
	}
	if err := json.Unmarshal(l.Data, data, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("event %s: %w", l.Type, err)
	}
	return &Event{Seq: l.Seq, At: l.At, Prev: l.Prev, Data: data}, nil
}
