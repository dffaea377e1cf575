package protocol

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A TimeBank is the time that each side of a match has for all of its moves, in milliseconds: Initial at the beginning,
// and Increment more after each legal move.
type TimeBank struct {
	// milliseconds at the beginning of the match
	Initial int `json:"initial_ms" rule:"min=1000,max=86400000"`
	// milliseconds after each legal move
	Increment int `json:"increment_ms" rule:"max=3600000"`
}

// The bounds of a time bank, in milliseconds.
const (
	leastTime     = 1000
	mostTime      = 24 * mostIncrement
	mostIncrement = 3_600_000
)

// ParseTimeBank reads a time bank such as "60s+1s", or "60s" for one without increment. Both times are whole
// milliseconds. It returns nil for "", which is no time bank.
func ParseTimeBank(text string) (*TimeBank, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no text is no time bank
	}
	first, more, increases := strings.Cut(text, "+")
	initial, err := time.ParseDuration(first)
	increment := time.Duration(0)
	if increases && err == nil {
		increment, err = time.ParseDuration(more)
	}
	if err != nil || initial%time.Millisecond != 0 || increment%time.Millisecond != 0 {
		return nil, fmt.Errorf("%.40q is no time of whole milliseconds, such as 5m, or 60s+1s with an increment", text)
	}
	b := &TimeBank{int(initial.Milliseconds()), int(increment.Milliseconds())}
	if b.Check() != nil {
		return nil, fmt.Errorf("%.40q: %w", text, b.Check())
	}
	return b, nil
}

// String returns the form that ParseTimeBank reads; "" for nil.
func (b *TimeBank) String() string {
	switch {
	case b == nil:
		return ""
	case b.Increment == 0:
		return shortDuration(b.Initial)
	}
	return shortDuration(b.Initial) + "+" + shortDuration(b.Increment)
}

// shortDuration writes milliseconds without units that are zero: 5m, not 5m0s.
func shortDuration(ms int) string {
	text := (time.Duration(ms) * time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Check returns an error for a time bank beyond its bounds; nil is none.
func (b *TimeBank) Check() error {
	if b == nil || b.Initial >= leastTime && b.Initial <= mostTime && b.Increment >= 0 && b.Increment <= mostIncrement {
		return nil
	}
	return errors.New("a time bank has from 1s to 24h, and an increment of at most 1h")
}

// Longest is the most time that both sides of a match can take from their banks in a number of turns, in each of which
// each side moves at most once.
func (b *TimeBank) Longest(turns int) time.Duration {
	return 2 * time.Duration(b.Initial+turns*b.Increment) * time.Millisecond
}

// UsedUpTime begins the reason of a loss by time, behind the id of the player.
const UsedUpTime = "used up its time"

// TimeUsed is what one call attempt took from the time bank of its player, in milliseconds.
type TimeUsed struct {
	Debit int `json:"debit_ms"`
	Left  int `json:"left_ms"` // after the debit, and the increment after a legal move
	// how much longer it took by the times of the transcript: the clock was set, or the referee's machine slept
	ClockSet int `json:"clock_set_ms,omitzero"`
}
