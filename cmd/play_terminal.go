package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"evenodd/league/lists"
	"evenodd/league/words"
	"evenodd/player/strategy/person"
)

// atTerminal lets the person play in the terminal, until ctx ends or standard input does; then it calls stop.
func (p *playing) atTerminal(ctx context.Context, stop func()) (leave func()) {
	t := &terminalGame{streams: p.streams, person: p.persons[0], again: p.playAgain,
		replay: fmt.Sprintf("evenodd replay %%s --board --league-id %s --data %s", p.LeagueID, p.data)}
	return background(func(ended context.Context) {
		context.AfterFunc(ctx, stop)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ended, cancel)()
		t.play(ctx)
		stop()
	})
}

// A terminalGame is what a terminal has shown.
type terminalGame struct {
	streams

	person *person.Person
	again  func()
	replay string // command line, with %s for the id of the match

	game     string // whose rules were told
	match    string // that was introduced
	moves    int    // of it that were told
	question int    // that was asked
	late     bool   // the end of the time was told
	result   bool   // the result was told
	end      bool   // the end of the league was told
}

func (t *terminalGame) play(ctx context.Context) {
	lines := typed(ctx)
	for {
		state, changed := t.person.Now()
		t.tell(state)
		input := lines
		if state.Question == nil && !state.Again {
			input = nil // a line that was typed early is for the next question
		}
		select {
		case line, open := <-input:
			if !open {
				return
			}
			if state.Again && state.Question == nil {
				if strings.HasPrefix(strings.ToLower(strings.TrimSpace(line)), "q") {
					return
				}
				t.again()
				<-changed
				continue
			}
			t.answer(state, line)
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// tell tells what is new.
func (t *terminalGame) tell(s *person.State) {
	if s.Match != t.match {
		*t = terminalGame{streams: t.streams, person: t.person, again: t.again, replay: t.replay, game: t.game,
			match: s.Match}
		if s.Match != "" {
			t.note("")
			t.note("Match %s: %s against %s", s.Match, s.Player, s.Opponent)
		}
	}
	for _, m := range s.Moves[min(t.moves, len(s.Moves)):] {
		who := "You"
		if !m.Own {
			who = s.Opponent
		}
		t.note("%s: %s", who, m.Words)
	}
	if t.moves = max(t.moves, len(s.Moves)); s.Refused != "" { // a text that was told is no move
		t.moves = len(s.Moves)
	}
	switch {
	case s.Question != nil && s.Question.Number != t.question:
		t.introduce(s)
		if t.question == 0 && len(s.Opening) > 0 {
			t.note("The match began with an opening that nobody chose: %s", strings.Join(s.Opening, ", "))
		}
		t.question = s.Question.Number
		if s.Refused != "" { // the position is as before
			t.note("%s. Write something else.", s.Refused)
		} else {
			t.see(s)
		}
		t.ask(s.Question)
	case s.Late && !t.late:
		t.late = true
		t.note("Your time is over, and the match is lost.")
	case s.Result != nil && !t.result:
		t.result = true
		t.tellResult(s)
	}
	if s.End != "" && s.Again && !t.end {
		t.end = true
		t.note("%s Enter plays again, q ends.", s.End)
	}
}

// see shows the position.
func (t *terminalGame) see(s *person.State) {
	for line := range strings.Lines(s.Text) {
		t.note("%s", strings.TrimRight(line, "\n"))
	}
	for _, fact := range s.Facts {
		t.note("%s: %s", fact.Name, fact.Value)
	}
	t.board(s.Board)
}

// board draws a board. A free cell has the name of the only move that fills it; * precedes one that the last move has
// changed.
func (t *terminalGame) board(cells [][]person.Cell) {
	count := map[string]int{}
	for _, row := range cells {
		for _, c := range row {
			count[c.Move]++
		}
	}
	text := lists.Map(cells, func(row []person.Cell) []string {
		return lists.Map(row, func(c person.Cell) string {
			switch {
			case strings.Trim(c.Text, ". ") != "":
				return c.Text
			case c.Move != "" && count[c.Move] == 1:
				return c.Move
			}
			return "·"
		})
	})
	width := 0
	for _, row := range text {
		for _, cell := range row {
			width = max(width, utf8.RuneCountInString(cell))
		}
	}
	for i, row := range cells {
		var line strings.Builder
		for k, cell := range row {
			before := " "
			if cell.New {
				before = "*"
			}
			line.WriteString(strings.Repeat(" ", width-utf8.RuneCountInString(text[i][k])) + before + text[i][k])
		}
		t.note(" %s", &line)
	}
}

// introduce tells the rules of a game before its first question.
func (t *terminalGame) introduce(s *person.State) {
	if t.game == s.Game {
		return
	}
	if t.game == "" {
		mark := ""
		if len(s.Board) > 0 {
			mark = " On the board * precedes the last move."
		}
		t.note("Ctrl-C leaves the game.%s", mark)
	}
	t.game = s.Game
	t.note("%s: %s", s.Game, s.Rules)
}

// tellResult tells the result of a match.
func (t *terminalGame) tellResult(s *person.State) {
	t.board(s.Board)
	if r := s.Result; r.Own != "" && r.Other != "" && len(s.Moves) == 0 {
		t.note("You chose %s, %s chose %s.", r.Own, s.Opponent, r.Other)
	}
	t.note("%s", strings.TrimSuffix(s.Result.Title()+". "+s.Result.Reason, " "))
	if s.Refused != "" {
		t.note("%s.", s.Refused)
	}
	t.note("See it again with: "+t.replay, s.Match)
}

// ask asks for a move.
func (t *terminalGame) ask(q *person.Question) {
	left := time.Until(q.Deadline).Round(time.Second)
	if q.Text > 0 {
		t.note("Your turn, %s left. Write at most %d bytes:", left, q.Text)
		return
	}
	moves := movesOf(q)
	if len(moves) > mostListed {
		t.note("Your turn, %s left: %s", left, briefly(q))
		return
	}
	if !slices.ContainsFunc(moves, func(move string) bool { return len(move) > longMove }) {
		t.note("Your turn, %s left: %s", left, strings.Join(moves, ", "))
		return
	}
	for i, move := range moves {
		t.note("  #%d  %s", i+1, move)
	}
	t.note("Your turn, %s left. Type a move, its beginning, or its number such as #1:", left)
}

// longMove is the length of a move, in bytes, that nobody likes to type.
const longMove = 8

// mostListed is how many moves are listed unless the person asks for them.
const mostListed = 40

// briefly names the moves of a question, or a few of many.
func briefly(q *person.Question) string {
	moves := movesOf(q)
	if len(moves) <= mostListed {
		return strings.Join(moves, ", ")
	}
	return fmt.Sprintf("%d moves, such as %s (? lists all)", len(moves), strings.Join(moves[:3], ", "))
}

func movesOf(q *person.Question) []string {
	return lists.Map(q.Options, func(o person.Option) string { return o.Move })
}

// answer answers the question with a line: a move or its words, in any case of letters, the beginning of only one move,
// or its number after #.
func (t *terminalGame) answer(s *person.State, line string) {
	q, move := s.Question, strings.TrimSpace(line)
	if q == nil || move == "" {
		return
	}
	if q.Text == 0 {
		found := optionOf(q, move)
		if found == "" {
			t.notAMove(q, move)
			return
		}
		move = found
	}
	if err := t.person.Answer(q.Number, move); err != nil {
		t.note("%v", err)
	}
}

// notAMove answers a line that is no move: a question for help, or a mistake.
func (t *terminalGame) notAMove(q *person.Question, line string) {
	switch strings.ToLower(line) {
	case "?":
		t.note("%s", strings.Join(movesOf(q), ", "))
	case "h", "help":
		t.note("Type a move: %s. Ctrl-C leaves the game.", briefly(q))
	case "q", "quit", "exit":
		t.note("Ctrl-C leaves the game: the match is lost then, unless you come back in time.")
	default:
		t.note("%q is not a move%s. Choose one of: %s", words.Clip(line, 60), words.DidYouMean(line, movesOf(q)), briefly(q))
	}
}

// optionOf returns the option that a text stands for; "" for none.
func optionOf(q *person.Question, text string) string {
	var begun []string
	for i, o := range q.Options {
		if strings.EqualFold(o.Move, text) || strings.EqualFold(o.Words, text) || text == fmt.Sprintf("#%d", i+1) {
			return o.Move
		}
		if len(o.Move) > len(text) && strings.EqualFold(o.Move[:len(text)], text) {
			begun = append(begun, o.Move)
		}
	}
	if len(begun) == 1 {
		return begun[0]
	}
	return ""
}
