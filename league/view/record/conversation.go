package record

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A Conversation is an attempt at a match with all messages, as the replay shows it. Its members
// are a contract.
type Conversation struct {
	LeagueID  string                `json:"league_id"`
	RoundID   int                   `json:"round_id"`
	MatchID   string                `json:"match_id"`
	Attempt   int                   `json:"attempt"`
	GameType  string                `json:"game_type"`
	RefereeID string                `json:"referee_id"`
	State     string                `json:"state"`
	PlayerA   store.MatchPlayer     `json:"player_A"`
	PlayerB   store.MatchPlayer     `json:"player_B"`
	Lines     []Line                `json:"conversation"`
	Omitted   int                   `json:"omitted,omitzero"` // exchanges that the file does not have
	Steps     []Step                `json:"steps,omitzero"`   // the positions; absent without moves
	Draw      *RecomputedDraw       `json:"draw"`
	Result    *protocol.MatchResult `json:"result"`
}

// A Line is one message of a conversation, or a failure in place of one.
type Line struct {
	At          string               `json:"at"`
	Waited      *float64             `json:"waited_sec"` // since the line before; null if a time is not valid
	From        string               `json:"from"`       // the id of an agent, or ManagerLane
	To          string               `json:"to"`
	Method      string               `json:"method"`
	MessageType string               `json:"message_type,omitzero"`
	Try         int                  `json:"try"`            // of the question, from 1; 0 for the manager
	Tries       int                  `json:"tries,omitzero"` // of the question, if there are several
	Says        string               `json:"says"`
	Took        *float64             `json:"took_sec,omitzero"` // of a wrong answer; without an answer, how long the referee waited
	Error       *store.ExchangeError `json:"error,omitzero"`
	Trouble     string               `json:"trouble,omitzero"` // what kind of failure it is
	Void        string               `json:"void,omitzero"`    // why the try does not count
	WrongToken  bool                 `json:"wrong_token,omitzero"`
	Mark        string               `json:"mistake,omitzero"` // what the move gave away
	Answer      string               `json:"answer,omitzero"`  // the beginning of a wrong response as it arrived
	Used        *protocol.TimeUsed   `json:"time_used,omitzero"`
	Message     jsontext.Value       `json:"message,omitzero"`

	Again bool `json:"-"` // of a try that failed for the same cause as the one before

	reply bool      // of a player
	bound string    // the end of Says that is about the draw
	time  time.Time // of At; zero if it is not valid
	order int       // among lines of one time: the try; the assignment is first, the report last
}

// Brief is Says without the commitments of the draw.
func (u *Line) Brief() string { return strings.TrimSuffix(u.Says, u.bound) }

// Cause is why the answer failed; none for a line that is no failed answer of a player, and for a void try.
func (u *Line) Cause() Cause {
	if u.Error == nil || u.Void != "" || !u.reply {
		return Cause{}
	}
	return CauseOf(u.Error.ErrorCode, u.Error.Detail, u.Answer)
}

// Failure is the error with its code. It has the name of the code only if that says more than the detail: an error of
// JSON-RPC has the code of a wrong answer.
func (u *Line) Failure() string {
	name := " " + u.Error.ErrorName
	if u.Error.ErrorCode == string(protocol.ErrInvalidFieldType) && rpcCodes().MatchString(u.Error.Detail) {
		name = ""
	}
	return u.Error.ErrorCode + name + ": " + u.Error.Detail
}

// TimeLeft is what the time bank of the player has after its answer: "0:58.8 left"; "" for no time bank.
func (u *Line) TimeLeft() string {
	if u.Used == nil {
		return ""
	}
	return Clock(u.Used.Left) + " left"
}

// ManagerLane stands for the manager in Line.From and Line.To.
const ManagerLane = "manager"

// The kinds of trouble.
const (
	TroubleVoid        = "void"         // the fault was the referee's; the try does not count
	TroubleNoAnswer    = "no_answer"    // no answer in time
	TroubleUnreachable = "unreachable"  // no connection, or it broke
	TroubleWait        = "asks_to_wait" // the player asked the referee to wait
	TroubleWrong       = "wrong_answer" // an answer that the referee cannot use
)

// ConversationOf makes the conversation of an attempt at a match of one of the games. The lines are in
// the order of their times.
func ConversationOf(doc *store.Match, games rules.Registry) *Conversation {
	c := &Conversation{
		LeagueID: doc.LeagueID, RoundID: doc.RoundID, MatchID: doc.MatchID, Attempt: doc.Attempt, GameType: doc.GameType,
		RefereeID: doc.RefereeID, State: doc.Lifecycle.State, PlayerA: doc.PlayerA, PlayerB: doc.PlayerB,
		Lines: make([]Line, 0, len(doc.Transcript)+3), Omitted: doc.Omitted, Draw: recomputeDraw(doc, games), Result: doc.Result,
	}
	asked := map[string]string{} // when a question was sent, by player
	for i := range doc.Transcript {
		x := &doc.Transcript[i]
		line := lineOf(doc, x)
		if x.Direction == store.Sent {
			asked[x.PlayerID] = x.At
		} else if ms, ok := tookOf(x, asked[x.PlayerID]); ok && (line.Trouble == TroubleNoAnswer || line.Trouble == TroubleWrong) {
			seconds := ms / 1000
			line.Took = &seconds
		}
		c.Lines = append(c.Lines, line)
	}
	if len(c.Lines) > 0 {
		c.Lines = append(c.Lines, managerLines(doc)...)
	}
	sortByTime(c.Lines)
	countTries(c.Lines, doc.RefereeID)
	markAgain(c.Lines, doc.RefereeID)
	c.follow(doc, games)
	c.clock()
	return c
}

// lineOf makes the line of an exchange.
func lineOf(doc *store.Match, e *store.Exchange) Line {
	says, bound := sentence(e)
	u := Line{
		At: e.At, From: doc.RefereeID, To: e.PlayerID, Method: e.Method, MessageType: e.MessageType, Try: e.Try,
		Says: says + bound, bound: bound, Error: e.Error, Trouble: troubleOf(e), Void: e.Void, WrongToken: e.WrongToken,
		Answer: e.Answer, Used: e.Used, Message: e.Message, order: e.Try,
	}
	if e.Direction == store.Received {
		u.From, u.To, u.reply = u.To, u.From, true
	}
	return u
}

// troubleOf is the kind of failure of an exchange; "" for none.
func troubleOf(e *store.Exchange) string {
	switch {
	case e.Void != "":
		return TroubleVoid
	case e.Error == nil:
		return ""
	}
	switch protocol.Code(e.Error.ErrorCode) {
	case protocol.ErrTimeout:
		return TroubleNoAnswer
	case protocol.ErrRateLimited:
		return TroubleWait
	case protocol.ErrConnection:
		if e.Answer == "" {
			return TroubleUnreachable
		}
	}
	return TroubleWrong
}

// managerLines are the messages between manager and referee, as far as the states of the match
// tell of them.
func managerLines(doc *store.Match) (lines []Line) {
	for _, s := range doc.Lifecycle.States {
		ask := Line{At: s.At, From: ManagerLane, To: doc.RefereeID, Method: protocol.ReportMatchResult.Name, order: math.MaxInt}
		switch s.State {
		case protocol.StateAssigned:
			ask.Method, ask.MessageType, ask.order = protocol.StartMatch.Name, protocol.TypeMatchAssignment, 0
			ask.Says = "MATCH_ASSIGNMENT: the match is yours"
		case protocol.StateFinished:
			ask.From, ask.To, ask.MessageType = ask.To, ask.From, protocol.TypeMatchResultReport
			ask.Says = "MATCH_RESULT_REPORT: the match is over, this is its result"
		case protocol.StateAcknowledged:
			ask.MessageType = protocol.ReportMatchResult.Result
			ask.Says = "MATCH_RESULT_ACK: the result is recorded"
		case protocol.StateDisputed:
			ask.Says, ask.Error, ask.Trouble = "the report is rejected", doc.Refusal, TroubleWrong
		default:
			continue
		}
		lines = append(lines, ask)
	}
	return lines
}

// sortByTime sorts lines by their times and sets the times between them. Lines of one time are in
// the order of their tries. All lines keep their order if a time is not valid.
func sortByTime(lines []Line) {
	valid := true
	for i := range lines {
		at, err := protocol.ParseTimestamp(lines[i].At)
		lines[i].time, valid = at, valid && err == nil
	}
	if !valid {
		return
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.order, b.order)) })
	for i := 1; i < len(lines); i++ {
		waited := lines[i].time.Sub(lines[i-1].time).Seconds()
		lines[i].Waited = &waited
	}
}

// countTries counts the tries of each question. A method can ask several questions, one for each
// turn of a game: a question begins with a request of try 1.
func countTries(lines []Line, refereeID string) {
	type key struct{ player, method string }
	asked := map[key][]*Line{} // the messages of the present question
	for i := range lines {
		u := &lines[i]
		question := key{u.From, u.Method}
		if u.From == refereeID {
			if question.player = u.To; u.Try == 1 {
				asked[question] = nil
			}
		}
		asked[question] = append(asked[question], u)
		of := asked[question]
		for _, line := range of {
			if tries := max(u.Try, of[0].Tries); tries > 1 {
				line.Tries = tries
			}
		}
	}
}

// A Draw is the draw of a match, with its commitment computed again.
type Draw struct {
	*protocol.Draw

	CommitmentHolds bool `json:"commitment_holds"` // the nonce is that of the commitment
}

// A RecomputedDraw is a draw with its number computed again.
type RecomputedDraw struct {
	Draw

	Number *int `json:"number"` // null if it cannot be computed, or the game draws none

	// Draws are those during the match; absent in a game without any.
	Draws []RecomputedOutcome `json:"draws,omitzero"`

	// NumberInput are the bytes whose hash gives the number; nil if the game draws none, or the nonce is not valid.
	NumberInput []byte `json:"-"`
}

// A RecomputedOutcome is a draw during a match, as of a card or a die, computed again.
type RecomputedOutcome struct {
	protocol.Drawn

	Holds bool `json:"holds"` // nonce and entropies make this outcome
}

// Last is the last of the possible outcomes.
func (o RecomputedOutcome) Last() int { return o.Of - 1 }

// NewDraw computes the commitment of an attempt's draw again; nil for no draw.
func NewDraw(d *protocol.Draw, leagueID, matchID string, attempt int, refereeID string) *Draw {
	if d == nil {
		return nil
	}
	_, opens := protocol.OpensDraw(d.Commitment, leagueID, matchID, attempt, refereeID, d.Nonce)
	return &Draw{d, opens}
}

// recomputeDraw computes the draw of a match again; nil if the file has none.
func recomputeDraw(doc *store.Match, games rules.Registry) *RecomputedDraw {
	draw := NewDraw(doc.Draw, doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID)
	if draw == nil {
		return nil
	}
	d := &RecomputedDraw{Draw: *draw}
	chance := chanceOf(doc)
	for i, drawn := range doc.Draws {
		holds := chance != nil && drawn.Of >= 2 && drawn.Of <= rules.MaxOutcomes &&
			chance.Draw(doc.MatchID, i+1, drawn.Of) == drawn.Number
		d.Draws = append(d.Draws, RecomputedOutcome{drawn, holds})
	}
	game, _ := games.Game(doc.GameType)
	numbered, draws := game.(rules.Numbered)
	if chance == nil || !draws {
		return d
	}
	players := [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}
	d.NumberInput = numbered.NumberInput(*chance)
	if doc.Result == nil || doc.Result.Status == league.StatusTechnicalLoss {
		return d
	}
	if course, err := rules.Begin(game).PlayMade(doc.Result.Moves(players)); err == nil && course.Over() {
		number := course.Judge(*chance).Number
		d.Number = &number
	}
	return d
}

// chanceOf are the random values of a match; nil if the file does not reveal them.
func chanceOf(doc *store.Match) *rules.Chance {
	if doc.Draw == nil {
		return nil
	}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok {
		return nil
	}
	return &rules.Chance{Nonce: nonce, EntropyA: entropyOf(doc, doc.PlayerA.PlayerID),
		EntropyB: entropyOf(doc, doc.PlayerB.PlayerID)}
}

// entropyOf is the entropy of a player in the draw: zeros for none.
func entropyOf(doc *store.Match, player string) protocol.Secret {
	text, _ := doc.Draw.Entropies.Get(player)
	secret, _ := protocol.ParseSecret(text)
	return secret
}
