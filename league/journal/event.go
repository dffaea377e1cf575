package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// SchemaVersion is the version of the events that this program writes.
const SchemaVersion = "1.0.0"

// An Event is one line of the journal. It happened after the event of the line
// before.
type Event struct {
	Seq  int    // from 1
	At   string // when the manager wrote it: RFC 3339 in UTC with milliseconds
	Prev string // Hash of the line before; Origin in the first
	Data Data
}

// Data is the content of an event: a pointer to one of the types in kinds.
type Data interface {
	// apply changes the state. An error means that the event cannot have happened,
	// and leaves the state unchanged. A DecisionEvent has passed State.Check.
	apply(s *State, at string) error
}

// kinds are the types of events with their names in the journal, and with the members
// of their data that Public removes.
var kinds = [...]struct {
	name    string
	data    Data
	private []string
}{
	{"created", &Created{}, []string{"simulation"}},
	{"registered", &AgentRegistered{}, []string{"endpoint", "registration"}},
	{"agent_answered", &AgentAnswered{}, nil},
	{"registration_dropped", &RegistrationDropped{}, nil},
	{"agent_returned", &AgentReturned{}, []string{"endpoint"}},
	{"agent_confirmed", &AgentConfirmed{}, nil},
	{"agent_suspended", &AgentSuspended{}, nil},
	{"agent_failed", &AgentFailed{}, []string{"reason"}},
	{"agent_shutdown", &AgentShutdown{}, nil},
	{"started", &Started{}, nil},
	{"round_announced", &RoundAnnounced{}, nil},
	{"match_assigned", &MatchAssigned{}, nil},
	{"match_accepted", &MatchAccepted{}, nil},
	{"match_declined", &MatchDeclined{}, []string{"reason"}},
	{"match_reported", &MatchReported{}, nil},
	{"match_forfeited", &MatchForfeited{}, nil},
	{"match_disputed", &MatchDisputed{}, nil},
	{"result_denied", &ResultDenied{}, nil},
	{"attempt_lost", &AttemptLost{}, []string{"reason", "report"}},
	{"round_completed", &RoundCompleted{}, nil},
	{"completed", &LeagueCompleted{}, nil},
	{"tail_lost", &TailLost{}, nil},
	{"agent_informed", &AgentInformed{}, nil},
	{"configured", &Configured{}, nil},
	{"paused", &Paused{}, nil},
	{"unpaused", &Unpaused{}, nil},
	{"agent_held", &AgentHeld{}, nil},
	{"agent_readmitted", &AgentReadmitted{}, nil},
	{"agent_withdrawn", &AgentWithdrawn{}, nil},
	{"rematch_ordered", &RematchOrdered{}, nil},
	{"match_reopened", &MatchReopened{}, nil},
	{"match_ruled", &MatchRuled{}, nil},
	{"start_planned", &StartPlanned{}, nil},
}

// Kind is the name of an event in the journal; "" for a type that is not in kinds.
func Kind(d Data) string {
	for i := range kinds {
		if reflect.TypeOf(kinds[i].data) == reflect.TypeOf(d) {
			return kinds[i].name
		}
	}
	return ""
}

// A line is the JSON form of an event.
type line[D any] struct {
	Seq  int    `json:"seq"`
	At   string `json:"at"`
	Prev string `json:"prev"`
	Type string `json:"type"`
	Data D      `json:"data"`
}

// Origin is the Prev of the first event.
const Origin = "0000000000000000000000000000000000000000000000000000000000000000"

// Hash is the Prev of the event after a line: hex SHA-256 of the line without its
// line feed.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Encode returns the line of an event, without a line feed.
func Encode(e *Event) ([]byte, error) {
	return json.Marshal(line[Data]{e.Seq, e.At, e.Prev, Kind(e.Data), e.Data}, json.Deterministic(true))
}

// Decode reads a line without its line feed. An unknown member is an error: the fold
// would ignore it.
func Decode(text []byte) (*Event, error) {
	// Our lines have their type before their data, so that one pass reads both.
	_, after, _ := bytes.Cut(text, []byte(`"type":"`))
	name, _, _ := bytes.Cut(after, []byte(`"`))
	if data := newData(string(name)); data != nil {
		l := line[Data]{Data: data}
		if json.Unmarshal(text, &l, json.RejectUnknownMembers(true)) == nil && l.Type == string(name) && l.Data != nil {
			return &Event{Seq: l.Seq, At: l.At, Prev: l.Prev, Data: l.Data}, nil
		}
	}
	return decodeParts(text)
}

// decodeParts reads any line: first its type, then its data.
func decodeParts(text []byte) (*Event, error) {
	var l line[jsontext.Value]
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	data := newData(l.Type)
	if data == nil {
		return nil, fmt.Errorf("an event of the unknown type %.40q: damaged, or made by a newer evenodd", l.Type)
	}
	if err := json.Unmarshal(l.Data, data, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("event %s: %w", l.Type, err)
	}
	return &Event{Seq: l.Seq, At: l.At, Prev: l.Prev, Data: data}, nil
}

// newData returns an empty event of a type; nil for an unknown one.
func newData(kind string) Data {
	for i := range kinds {
		if kinds[i].name == kind {
			return reflect.New(reflect.TypeOf(kinds[i].data).Elem()).Interface().(Data)
		}
	}
	return nil
}

// Public returns an event, given as its line, in the form that every agent of the league
// may read: without the hash of the line before, and without endpoints, the input of a
// simulation, the choices of an attempt that is played again, and reasons that can
// contain one of these. An error means that the line is no event.
func Public(text []byte) (jsontext.Value, error) {
	public := protocol.ParseObject(text)
	data := public.Object("data")
	for i := range kinds {
		if kinds[i].name != public.Text("type") || data == nil {
			continue
		}
		for _, name := range kinds[i].private {
			data.Drop(name)
		}
		public.Drop("prev")
		public.Set("data", data.Append(nil))
		return public.Append(nil), nil
	}
	return nil, errors.New("not an event")
}
