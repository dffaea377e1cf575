package page

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/pairing"
)

// A bracket is the view of the bracket of a knockout or double elimination.
type bracket struct {
	Parts   []bracketPart // none before the start
	Earlier bool          // the first stages are left out
}

// A bracketPart is a part of a bracket: its only one, or the winners' bracket, the losers' bracket, or the finals.
type bracketPart struct {
	Title  string
	Hidden bool // the title is that of the page
	Stages []bracketStage
}

// A bracketStage is a column of a bracket.
type bracketStage struct {
	Title    string
	Straight bool // each place leads to one of the next stage, not two to one
	Ties     []bracketTie
	Third    *bracketTie // nil for none
}

// A bracketTie is a place in the bracket.
type bracketTie struct {
	Empty   bool // no player comes here
	Sides   [2]bracketSide
	Matches []string // ids
}

// A bracketSide is a player in a place of the bracket, with the marks of its matches there.
type bracketSide struct {
	ref          // the zero value for a player that is not known
	State string // won, lost or "" without a decision
	Marks []mark
}

// leadingPlaces is the number of places of a stage up to which the overview shows it.
const leadingPlaces = 16

// bracket is the bracket of a league, without stages of more places; nil for another format.
func (m *moment) bracket(places int) *bracket {
	if !m.Created.Tournament.HasBracket() {
		return nil
	}
	b := &bracket{}
	if m.Started == nil {
		return b
	}
	parts := m.Bracket(min(m.last(), m.CompletedRounds()))
	for i, stages := range parts {
		part := bracketPart{Title: "Bracket"}
		if len(parts) > 1 {
			part.Title = [...]string{"Winners’ bracket", "Losers’ bracket", "Final"}[i] // of a double elimination
		}
		for stage, slots := range stages {
			column := m.bracketStage(slots)
			if column.Title = stageTitle(len(stages) - stage); len(parts) > 1 {
				column.Title = doubleTitle(i, stage, len(stages))
				column.Straight = stage+1 < len(stages) && len(slots) == len(stages[stage+1])
			}
			switch {
			case len(column.Ties) > places:
				b.Earlier = true
			case i < finals || stage == 0 || !unneeded(slots[0]):
				part.Stages = append(part.Stages, column)
			}
		}
		if i == finals && len(part.Stages) == 1 {
			part.Stages[0].Title = "" // that of the part
		}
		if len(part.Stages) > 0 {
			b.Parts = append(b.Parts, part)
		}
	}
	return b
}

// finals is the index of the part with the finals of a double elimination.
const finals = 2

// unneeded tells whether a second final is not played.
func unneeded(second pairing.Slot) bool {
	return second.Winner != league.None && len(second.Matches) == 0
}

func (m *moment) bracketStage(slots []pairing.Slot) (stage bracketStage) {
	for _, slot := range slots {
		tie := bracketTie{Empty: slot.Empty, Sides: [2]bracketSide{m.side(slot.A, slot.Winner), m.side(slot.B, slot.Winner)}}
		for _, id := range slot.Matches {
			if id.Round <= m.last() {
				tie.add(m.result(id))
			}
		}
		if slot.Third {
			stage.Third = &tie
		} else {
			stage.Ties = append(stage.Ties, tie)
		}
	}
	return stage
}

// stageTitle names a stage by the number of stages from it to the end.
func stageTitle(left int) string {
	names := [...]string{1: "Final", 2: "Semi-final", 3: "Quarter-final"}
	if left < len(names) {
		return names[left]
	}
	return fmt.Sprintf("Round of %d", 1<<left)
}

// doubleTitle names a stage of a part of a double elimination.
func doubleTitle(part, stage, stages int) string {
	last := stage == stages-1
	switch {
	case part == finals:
		return [...]string{"First final", "Second final"}[stage]
	case part == 0 && last:
		return "Winners’ final"
	case part == 0:
		return stageTitle(stages - stage)
	case last:
		return "Losers’ final"
	}
	return fmt.Sprintf("Stage %d", stage+1)
}

// side is a side of a place in the bracket.
func (m *moment) side(player, winner int) (s bracketSide) {
	if player == league.None {
		return s
	}
	s.ref = m.agent(m.Started.Players[player])
	switch winner {
	case player:
		s.State = "won"
	case league.None:
	default:
		s.State = "lost"
	}
	return s
}

// add adds a match.
func (t *bracketTie) add(r result) {
	t.Matches = append(t.Matches, r.MatchID)
	for i := range t.Sides {
		if s := &t.Sides[i]; r.HasResult() {
			s.Marks = append(s.Marks, markOf(&r.Result, s.ID))
		}
	}
}
