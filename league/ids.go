package league

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// The letters before the number of an agent id.
const (
	playerLetters  = "P"
	refereeLetters = "REF"
)

// PlayerID formats the n-th player's identifier: P01 … P99, P100 ….
func PlayerID(n int) string { return fmt.Sprintf("P%02d", n) }

// RefereeID formats the n-th referee's identifier: REF01 … REF99, REF100 ….
func RefereeID(n int) string { return fmt.Sprintf("REF%02d", n) }

// ParsePlayerID is the number of a well-formed player id, from 1.
func ParsePlayerID(id string) (int, bool) { return numbered(id, playerLetters) }

// ParseRefereeID is the number of a well-formed referee id, from 1.
func ParseRefereeID(id string) (int, bool) { return numbered(id, refereeLetters) }

// numbered accepts two digits, or more without leading zeros.
func numbered(id, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(id, prefix)
	if !ok || len(digits) < 2 || len(digits) > 2 && digits[0] == '0' {
		return 0, false
	}
	return counting(digits, 6)
}

// HasDate tells whether the id of a league begins with a date, such as 2026-11-29-class-cup. The manager has made such
// an id itself.
func HasDate(leagueID string) bool {
	const form = "0000-00-00"
	if len(leagueID) < len(form) || len(leagueID) > len(form) && leagueID[len(form)] != '-' {
		return false
	}
	for i := range form {
		digit := leagueID[i] >= '0' && leagueID[i] <= '9'
		if digit != (form[i] == '0') || !digit && leagueID[i] != '-' {
			return false
		}
	}
	return true
}

// A MatchID identifies a match by its round and its number in that round, both
// from 1. The zero MatchID identifies no match. As text it is R1M1.
type MatchID struct{ Round, Number int }

// String returns the id as messages contain it.
func (id MatchID) String() string {
	text, _ := id.AppendText(make([]byte, 0, 16))
	return string(text)
}

// AppendText appends the id as messages contain it. It never fails.
func (id MatchID) AppendText(text []byte) ([]byte, error) {
	text = strconv.AppendInt(append(text, 'R'), int64(id.Round), 10)
	return strconv.AppendInt(append(text, 'M'), int64(id.Number), 10), nil
}

// MarshalText implements encoding.TextMarshaler. It never fails.
func (id MatchID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText accepts only text that MarshalText returns for a valid id.
func (id *MatchID) UnmarshalText(text []byte) error {
	parsed, ok := ParseMatchID(string(text))
	if !ok {
		return fmt.Errorf("%.40q is not a match id such as R1M1", text)
	}
	*id = parsed
	return nil
}

// ParseMatchID is the reverse of MatchID.String for ids with a round and number
// of at least 1. For all other text it returns the zero MatchID and false.
func ParseMatchID(text string) (MatchID, bool) {
	rest, ok := strings.CutPrefix(text, "R")
	if !ok || len(text) > 20 {
		return MatchID{}, false
	}
	round, number, ok := strings.Cut(rest, "M")
	if !ok {
		return MatchID{}, false
	}
	r, okR := counting(round, 9)
	n, okN := counting(number, 9)
	if !okR || !okN || round[0] == '0' || number[0] == '0' {
		return MatchID{}, false
	}
	return MatchID{r, n}, true
}

// Compare orders match ids by round, then by number.
func (id MatchID) Compare(other MatchID) int {
	return cmp.Or(cmp.Compare(id.Round, other.Round), cmp.Compare(id.Number, other.Number))
}

// An Attempt identifies one attempt at a match. Numbers count from 1.
type Attempt struct {
	MatchID MatchID `json:"match_id"`
	Number  int     `json:"attempt"`
}

// counting is a number of at least 1, with so many digits at most.
func counting(digits string, most int) (int, bool) {
	if len(digits) > most || strings.HasPrefix(digits, "+") {
		return 0, false
	}
	n, _ := strconv.Atoi(digits) // 0 for another text than a number
	return max(n, 0), n > 0
}

// CompareIDs orders identifiers: players by number (P99 before P100), then
// referees by number, then whatever is not well formed, as text.
func CompareIDs(a, b string) int {
	for _, prefix := range []string{playerLetters, refereeLetters} {
		x, okA := numbered(a, prefix)
		y, okB := numbered(b, prefix)
		switch {
		case okA && okB:
			return x - y
		case okA:
			return -1
		case okB:
			return 1
		}
	}
	return strings.Compare(a, b)
}
