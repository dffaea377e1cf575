package record

import (
	"slices"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A Conversation is an attempt at a match with all messages, as the replay shows it. Its members
// are a contract.
type Conversation struct {
	LeagueID  string             `json:"league_id"`
	RoundID   int                `json:"round_id"`
	MatchID   string             `json:"match_id"`
	Attempt   int                `json:"attempt"`
	GameType  string             `json:"game_type"`
	RefereeID string             `json:"referee_id"`
	State     string             `json:"state"`
	PlayerA   store.MatchPlayer  `json:"player_A"`
	PlayerB   store.MatchPlayer  `json:"player_B"`
	Lines     []Line             `json:"conversation"`
	Omitted   int                `json:"omitted,omitzero"` // exchanges that the file does not have
	Draw      *RecomputedDraw    `json:"draw"`
	Result    *store.MatchResult `json:"result"`
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
	Error       *store.ExchangeError `json:"error,omitzero"`
	Trouble     string               `json:"trouble,omitzero"` // what kind of failure it is
	Void        string               `json:"void,omitzero"`    // why the try does not count
	Answer      string               `json:"answer,omitzero"`  // the beginning of a wrong response as it arrived
	Message     any                  `json:"message,omitzero"`

	fromPlayer bool
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

// ConversationOf makes the conversation of an attempt at a match. The lines are in the order of
// their times, and the tries of a question in theirs.
func ConversationOf(doc *store.Match) *Conversation {
	c := &Conversation{
		LeagueID: doc.LeagueID, RoundID: doc.RoundID, MatchID: doc.MatchID, Attempt: doc.Attempt, GameType: doc.GameType,
		RefereeID: doc.RefereeID, State: doc.Lifecycle.State, PlayerA: doc.PlayerA, PlayerB: doc.PlayerB,
		Lines: make([]Line, 0, len(doc.Transcript)+3), Omitted: doc.Omitted, Draw: recomputeDraw(doc), Result: doc.Result,
	}
	before, after := managerLines(doc)
	if len(doc.Transcript) > 0 {
		c.Lines = append(c.Lines, before...)
	}
	for i := range doc.Transcript {
		c.Lines = append(c.Lines, lineOf(doc, &doc.Transcript[i]))
	}
	if len(doc.Transcript) > 0 {
		c.Lines = append(c.Lines, after...)
	}
	sortByTime(c.Lines)
	orderTries(c.Lines)
	measure(c.Lines)
	return c
}

// lineOf makes the line of an exchange.
func lineOf(doc *store.Match, e *store.Exchange) Line {
	u := Line{
		At: e.At, From: doc.RefereeID, To: e.PlayerID, Method: e.Method, MessageType: e.MessageType, Try: e.Try,
		Says: sentence(e), Error: e.Error, Trouble: troubleOf(e), Void: e.Void, Answer: e.Answer,
	}
	if e.Direction == store.Received {
		u.From, u.To, u.fromPlayer = u.To, u.From, true
	}
	if len(e.Message) > 0 {
		u.Message = e.Message
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
// tell of them: those before the messages of the match, and those after.
func managerLines(doc *store.Match) (before, after []Line) {
	for _, s := range doc.Lifecycle.States {
		ask := Line{At: s.At, From: ManagerLane, To: doc.RefereeID}
		report := Line{At: s.At, From: doc.RefereeID, To: ManagerLane, Method: protocol.ReportMatchResult.Name}
		switch s.State {
		case store.StateAssigned:
			ask.Method, ask.MessageType = protocol.StartMatch.Name, protocol.TypeMatchAssignment
			ask.Says = "MATCH_ASSIGNMENT: the match is yours"
			before = append(before, ask)
		case store.StateFinished:
			report.MessageType = protocol.TypeMatchResultReport
			report.Says = "MATCH_RESULT_REPORT: the match is over, this is its result"
			after = append(after, report)
		case store.StateAcknowledged:
			ask.Method, ask.MessageType = protocol.ReportMatchResult.Name, protocol.TypeMatchResultAck
			ask.Says = "MATCH_RESULT_ACK: the result is recorded"
			after = append(after, ask)
		case store.StateDisputed:
			ask.Method, ask.Says, ask.Error, ask.Trouble = protocol.ReportMatchResult.Name, "the report is rejected", doc.Refusal, TroubleWrong
			after = append(after, ask)
		}
	}
	return before, after
}

// sortByTime sorts lines by their times. Lines of one time keep their order, and all lines do if
// a time is not valid.
func sortByTime(lines []Line) {
	times := make(map[string]time.Time, len(lines))
	for i := range lines {
		at, err := protocol.ParseTimestamp(lines[i].At)
		if err != nil {
			return
		}
		times[lines[i].At] = at
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return times[a.At].Compare(times[b.At]) })
}

// A questionKey names the messages of one method between the referee and a player.
type questionKey struct{ player, method string }

// orderTries puts the messages of each question in the order of its tries, at the places that
// they have among the others, and counts the tries. A method can ask several questions, one for
// each turn of a game: a question begins with a request of try 1.
func orderTries(lines []Line) {
	questions := map[questionKey][][]int{} // the places of the messages of each question
	for i := range lines {
		u := &lines[i]
		if u.Try == 0 {
			continue
		}
		key := questionKey{u.To, u.Method}
		if u.fromPlayer {
			key.player = u.From
		}
		if n := len(questions[key]); n == 0 || u.Try == 1 && !u.fromPlayer {
			questions[key] = append(questions[key], []int{i})
		} else {
			questions[key][n-1] = append(questions[key][n-1], i)
		}
	}
	for _, of := range questions {
		for _, places := range of {
			orderQuestion(lines, places)
		}
	}
}

func orderQuestion(lines []Line, places []int) {
	moved := make([]Line, len(places))
	tries := 0
	for i, at := range places {
		moved[i] = lines[at]
		tries = max(tries, moved[i].Try)
	}
	slices.SortStableFunc(moved, func(a, b Line) int {
		switch {
		case a.Try != b.Try:
			return a.Try - b.Try
		case a.fromPlayer == b.fromPlayer:
			return 0
		case b.fromPlayer:
			return -1
		}
		return 1
	})
	for i, at := range places {
		if tries > 1 {
			moved[i].Tries = tries
		}
		lines[at] = moved[i]
	}
}

// measure sets the times between the lines.
func measure(lines []Line) {
	var before time.Time
	for i := range lines {
		at, err := protocol.ParseTimestamp(lines[i].At)
		if err != nil {
			continue
		}
		if !before.IsZero() {
			waited := at.Sub(before).Seconds()
			lines[i].Waited = &waited
		}
		before = at
	}
}
