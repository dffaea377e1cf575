package journal

import "errors"

// A Decision is what each event of an organiser's decision contains. Nobody verifies the
// name of the author.
type Decision struct {
	By     string `json:"by"`              // 1 to MaxBy characters of printable text
	Reason string `json:"reason,omitzero"` // up to MaxReason characters of printable text
}

// The longest texts of a Decision, in characters.
const (
	MaxBy     = 64
	MaxReason = 500
)

// TEMPORARY until the decisions land.
func (s *State) Check(d *StartPlanned) error {
	if d.By == "" {
		return errors.New("by: 1 to 64 characters")
	}
	return d.check(s)
}

func (d Decision) describe(done string) string { return done + " by " + d.By }
