package rules

import "fmt"

// The sizes of messages about a match, in bytes.
const (
	usualMessage = 10 << 10 // each agent reads so much
	largeMessage = 64 << 10

	// ReportRest is the size of a report without moves and draws, at most.
	ReportRest = 4 << 10
	// DrawSize is the size of a draw in a report, at most.
	DrawSize = len(`{"turn":400,"of":2147483647,"number":2147483646},`)
	// QuestionRest is the size of a question without options, view, board, rules, moves and draws, at most.
	QuestionRest = 2 << 10
	// MoveSize is the usual size of a move in a report, without the move.
	MoveSize = len(`{"player_id":"P01","move":"","turn":400},`)
)

// MaxMessage is the most bytes of a message about a match of the game.
func (i *Info) MaxMessage() int {
	if i.Large {
		return largeMessage
	}
	return usualMessage
}

// CheckSize returns an error if a message about a match of the game is too large, with a size in bytes. What is the
// beginning of the error: "a question has". The error says what the author of the game can do.
func (i *Info) CheckSize(what string, size int) error {
	most := i.MaxMessage()
	if size <= most {
		return nil
	}
	remedy := `set "large": true in the description of the game`
	if i.Large {
		remedy = "make views and options smaller"
	}
	return fmt.Errorf("%s %d bytes, more than the %d KB of a message: %s, or lower max_turns, max_moves (of one side) or max_move",
		what, size, most>>10, remedy)
}

// CheckReport returns an error if the report of the longest match can be too large. It does not know the number of
// draws.
func (p *Program) CheckReport() error {
	moves := min(p.info.MaxMoves, p.maxTurns)
	size := ReportRest + 2*(moves+1)*(MoveSize+p.info.MaxMove)
	return p.info.CheckSize(fmt.Sprintf("the report of a match of %d turns, with %d moves of each side, can have",
		p.maxTurns,
		moves), size)
}
