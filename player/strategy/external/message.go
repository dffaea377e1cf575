package external

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// The limits of an answer, in bytes.
const (
	maxLine   = 64 << 10
	maxReason = 500
)

// maxHistory is the number of finished matches in a question; the counts cover all
// matches.
const maxHistory = 100

// A request is a question to a program, one line of JSON. testdata/bots/README.md
// documents it for users.
type request struct {
	SchemaVersion string                 `json:"schema_version"`
	GameType      string                 `json:"game_type"`
	MatchID       string                 `json:"match_id"`
	RoundID       int                    `json:"round_id"`
	PlayerID      string                 `json:"player_id"`
	OpponentID    string                 `json:"opponent_id"`
	MoveType      string                 `json:"move_type"`
	ValidOptions  []string               `json:"valid_options"`
	Text          int                    `json:"text,omitzero"`
	Examples      []string               `json:"examples,omitzero"`
	Refused       *refused               `json:"refused,omitzero"`
	Context       map[string]any         `json:"context"`
	Opening       []string               `json:"opening,omitzero"`
	View          any                    `json:"view,omitzero"`
	Board         any                    `json:"board,omitzero"`
	Rules         string                 `json:"rules,omitzero"`
	TimeLimitMS   int64                  `json:"time_limit_ms"`
	TimeLeftMS    int64                  `json:"time_left_ms,omitzero"`
	Seed          uint64                 `json:"seed"`
	Drawn         map[string]int         `json:"drawn"`
	Opponent      opponent               `json:"opponent"`
	History       []past                 `json:"history"`
	Standings     []protocol.StandingRow `json:"standings"`
}

// A refused is the last answer to the question, if the referee has refused it.
type refused struct {
	Choice string `json:"choice"`
	Reason string `json:"reason"`
}

// opponent counts the choices of the opponent; for a new opponent, those of all
// opponents.
type opponent struct {
	Choices map[string]int `json:"choices"`
	Last    *string        `json:"last"`
}

// past is a finished match.
type past struct {
	MatchID        string  `json:"match_id"`
	OpponentID     string  `json:"opponent_id"`
	Result         string  `json:"result"`
	MyChoice       *string `json:"my_choice"`
	OpponentChoice *string `json:"opponent_choice"`
	DrawnNumber    *int    `json:"drawn_number"`
}

func encodeRequest(q *request) ([]byte, error) { return json.Marshal(q, json.Deterministic(true)) }

// requestOf returns the question of a view.
func requestOf(v *strategy.View, limit time.Duration) *request {
	q := &request{
		SchemaVersion: "1.0.0", GameType: v.GameType, MatchID: v.MatchID, RoundID: v.RoundID,
		PlayerID: v.PlayerID, OpponentID: v.OpponentID, MoveType: v.MoveType, ValidOptions: v.Options, Text: v.Text,
		TimeLimitMS: limit.Milliseconds(), TimeLeftMS: v.TimeLeft.Milliseconds(),
		Seed:     v.Random.Uint64() >> 11, // every JSON parser reads 53 bits exactly
		Drawn:    map[string]int{},
		Opponent: opponent{Choices: map[string]int{}, Last: protocol.NonZero(v.Memory().Last(v.OpponentID))},
		Context:  v.Context, Opening: v.Opening, History: []past{}, Standings: slices.Clone(v.Table),
	}
	q.Refused = (*refused)(v.Refused)
	if q.View = v.Shown(); q.View != nil {
		q.Examples = protocol.ExamplesIn(v.Context)
		q.Board, q.Rules, q.Context = v.Context["board"], v.Rules, maps.Clone(v.Context)
		for _, known := range []string{"view", "board", "rules", "examples"} {
			delete(q.Context, known)
		}
	}
	for i := range q.Standings {
		q.Standings[i].DisplayName = "" // names are text of other agents
	}
	for _, parity := range protocol.Parities() {
		q.Drawn[parity] = v.Memory().Drawn(parity)
	}
	for _, o := range v.Options {
		q.Opponent.Choices[o] = v.Memory().Chose(v.OpponentID, o)
	}
	if v.Recent != nil {
		for _, m := range v.Recent(maxHistory) {
			q.History = append(q.History, past{
				m.MatchID, m.OpponentID, m.Result,
				protocol.NonZero(m.MyChoice), protocol.NonZero(m.OpponentChoice), protocol.NonZero(m.DrawnNumber),
			})
		}
	}
	return q
}

// byteOrderMark begins the output of some programs, or each line of it.
const byteOrderMark = "\ufeff"

// A legal describes the legal moves of a question: options, or a text.
type legal struct {
	options []string
	text    int // the most bytes of a text; 0 for options
}

func legalOf(v *strategy.View) legal { return legal{v.Options, v.Text} }

// none tells whether there is no legal move.
func (l legal) none() bool { return len(l.options) == 0 && l.text == 0 }

// String says what is legal.
func (l legal) String() string {
	if l.text > 0 {
		return fmt.Sprintf("a text of one line, of 1 to %d bytes", l.text)
	}
	return strings.Join(l.options, ", ")
}

// allows tells whether a choice is legal. A game may refuse a text nevertheless.
func (l legal) allows(choice string) bool {
	if l.text > 0 {
		return choice != "" && len(choice) <= l.text && protocol.HarmlessLine(choice)
	}
	return slices.Contains(l.options, choice)
}

// meant returns the legal choice that an answer means: the option, or the text without blanks around it.
func (l legal) meant(choice string) string {
	if l.text > 0 {
		return strings.TrimSpace(choice)
	}
	return optionFor(choice, l.options)
}

// choiceIn reads an answer: {"choice": "even"}, or a single word. A text of several words must stand in JSON.
func choiceIn(line string, legal legal) (choice, reason string, err error) {
	text := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), byteOrderMark))
	switch {
	case strings.HasPrefix(text, "{"):
		choice, reason, err = choiceOf(text)
	case strings.HasPrefix(text, `"`):
		if json.Unmarshal([]byte(text), &choice) != nil {
			return "", "", program.ErrChatter
		}
	case text == "" || len(strings.Fields(text)) > 1:
		return "", "", program.ErrChatter
	default:
		choice = text
	}
	if err != nil {
		return "", "", err
	}
	choice = legal.meant(choice)
	if !legal.allows(choice) {
		return "", "", program.Wrong("answered %q, which is not a legal choice; the legal choices are %s",
			words.Clip(choice, 60), legal)
	}
	return choice, reason, nil
}

// optionFor returns the option that an answer means: itself without blanks around it, or, for a number such as 4.0
// or 4e1, the option with the digits of this whole number. It returns any other answer as it is.
func optionFor(choice string, options []string) string {
	word := strings.TrimSpace(choice)
	if slices.Contains(options, word) {
		return word
	}
	if text := jsontext.Value(word); text.IsValid() && text.Kind() == '0' {
		number, _ := strconv.ParseFloat(word, 64) // infinite if it is too large
		if digits := strconv.FormatInt(int64(number), 10); number == math.Trunc(number) && math.Abs(number) < 1<<53 &&
			slices.Contains(options, digits) {
			return digits
		}
	}
	return choice
}

// choiceOf reads an answer in JSON. It accepts a number as its text, because the moves of
// some games are numbers.
func choiceOf(text string) (choice, reason string, err error) {
	var a struct {
		Choice jsontext.Value `json:"choice"`
		Reason jsontext.Value `json:"reason"`
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		return "", "", program.Wrong("answered with invalid JSON: %q; an answer is one line", words.Clip(text, 200))
	}
	switch a.Choice.Kind() {
	case '"':
		_ = json.Unmarshal(a.Choice, &choice) // a valid string
	case '0':
		choice = string(a.Choice)
	default:
		return "", "", program.Wrong(`answered without a "choice" that is a string: %q`, words.Clip(text, 200))
	}
	if a.Reason.Kind() == '"' {
		_ = json.Unmarshal(a.Reason, &reason)
	}
	return choice, words.Clip(reason, maxReason), nil
}
