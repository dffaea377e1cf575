package person

import (
	"cmp"
	"slices"
	"strings"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// A match is one of the person, as far as its player knows it.
type match struct {
	id, opponent string
	side         rules.Side // of the person; NoSide if unknown
	question     *question  // the last one; nil before the first
	result       *Result    // nil before the end

	game   rules.Game   // nil for one that this program does not have
	course rules.Course // with the person's move after an answer
	known  bool         // the course is that of the match
	info   rules.Info   // of the game; of an unknown one, what the questions say
	board  [][]string   // of the question before, which had one
}

// join completes what is known of the match.
func (m *match) join(opponentID, role string) {
	if opponentID != "" {
		m.opponent = opponentID
	}
	switch role {
	case protocol.RolePlayerA:
		m.side = rules.SideA
	case protocol.RolePlayerB:
		m.side = rules.SideB
	}
}

// stop ends the time of the question.
func (m *match) stop() {
	if m.question != nil && m.question.timer.Stop() && m.question.waits() {
		close(m.question.late)
	}
}

// ask takes a new question, and finds the course of the match before it.
func (m *match) ask(q *question, games rules.Registry) {
	if m.question != nil {
		m.board = boardIn(m.question.view.Context)
	}
	m.question, m.known = q, false
	m.plays(q.view.GameType, games)
	m.info.Rules = cmp.Or(m.info.Rules, q.view.Rules)
	if m.game != nil && m.side != rules.NoSide && q.view.Context[contextView] == nil {
		m.course, m.known = strategy.CourseOf(m.game, m.side, &q.view)
	}
}

// plays completes what is known of the game.
func (m *match) plays(gameType string, games rules.Registry) {
	if m.info.Type != "" || gameType == "" {
		return
	}
	m.info.Type, m.info.DisplayName = gameType, gameType
	if game, err := games.Game(gameType); err == nil {
		m.game, m.info = game, game.Info()
	}
}

// moved makes the person's move.
func (m *match) moved(move string) {
	if !m.known {
		return
	}
	after, err := m.course.Move(m.side, move)
	m.course, m.known = after, err == nil
}

// over takes the result. The moves in it are the last ones: they complete the course if it lacks the opponent's.
func (m *match) over(r *protocol.PlayedMatch, reason string) {
	m.result = &Result{Kind: r.Result, Own: r.MyChoice, Other: r.OpponentChoice, Number: r.DrawnNumber, Reason: reason}
	if !m.known || m.question == nil || !done(m.question.answered) || m.course.Over() || r.OpponentChoice == "" {
		return
	}
	if after, err := m.course.Move(m.side.Other(), r.OpponentChoice); err == nil && after.Over() {
		m.course = after
	}
}

// A Result is how a match of the person has ended.
type Result struct {
	Kind       string // as in PlayedMatch
	Own, Other string // the last moves; "" for none
	Number     int    // that was drawn; 0 for none
	Reason     string // of the referee; "" for none
}

// Points returns 1 for a match that the person has won, 0 for a draw and -1 for one that it has lost.
func (r *Result) Points() int {
	switch {
	case strings.HasSuffix(r.Kind, "WIN"):
		return 1
	case r.Kind == "DRAW":
		return 0
	}
	return -1
}

// Title is the result in words.
func (r *Result) Title() string {
	switch r.Points() {
	case 1:
		return "You won"
	case 0:
		return "A draw"
	}
	return "You lost"
}

// Technical tells that a side did not answer.
func (r *Result) Technical() bool { return strings.HasPrefix(r.Kind, "TECHNICAL") }

// The members of the context of a question that every game with views has.
const (
	contextView  = "view"
	contextBoard = "board"
)

// boardIn returns the board that the context of a question has as rows of cells; nil for none.
func boardIn(context map[string]any) [][]string {
	var rows []any
	switch board := context[contextBoard].(type) {
	case [][]string:
		return board
	case []any:
		rows = board
	}
	var board [][]string
	for _, row := range rows {
		cells, ok := row.([]any)
		if !ok || len(board) > 0 && len(cells) != len(board[0]) {
			return nil
		}
		board = append(board, lists.Map(cells, func(cell any) string {
			text, _ := cell.(string)
			return text
		}))
	}
	return board
}

// made are the moves of the match so far, as far as they are known.
func (m *match) made(playerID string) []Made {
	if m.known {
		return lists.Map(m.course.Moves(), func(one rules.Move) Made {
			return Made{Own: one.Side == m.side, Words: m.info.Say(one.Text)}
		})
	}
	if m.question == nil {
		return nil
	}
	moves := lists.Map(m.question.view.Moves, func(one protocol.PlayerMove) Made {
		if one.Secret {
			return Made{Own: one.PlayerID == playerID, Words: "a secret move"}
		}
		return Made{Own: one.PlayerID == playerID, Words: m.info.Say(one.Move)}
	})
	if q := m.question; done(q.answered) && !q.spent {
		moves = append(slices.Clip(moves), Made{Own: true, Words: m.info.Say(q.move)})
	}
	return moves
}
