package record

import (
	"evenodd/league/lists"
	"evenodd/rules"
)

// open makes the position after an opening the first step. It returns false if the rules do not allow the opening.
func (r *replay) open(opening []string) (ok bool) {
	if _, err := rules.BeginAfter(r.game, opening); err != nil {
		return false
	}
	for n := range len(opening) + 1 { // by its plies, so that each cell has its owner
		r.course, _ = rules.BeginAfter(r.game, opening[:n])
		step := Step{Board: boardOf(r.course.Position())}
		if n > 0 {
			step.Moves = []MadeMove{{Side: rules.Side((n - 1) % 2)}}
		}
		r.steps = append(r.steps, step)
		settle(r.steps)
	}
	first := r.steps[len(opening)]
	for i := range first.Cells {
		for k := range first.Cells[i] {
			first.Cells[i][k].Changed = false
		}
	}
	first.Moves, first.Changed, first.Opening = nil, nil, lists.Map(opening, r.info.Say)
	r.steps = []Step{first}
	return true
}
