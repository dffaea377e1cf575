package league

import (
	"fmt"
	"slices"

	"evenodd/rules"
)

// The statuses of a match with a result.
const (
	StatusWin           = "WIN"
	StatusDraw          = "DRAW"
	StatusTechnicalLoss = "TECHNICAL_LOSS" // of one player or of both
)

// A Result is the result of a match. Winner, number and parity are null if there is
// none; a missing choice is null. Faults has the error code, such as E001, of each player
// with a technical loss after a failure; a refused invitation is not a failure. Fallbacks has
// the number of fallbacks (see protocol.MoveProof) of each player that had any, among the legal
// moves of the match.
type Result struct {
	Status string `json:"status,omitzero" rule:"required,is=WIN|DRAW|TECHNICAL_LOSS"`
	// id of the winner; null if there is none
	WinnerPlayerID *string `json:"winner_player_id" rule:"optional,null"`
	DrawnNumber    *int    `json:"drawn_number" rule:"optional,null"`
	// `even` or `odd`, the parity of the number; null without a number
	NumberParity *string            `json:"number_parity" rule:"optional,null"`
	Choices      PerPlayer[*string] `json:"choices" rule:"each,null,upto=200"`
	Reason       string             `json:"reason,omitzero" rule:"upto=500"`
	Faults       PerPlayer[string]  `json:"faults,omitzero" rule:"added,each,code"`
	Fallbacks    PerPlayer[int]     `json:"fallbacks,omitzero" rule:"added,each,min=1"`
}

// ResultOf is the result of a match that was played to its end, by the verdict of its game; ids are those of both
// sides. What it points at is allocated with it.
func ResultOf(v rules.Verdict, ids [2]string) *Result {
	r := &struct {
		Result
		verdict rules.Verdict
		choices [2]Member[*string]
		winner  string
	}{verdict: v}
	r.Status, r.Reason, r.Choices = StatusDraw, v.Reason(ids), r.choices[:]
	for i, id := range ids {
		r.choices[i] = Member[*string]{id, nonEmpty(&r.verdict.Moves[i])}
	}
	if v.Winner != rules.NoSide {
		r.winner = ids[v.Winner]
		r.Status, r.WinnerPlayerID = StatusWin, &r.winner
	}
	if v.Number > 0 {
		r.DrawnNumber, r.NumberParity = &r.verdict.Number, &r.verdict.Parity
	}
	return &r.Result
}

// nonEmpty is a move as a result has it: nil for none.
func nonEmpty(move *string) *string {
	if *move == "" {
		return nil
	}
	return move
}

// Moves returns the choices of two players; "" for a missing one.
func (r *Result) Moves(ids [2]string) (moves [2]string) {
	for i, id := range ids {
		if choice, _ := r.Choices.Get(id); choice != nil {
			moves[i] = *choice
		}
	}
	return moves
}

// An Outcome is what a result means to one side.
type Outcome uint8

// The outcomes of a match with a result.
const (
	Win Outcome = iota + 1 // also of the opponent of a player that failed
	Draw
	Loss
	TechnicalLoss // the player failed; it is a loss
)

// Outcome is what the result means to one of the two players.
func (r *Result) Outcome(playerID string) Outcome {
	return outcome(r.WinnerPlayerID != nil && *r.WinnerPlayerID == playerID, r.WinnerPlayerID == nil,
		r.Status == StatusTechnicalLoss)
}

// outcome is the only place that tells the outcomes apart: the side has won, no side has won,
// a player failed.
func outcome(won, nobody, technical bool) Outcome {
	switch {
	case won:
		return Win
	case technical:
		return TechnicalLoss
	case nobody:
		return Draw
	default:
		return Loss
	}
}

// None is the Winner of a Played without a winner.
const None = -1

// A Played is a match with a result as the table, pairings and statistics count it: players are
// indexes. Result.Played makes it of a Result.
type Played struct {
	A, B   int
	Winner int // A, B or None
	// Technical tells that the match ended because a player failed: with a Winner the other
	// player failed, with None both did. None without Technical is a draw.
	Technical bool
	// Copy tells that the players have played the same match before: see record.Results.
	Copy bool
	// Forfeit tells that the match is Technical and neither player made a move in it.
	Forfeit bool
}

// Played is the result of a match between two players, by their indexes and ids. It is an error if the
// status is unknown or contradicts the winner.
func (r *Result) Played(indexes [2]int, ids [2]string) (Played, error) {
	p := Played{A: indexes[0], B: indexes[1], Winner: None, Technical: r.Status == StatusTechnicalLoss}
	chose := func(m Member[*string]) bool { return m.Value != nil }
	p.Forfeit = p.Technical && !slices.ContainsFunc(r.Choices, chose)
	winner := r.WinnerPlayerID
	switch {
	case !p.Technical && r.Status != StatusWin && r.Status != StatusDraw:
		return p, fmt.Errorf("unknown status %.40q", r.Status)
	case winner == nil && r.Status == StatusWin || winner != nil && r.Status == StatusDraw:
		return p, fmt.Errorf("status %s does not go with that winner", r.Status)
	case winner == nil:
		return p, nil
	}
	side := slices.Index(ids[:], *winner)
	if side < 0 {
		return p, fmt.Errorf("the winner %.40s did not play", *winner)
	}
	p.Winner = indexes[side]
	return p, nil
}

// Outcome is what the result means to one of the two players.
func (p Played) Outcome(player int) Outcome {
	return outcome(p.Winner == player, p.Winner == None, p.Technical)
}

// Check returns an error if no match of a number of players can end so.
func (p Played) Check(players int) error {
	for _, player := range [...]int{p.A, p.B} {
		if player < 0 || player >= players {
			return fmt.Errorf("result of players %d and %d: there is no player %d among %d", p.A, p.B, player, players)
		}
	}
	if p.A == p.B {
		return fmt.Errorf("result of players %d and %d: a player needs an opponent", p.A, p.B)
	}
	if p.Winner != p.A && p.Winner != p.B && p.Winner != None {
		return fmt.Errorf("result of players %d and %d: the winner %d did not play", p.A, p.B, p.Winner)
	}
	return nil
}
