package page

import (
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A matchBoard is the game of an attempt, position by position.
type matchBoard struct {
	Steps   []boardStep // nil for none
	Shown   int         // the number of the position that the page opens with
	A, B    ref
	Drawn   bool // the game has a board
	Several bool // turns
	attempt string
}

// boardOf is the game of a conversation; nil if it has no moves. It opens with the position after the
// move, or with the last one for any other text.
func boardOf(c *record.Conversation, move, attempt string) *matchBoard {
	if len(c.Steps) == 0 {
		return nil
	}
	last := len(c.Steps) - 1
	b := &matchBoard{Drawn: len(c.Steps[0].Board) > 0, Several: last > 1 || len(c.Steps[0].Opening) > 0,
		attempt: attempt, Shown: last,
		A: ref{shown(c.PlayerA.PlayerID), shown(c.PlayerA.DisplayName)},
		B: ref{shown(c.PlayerB.PlayerID), shown(c.PlayerB.DisplayName)}}
	if n, err := strconv.Atoi(move); err == nil && n >= 0 && n <= last {
		b.Shown = n
	}
	for i := range c.Steps {
		b.Steps = append(b.Steps, boardStep{&c.Steps[i], last})
	}
	return b
}

// Last is the number of the last position.
func (b *matchBoard) Last() int { return len(b.Steps) - 1 }

// Start is the first position.
func (b *matchBoard) Start() boardStep { return b.Steps[0] }

// End is the last position.
func (b *matchBoard) End() boardStep { return b.Steps[b.Last()] }

// Made are the positions after a move.
func (b *matchBoard) Made() []boardStep { return b.Steps[1:] }

// To is the address of a position.
func (b *matchBoard) To(number int) string {
	to := url.Values{"move": {strconv.Itoa(number)}}
	if b.attempt != "" {
		to.Set("attempt", b.attempt)
	}
	return "?" + to.Encode()
}

// Mistakes are the positions after a move that gave away a win or a draw.
func (b *matchBoard) Mistakes() []boardStep {
	return lists.Filter(b.Steps, func(s boardStep) bool { return len(s.Step.Mistakes()) > 0 })
}

// A boardStep is a position of the page.
type boardStep struct {
	*record.Step

	last int
}

// longestWords is the length in bytes at which the moves of a step are cut: two moves in free text fit.
const longestWords = 5000

// Words are the moves and draws that led to the position.
func (s boardStep) Words() string { return clipped(s.Step.Words(), longestWords) }

// A speech is a move of a step in which a player says something.
type speech struct {
	Side     string // a or b
	PlayerID string
	Text     string
	Speech   bool // false for a move of the other player that is none
}

// Speeches are the moves of the step if one of them is free text, else none.
func (s boardStep) Speeches() []speech {
	if !slices.ContainsFunc(s.Moves, func(m record.MadeMove) bool { return m.Speech }) {
		return nil
	}
	return lists.Map(s.Moves, func(m record.MadeMove) speech {
		text := m.Words
		if m.Speech {
			text = m.Move
		}
		return speech{[]string{"a", "b"}[m.Side], shown(m.PlayerID), clipped(text, longestWords), m.Speech}
	})
}

// Title is the number of the position.
func (s boardStep) Title() string {
	if s.Number == 0 {
		return "Start"
	}
	return fmt.Sprintf("Move %d of %d", s.Number, s.last)
}

// Time is the time of the move, for the function clock of templates, and how long it took; "" if it is not known.
func (s boardStep) Time() string {
	if s.At == "" {
		return ""
	}
	text := s.At
	if took := s.Took(); took != nil {
		text += ", after " + record.Milliseconds(*took*1000)
	}
	return shown(text)
}

// Mistakes say what the moves gave away.
func (s boardStep) Mistakes() []string {
	return lists.Map(s.Step.Mistakes(), func(m record.MadeMove) string { return shown(m.PlayerID + " " + m.Mistake()) })
}

// A matchDraw is the draw of a match with all that a reader needs to compute it again.
type matchDraw struct {
	*record.Conversation

	Nonce, Commitment  string
	EntropyA, EntropyB string
	Number             string // of the result; "" for none

	// The bytes whose hashes are the commitment and the number, in hexadecimal; "" if a value
	// is not valid, or there is no number.
	CommitmentInput, NumberInput string
}

// Holds tells whether nonce and entropies give what the commitment and the result say.
func (d *matchDraw) Holds() bool {
	made := d.Draw.Number
	return d.Draw.CommitmentHolds && d.Differ() == 0 && (d.Number == "" || made != nil && strconv.Itoa(*made) == d.Number)
}

// Differ is the number of draws during the match that do not follow from nonce and entropies.
func (d *matchDraw) Differ() int {
	return len(lists.Filter(d.Draw.Draws, func(o record.RecomputedOutcome) bool { return !o.Holds }))
}

// matchDrawOf is the draw of a conversation; nil for none.
func matchDrawOf(c *record.Conversation) *matchDraw {
	if c.Draw == nil {
		return nil
	}
	entropy := func(id string) string {
		text, _ := c.Draw.Entropies.Get(id)
		return digestOnly(text)
	}
	d := &matchDraw{
		Conversation: c, Nonce: digestOnly(c.Draw.Nonce), Commitment: digestOnly(c.Draw.Commitment),
		EntropyA: entropy(c.PlayerA.PlayerID), EntropyB: entropy(c.PlayerB.PlayerID),
	}
	nonce, ok := protocol.ParseSecret(d.Nonce)
	if !ok {
		return d
	}
	d.CommitmentInput = hex.EncodeToString(protocol.DrawInput(c.LeagueID, c.MatchID, c.Attempt, c.RefereeID, nonce))
	if input := c.Draw.NumberInput; input != nil && c.Result != nil && c.Result.DrawnNumber != nil {
		d.Number, d.NumberInput = strconv.Itoa(*c.Result.DrawnNumber), hex.EncodeToString(input)
	}
	return d
}

// digestOnly is a text of 64 hexadecimal digits; "" for any other.
func digestOnly(text string) string {
	if _, ok := protocol.ParseSecret(text); !ok {
		return ""
	}
	return text
}
