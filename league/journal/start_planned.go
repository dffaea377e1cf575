package journal

import (
	"errors"
	"fmt"

	"evenodd/league/protocol"
)

// StartPlanned records when the league starts, with the agents that have answered then. A
// time in the past means as soon as enough of them have. The last event counts. It
// replaces the numbers of agents and the times of the manager's configuration.
type StartPlanned struct {
	Decision
	StartAt string `json:"start_at"` // RFC 3339
}

// Matter implements DecisionEvent.
func (*StartPlanned) Matter() string { return "" }

// About implements DecisionEvent.
func (d *StartPlanned) About() string {
	return d.describe(fmt.Sprintf("the start planned for %.40s", d.StartAt))
}

func (d *StartPlanned) check(s *State) error {
	if _, err := protocol.ParseTimestamp(d.StartAt); err != nil {
		return fmt.Errorf("start_at: %w", err)
	}
	if s.Started != nil {
		return errors.New("the league has started: its start cannot be planned again")
	}
	return nil
}

func (d *StartPlanned) apply(s *State, _ string) error {
	s.StartPlanned = d
	return nil
}
