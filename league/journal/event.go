package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
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
	// and leaves the state unchanged.
	apply(s *State, at string) error
}

// MatchOf is the match that an event is about; zero for none.
func MatchOf(d Data) league.MatchID { return member[league.MatchID](d, "MatchID") }

// AgentOf is the agent that an event is about; "" for none.
func AgentOf(d Data) string {
	return cmp.Or(member[string](d, "AgentID"), member[string](d, "PlayerID"), member[string](d, "RefereeID"))
}

// member is a member of an event's data; zero if it has none of that name.
func member[V any](d Data, name string) (value V) {
	if member := reflect.ValueOf(d).Elem().FieldByName(name); member.IsValid() {
		value, _ = member.Interface().(V)
	}
	return value
}

// Stale is a set of what derives from the journal and changes with an event.
type Stale uint8

// What an event can make stale.
const (
	StaleAgents    Stale = 1 << iota // agents.json
	StaleStandings                   // standings.json
	StaleRounds                      // rounds.json
	StaleSchedule                    // the schedule, with results and the endpoints of referees
	StaleMatch                       // what is shown of the match

	StaleResult = StaleStandings | StaleRounds | StaleSchedule | StaleMatch
)

// A kind is a type of events, with its name in the journal. Private are the members of its
// data that Public and Hide remove. Stale is what each event of the type makes stale, but
// that of Decided depends on the command.
type kind struct {
	name    string
	data    Data
	stale   Stale
	private []string
}

// kinds are the types of events.
var kinds = [...]kind{
	{"created", &Created{}, 0, []string{"simulation", "secret_nonce"}},
	{"registered", &AgentRegistered{}, StaleAgents | StaleStandings, []string{"endpoint", "registration"}},
	{"agent_answered", &AgentAnswered{}, StaleAgents, nil},
	{"registration_dropped", &RegistrationDropped{}, StaleAgents | StaleStandings, nil},
	{"agent_returned", &AgentReturned{}, StaleAgents | StaleSchedule, []string{"endpoint"}},
	{"agent_confirmed", &AgentConfirmed{}, 0, nil},
	{"agent_suspended", &AgentSuspended{}, StaleAgents, nil},
	{"agent_failed", &AgentFailed{}, StaleAgents | StaleSchedule, []string{"reason"}},
	{"agent_shutdown", &AgentShutdown{}, StaleAgents | StaleStandings | StaleSchedule, nil},
	{"started", &Started{}, StaleAgents | StaleStandings | StaleRounds | StaleSchedule, []string{"config"}},
	{"round_announced", &RoundAnnounced{}, StaleStandings | StaleSchedule, nil},
	{"match_assigned", &MatchAssigned{}, StaleSchedule, nil},
	{"match_accepted", &MatchAccepted{}, 0, nil},
	{"match_declined", &MatchDeclined{}, StaleSchedule, []string{"reason"}},
	{"match_reported", &MatchReported{}, StaleResult, nil},
	{"match_forfeited", &MatchForfeited{}, StaleResult, nil},
	{"match_disputed", &MatchDisputed{}, StaleMatch, nil},
	{"result_denied", &ResultDenied{}, StaleMatch, nil},
	{"attempt_lost", &AttemptLost{}, 0, []string{"reason", "report"}},
	{"round_completed", &RoundCompleted{}, StaleRounds | StaleSchedule, nil},
	{"completed", &LeagueCompleted{}, 0, nil},
	{"tail_lost", &TailLost{}, 0, nil},
	{"manager_took_over", &ManagerTookOver{}, StaleSchedule, []string{"manager"}},
	{"agent_informed", &AgentInformed{}, StaleAgents, nil},
	{"configured", &Configured{}, 0, nil},
	{"decided", &Decided{}, 0, nil},
}

// kindOf is the kind of an event's data; nil for a type that is not in kinds.
func kindOf(d Data) *kind {
	for i := range kinds {
		if reflect.TypeOf(kinds[i].data) == reflect.TypeOf(d) {
			return &kinds[i]
		}
	}
	return nil
}

// StaleBy is what an event makes stale.
func StaleBy(d Data) Stale {
	if decided, ok := d.(*Decided); ok {
		return commands[decided.Command].stale
	}
	return kindOf(d).stale
}

// Kind is the name of an event in the journal; "" for a type that is not in kinds.
func Kind(d Data) string {
	if k := kindOf(d); k != nil {
		return k.name
	}
	return ""
}

// A line is the JSON form of an event.
type line[D any] struct {
	Seq  int    `json:"seq"`
	At   string `json:"at"`
	Prev string `json:"prev,omitzero"`
	Type string `json:"type"`
	Data D      `json:"data"`

	// Checksum is that of a line in a file (appendfile.Seal).
	Checksum string `json:"crc32c,omitzero"`
}

// Origin is the Prev of the first event.
const Origin = "0000000000000000000000000000000000000000000000000000000000000000"

// Hash is the Prev of the event after a line: hex SHA-256 of the line without its
// line feed.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Follows returns an error unless the event has a number, and names the hash of the line before.
func (e *Event) Follows(seq int, prev string) error {
	switch {
	case e.Seq != seq:
		return fmt.Errorf("event %d stands where event %d belongs: a line was removed, added or moved", e.Seq, seq)
	case e.Prev != prev:
		return fmt.Errorf("it does not follow the line before: prev is %.12s…, the hash of that line is %.12s…", e.Prev, prev)
	}
	return nil
}

// Encode returns the line of an event, without a line feed.
func Encode(e *Event) ([]byte, error) {
	return json.Marshal(line[Data]{Seq: e.Seq, At: e.At, Prev: e.Prev, Type: Kind(e.Data), Data: e.Data},
		json.Deterministic(true))
}

// Decode reads a line without its line feed. An unknown member is an error: the fold
// would ignore it.
func Decode(text []byte) (*Event, error) {
	// Our lines have their type before their data, so that one pass reads both.
	_, after, _ := bytes.Cut(text, []byte(`"type":"`))
	name, _, _ := bytes.Cut(after, []byte(`"`))
	l := line[Data]{Data: newData(string(name))}
	if l.Data == nil {
		return nil, fmt.Errorf("an event of the unknown type %.40q: damaged, or made by a newer evenodd", name)
	}
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	if l.Type != string(name) || l.Data == nil {
		return nil, fmt.Errorf("event %s has another type, or no data", name)
	}
	return &Event{Seq: l.Seq, At: l.At, Prev: l.Prev, Data: l.Data}, nil
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
	e, err := Decode(text)
	if err != nil {
		return nil, err
	}
	Hide(e.Data)
	e.Prev = ""
	return Encode(e)
}

// Hide removes from an event the private members of its kind.
func Hide(d Data) {
	content := reflect.ValueOf(d).Elem()
	for _, field := range reflect.VisibleFields(content.Type()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); slices.Contains(kindOf(d).private, name) {
			content.FieldByIndex(field.Index).SetZero()
		}
	}
}
