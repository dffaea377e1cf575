package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
)

// A Record is a line of a results file: a whole attempt at a match, which has a result or
// is abandoned, or the continuation of an attempt after its result. A continuation has
// only the new states and exchanges. MatchID, Attempt and State come first, so that a
// reader can index a line without decoding the rest.
type Record struct {
	MatchID        string           `json:"match_id"`
	Attempt        int              `json:"attempt"`
	State          string           `json:"state"` // the last of States
	RoundID        int              `json:"round_id,omitzero"`
	GameType       string           `json:"game_type,omitzero"`
	ConversationID string           `json:"conversation_id,omitzero"` // "" in a continuation, and only there
	PlayerA        MatchPlayer      `json:"player_A,omitzero"`
	PlayerB        MatchPlayer      `json:"player_B,omitzero"`
	Scoring        protocol.Scoring `json:"scoring,omitzero"`
	Draw           *protocol.Draw   `json:"draw,omitzero"`
	Result         *MatchResult     `json:"result,omitzero"`
	Started        string           `json:"started,omitzero"`
	Refusal        *ExchangeError   `json:"refusal,omitzero"`
	States         []StateEntry     `json:"states,omitempty"`
	Transcript     []briefExchange  `json:"transcript,omitzero"`
	Omitted        int              `json:"transcript_omitted,omitzero"`

	protocol.Evidence // as in Match

	// Digest is that of the line of a whole record: the transcript digest of the attempt. It
	// is set when the record is read or appended, and "" in a continuation.
	Digest string `json:"-"`
}

// digest sets Digest to that of the line of the record, without its line feed.
func (r *Record) digest(line []byte) {
	if r.ConversationID != "" {
		sum := sha256.Sum256(line)
		r.Digest = hex.EncodeToString(sum[:])
	}
}

// ReadRecord decodes the line of a record, without its line feed. An error means that the line
// is not the JSON of a record.
func ReadRecord(line []byte, o ...json.Options) (*Record, error) {
	r := new(Record)
	if err := json.Unmarshal(line, r, o...); err != nil {
		return nil, err
	}
	r.digest(line)
	return r, nil
}

// A Recorded counts what earlier records have of a match. The zero value means that there
// is none.
type Recorded struct {
	States, Exchanges int
}

// RecordOf makes the record of a match, or the continuation of earlier records.
func RecordOf(doc *Match, earlier Recorded) *Record {
	r := &Record{
		MatchID: doc.MatchID, Attempt: doc.Attempt, State: doc.Lifecycle.State,
		Refusal: doc.Refusal, States: doc.Lifecycle.States[earlier.States:], Omitted: doc.Omitted,
	}
	if earlier == (Recorded{}) {
		r.RoundID, r.GameType, r.ConversationID = doc.RoundID, doc.GameType, doc.ConversationID
		r.PlayerA, r.PlayerB, r.Scoring, r.Draw, r.Result = doc.PlayerA, doc.PlayerB, doc.Scoring, doc.Draw, doc.Result
		r.Started, r.Evidence = doc.Started, doc.Evidence
		if implied := doc.commitments(); implied != nil && doc.Draw != nil && reflect.DeepEqual(implied, doc.Draw.EntropyCommitments) {
			short := *doc.Draw
			short.EntropyCommitments = nil
			r.Draw = &short
		}
	}
	implied := newImplied(doc)
	for i := range doc.Transcript[earlier.Exchanges:] {
		r.Transcript = append(r.Transcript, implied.abbreviate(&doc.Transcript[earlier.Exchanges+i]))
	}
	return r
}

// commitments returns the entropy commitments of the players that have one, in a match with
// a signature. A record leaves them out of its draw.
func (m *Match) commitments() (both protocol.PerPlayer[string]) {
	if len(m.Signatures) == 0 {
		return nil
	}
	for _, p := range [...]*MatchPlayer{&m.PlayerA, &m.PlayerB} {
		if p.EntropyCommitment != "" {
			both = append(both, protocol.Member[string]{Name: p.PlayerID, Value: p.EntropyCommitment})
		}
	}
	return both
}

// RecordedOf counts the states and exchanges of a match.
func RecordedOf(doc *Match) Recorded {
	return Recorded{len(doc.Lifecycle.States), len(doc.Transcript)}
}

// MatchOf makes the document of an attempt from its records, in order, with its whole
// transcript. A referee that crashed may have played an attempt again: the last whole
// record counts. Records that continue an attempt without its beginning are an error.
func MatchOf(header *ResultsHeader, records ...*Record) (*Match, error) {
	var doc *Match
	var implied *implied
	exchanges := 0
	for _, r := range records {
		exchanges += len(r.Transcript)
	}
	for _, r := range records {
		if r.ConversationID != "" {
			doc = &Match{
				SchemaVersion: header.SchemaVersion, LeagueID: header.LeagueID, RefereeID: header.RefereeID,
				RoundID: r.RoundID, MatchID: r.MatchID, GameType: r.GameType, Attempt: r.Attempt, ConversationID: r.ConversationID,
				WrittenBy: WrittenByReferee, PlayerA: r.PlayerA, PlayerB: r.PlayerB,
				Transcript: make([]Exchange, 0, exchanges), Draw: r.Draw, Result: r.Result, Scoring: r.Scoring,
				Started: r.Started, Evidence: r.Evidence,
			}
			doc.Digest = r.Digest
			if doc.Draw != nil && doc.Draw.EntropyCommitments == nil {
				doc.Draw.EntropyCommitments = doc.commitments()
			}
			implied = newImplied(doc)
		}
		switch {
		case doc == nil:
			return nil, fmt.Errorf("attempt %d at %s continues, but does not begin", r.Attempt, r.MatchID)
		case len(doc.Lifecycle.States)+len(r.States) == 0:
			return nil, fmt.Errorf("attempt %d at %s has no state", r.Attempt, r.MatchID)
		}
		doc.Lifecycle.State, doc.Lifecycle.States = r.State, append(doc.Lifecycle.States, r.States...)
		doc.Refusal, doc.Omitted = r.Refusal, r.Omitted
		last := doc.Lifecycle.States[len(doc.Lifecycle.States)-1]
		if last.State != r.State {
			return nil, fmt.Errorf("attempt %d at %s: state is %.40q, but the last of states is %.40q", r.Attempt, r.MatchID, r.State, last.State)
		}
		doc.LastUpdated = Seconds(last.At)
		for i := range r.Transcript {
			x, err := implied.expand(&r.Transcript[i])
			if err != nil {
				return nil, fmt.Errorf("attempt %d at %s: %w", r.Attempt, r.MatchID, err)
			}
			doc.Transcript = append(doc.Transcript, x)
		}
	}
	if doc == nil {
		return nil, errors.New("there is no record")
	}
	return doc, nil
}

// Seconds cuts a time with milliseconds to seconds. It returns "" for any other text.
func Seconds(at string) string {
	const whole = len("2006-01-02T15:04:05")
	if len(at) != len("2006-01-02T15:04:05.000Z") || at[whole] != '.' {
		return ""
	}
	return at[:whole] + "Z"
}
