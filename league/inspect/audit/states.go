package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// The most that a match of a game has whose program is not given. A report of 64 KB lists fewer draws.
const (
	maxTurns = 400
	maxDraws = 4000
)

// gameOf is the game of a match, by what a file or the journal has of it: the evidence and the messages. If the program
// of the game is not given, they show what is needed to repeat the conversation and to verify signatures: whether there
// are draws, and whether something is hidden. Nil for a game that is not known.
func (a *auditor) gameOf(evidence *protocol.Evidence, messages []readMessage) rules.Game {
	if a.game != nil || a.state.Created == nil || a.state.Created.GameID == (protocol.GameID{}) {
		return a.game
	}
	info := rules.Info{Type: a.state.Created.GameType}
	info.Draws = len(evidence.Draws) > 0 || len(evidence.Moves) > 0 && evidence.Moves[0].Move == rules.Ready
	info.Hidden = slices.ContainsFunc(evidence.Signatures, func(s league.Member[protocol.MoveSignature]) bool {
		return s.Value.ViewHash != ""
	})
	for _, m := range messages {
		switch q := m.message.(type) {
		case *protocol.GameMoveCall:
			info.Draws = info.Draws || q.MoveRequest.MoveType == rules.Ready
			info.Hidden = info.Hidden || q.ViewHash != ""
		case *protocol.GameOver:
			info.Hidden = info.Hidden || len(q.Moves) > 0
		}
	}
	return rules.NewProgram(info, maxTurns)
}

// A turnQuestions has the first question of a transcript to each side in a turn, as far as it can be read.
type turnQuestions [2]*protocol.GameMoveCall

// questionsOf reads the questions of a transcript by turn.
func (t *transcriptCheck) questionsOf() map[int]turnQuestions {
	all := map[int]turnQuestions{}
	for i := range t.doc.Transcript {
		e := &t.doc.Transcript[i]
		side := slices.Index(t.match.players[:], e.PlayerID)
		q, ok := t.file.messages[i].message.(*protocol.GameMoveCall)
		if !ok || side < 0 || e.Direction != store.Sent {
			continue
		}
		if turn := all[turnOf(q)]; turn[side] == nil {
			turn[side] = q
			all[turnOf(q)] = turn
		}
	}
	return all
}

// turnOf is the turn of a question in a game with views, read from a file or made by the conduct; 0 if it names none.
func turnOf(q *protocol.GameMoveCall) int {
	return protocol.TurnIn(q.MoveRequest.Context)
}

// goOn gives the conduct what the program of the game says where it awaits that. It returns false if the match cannot
// be followed any further: then there is a finding, or nothing was asked in an attempt that was given up.
func (t *transcriptCheck) goOn(c *conduct.Match) bool {
	for history, due := c.Awaits(); due; history, due = c.Awaits() {
		state := t.stateAfter(c, history)
		if state == nil {
			return false
		}
		if err := c.Told(state); err != nil {
			t.findAt(RuleVerdict, "", "/transcript", "the program of the game and %s do not agree: %s", t.match.id, clipped(err))
			return false
		}
		if !t.sameDraws(c) { // a program may never end to draw
			return false
		}
	}
	return t.sameDraws(c)
}

// clipped is the text of an error that may have texts of others.
func clipped(err error) string { return words.Clip(err.Error(), 300) }

// stateAfter is what the program says of a history, or what the file tells of it; nil if nothing more can be told.
func (t *transcriptCheck) stateAfter(c *conduct.Match, history []rules.Entry) *rules.State {
	if t.program == nil || !t.options.Views {
		return t.stateTold(c)
	}
	if t.last != nil && t.asked == len(history) { // a step is taken again
		return t.last
	}
	state := t.ask(history)
	switch {
	case state == nil:
		return nil
	case state.Illegal != nil:
		t.checkIllegal(state.Illegal)
		return nil
	}
	t.last, t.asked = state, len(history)
	return state
}

// ask asks the program of the game; nil if it fails.
func (a *auditor) ask(history []rules.Entry) *rules.State {
	if *a.failed != nil {
		return nil
	}
	state, err := a.program.Ask(history)
	if err != nil {
		a.fail(err)
		return nil
	}
	return state
}

// fail ends the audit: the program of the game has failed.
func (a *auditor) fail(err error) {
	*a.failed = cmp.Or(*a.failed, fmt.Errorf("the program of %s: %w", a.game.Info().Type, err))
}

// judgeText has the program of the game judge a move in free text. Without it, the referee is believed.
func (t *transcriptCheck) judgeText(e *exchange, r *conduct.Reply) {
	if r == nil {
		return
	}
	s := e.side
	history, due := t.conduct.Legal(s.side, r)
	switch {
	case !due:
	case t.program == nil || !t.options.Views:
		if e.Error != nil && protocol.Code(e.Error.ErrorCode) == protocol.MoveFormBy(e.Method).Illegal {
			r.Refused = &rules.Illegal{Index: len(history) - 1, Side: s.side, Reason: e.Error.Detail}
		}
	default:
		state := t.ask(history)
		if state == nil {
			t.conduct = nil
		} else if err := t.conduct.Refuse(s.side, r, history, state); err != nil {
			t.findAt(RuleVerdict, s.id, e.at, "the program of the game and %s do not agree: %s", t.match.id, clipped(err))
			t.conduct = nil
		}
	}
}

// checkIllegal finds the move by which a history became one that the program refuses.
func (t *transcriptCheck) checkIllegal(refused *rules.Illegal) {
	player, at := "", jsontext.Pointer("/transcript")
	if side := refused.Side; side == rules.SideA || side == rules.SideB {
		player, at = t.sides[side].id, t.sides[side].counted
	}
	t.findAt(RuleTranscript, player, at, "the answer of %s counts, but is no legal move: %.200q", orNone(player),
		refused.Reason)
}

// stateTold is what the file tells of the position before the next turn: the draw, or whom the referee asked and what.
// The match is over where nobody was asked. Of an attempt that was given up before anybody was asked the file tells
// nothing: nil.
func (t *transcriptCheck) stateTold(c *conduct.Match) *rules.State {
	draws, turn := c.Draws(), c.NextTurn()
	state := &rules.State{Winner: rules.NoSide}
	if t.questions == nil {
		t.questions, t.boards = t.questionsOf(), map[int][][]string{}
		for i := range t.doc.Boards {
			t.boards[t.doc.Boards[i].Turn] = t.doc.Boards[i].Cells
		}
	}
	state.Board = t.boards[turn]
	if n := len(draws); n < len(t.doc.Draws) && t.doc.Draws[n].Turn == turn {
		if n == maxDraws {
			t.findAt(RuleDraw, "", drawAt(n), "%s has %s; no match has more than %d", t.match.id,
				words.Counted(len(t.doc.Draws), "draw"), maxDraws)
			return nil
		}
		if state.Draw = t.doc.Draws[n].Of; state.Draw < 2 || state.Draw > rules.MaxOutcomes {
			t.findAt(RuleDraw, "", drawAt(n), "draw %d of %s has %d outcomes; it must have 2 to %d", n+1, t.match.id, state.Draw,
				rules.MaxOutcomes)
			return nil
		}
		return state
	}
	state.Over = true
	for side, q := range t.questions[turn] {
		if q == nil {
			continue
		}
		state.Over = false
		secret, _ := q.MoveRequest.Context["secret"].(bool)
		state.ToMove[side] = &rules.Question{MoveType: q.MoveRequest.MoveType, Options: q.MoveRequest.ValidOptions,
			Text: q.MoveRequest.Text, Examples: protocol.ExamplesIn(q.MoveRequest.Context), View: q.MoveRequest.Context["view"],
			Secret: secret}
	}
	if state.Over && turn == 1 && t.doc.Result == nil {
		return nil
	}
	return state
}

// drawAt is where a file has a draw, from 0.
func drawAt(index int) jsontext.Pointer { return jsontext.Pointer(fmt.Sprintf("/draws/%d", index)) }

// sameDraws compares the draws of the conduct so far with those of the file.
func (t *transcriptCheck) sameDraws(c *conduct.Match) bool {
	draws := c.Draws()
	for i := t.draws; i < len(draws); i++ {
		want := draws[i]
		if i >= len(t.doc.Draws) {
			if t.doc.Result != nil { // the file of an attempt that was given up has none
				t.findAt(RuleDraw, "", "/draws", "draw %d of %s is missing: before turn %d, of %d outcomes", i+1, t.match.id,
					want.Turn, want.Of)
			}
			return t.doc.Result == nil
		}
		if got := rules.Draw(t.doc.Draws[i]); got != want {
			t.findAt(RuleDraw, t.doc.RefereeID, drawAt(i),
				"draw %d of %s, before turn %d, is %d of %d; by the nonce and the entropies it is %d of %d, before turn %d", i+1,
				t.match.id, got.Turn, got.Number, got.Of, want.Number, want.Of, want.Turn)
			return false
		}
		t.draws = i + 1
	}
	return true
}

// checkShown compares what the whole conversation has shown with the file: the draws, the boards, and the views that
// the players signed last.
func (t *transcriptCheck) checkShown() {
	t.checkLastViews()
	draws, boards := t.conduct.Draws(), t.conduct.Boards()
	if n := len(draws); n < len(t.doc.Draws) {
		t.findAt(RuleDraw, t.doc.RefereeID, drawAt(n), "%s has %s; by its history it has %d", t.match.id,
			words.Counted(len(t.doc.Draws), "draw"), n)
	}
	for i := range max(len(boards), len(t.doc.Boards)) {
		at := jsontext.Pointer(fmt.Sprintf("/boards/%d", i))
		switch {
		case i >= len(boards) || i >= len(t.doc.Boards):
			t.findAt(RuleView, t.doc.RefereeID, at, "%s has %s; by its history it has %d", t.match.id,
				words.Counted(len(t.doc.Boards), "board"), len(boards))
			return
		case boards[i].Turn != t.doc.Boards[i].Turn ||
			!slices.EqualFunc(boards[i].Cells, t.doc.Boards[i].Cells, slices.Equal):
			t.findAt(RuleView, t.doc.RefereeID, at, "the board of %s before turn %d is not the one that its history leads to",
				t.match.id, boards[i].Turn)
			return
		}
	}
}
