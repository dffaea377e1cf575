package store

import (
	"slices"

	"evenodd/league/protocol"
)

// A shared holds what the lines of a history.jsonl have in common. A decision and a head leave
// out what the last line of their kind that has it says.
type shared struct {
	started, managerKey string
}

// abbreviate returns a line of the player without what earlier lines say, and without what
// follows from other members of the line.
func (s *shared) abbreviate(line any, playerID string) any {
	switch line := line.(type) {
	case *HistoryDecision:
		short := *line
		d := &short.Decision
		if own, _ := d.EntropyCommitments.Get(playerID); own != "" && own == short.ownCommitment(playerID) {
			d.EntropyCommitments = slices.DeleteFunc(slices.Clone(d.EntropyCommitments), func(c protocol.Member[string]) bool { return c.Name == playerID })
		}
		d.Started = leaveOut(d.Started, &s.started)
		return &short
	case *HistoryHead:
		short := *line
		short.Head.ManagerKey = leaveOut(short.Head.ManagerKey, &s.managerKey)
		return &short
	}
	return line
}

// leaveOut returns "" for the value of an earlier line. It keeps any other value.
func leaveOut(value string, earlier *string) string {
	if value == *earlier {
		return ""
	}
	*earlier = value
	return value
}

// expandDecision is the inverse of abbreviate.
func (s *shared) expandDecision(line *HistoryDecision, playerID string) {
	d := &line.Decision
	fillIn(&d.Started, &s.started)
	if _, given := d.EntropyCommitments.Get(playerID); !given {
		if own := line.ownCommitment(playerID); own != "" {
			d.EntropyCommitments = append(d.EntropyCommitments, protocol.Member[string]{Name: playerID, Value: own})
		}
	}
	if d.RoleInMatch == protocol.RolePlayerA && len(d.EntropyCommitments) == 2 && d.EntropyCommitments[1].Name == playerID {
		slices.Reverse(d.EntropyCommitments)
	}
}

// expandHead is the inverse of abbreviate.
func (s *shared) expandHead(h *SignedHead) { fillIn(&h.ManagerKey, &s.managerKey) }

// fillIn is the inverse of leaveOut.
func fillIn(value, earlier *string) {
	if *value == "" {
		*value = *earlier
	}
	*earlier = *value
}

// ownCommitment returns the commitment to the entropy of the decision; "" without one.
func (d *HistoryDecision) ownCommitment(playerID string) string {
	entropy, ok := protocol.ParseSecret(d.Decision.Entropy)
	if !ok {
		return ""
	}
	return protocol.EntropyCommitment(d.MatchID, playerID, entropy)
}
