package decide

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/text/unicode/norm"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A Roster lists the agents that may register, with the registration code of each. It
// restricts the roles that it lists. It is immutable, and holds no code: only hashes. The
// nil roster restricts nobody.
type Roster struct {
	listed map[rosterKey]codeHash
	size   journal.Roster
}

// A rosterKey is a role and a display name in the form NFC of Unicode.
type rosterKey struct {
	player bool
	name   string
}

func keyOf(player bool, name string) rosterKey { return rosterKey{player, norm.NFC.String(name)} }

type codeHash [sha256.Size]byte

// NewRoster returns an empty roster.
func NewRoster() *Roster {
	return &Roster{listed: map[rosterKey]codeHash{}}
}

// Add lists an agent. In each role a name is listed once, and each code is listed once.
func (r *Roster) Add(player bool, name, code string) {
	r.listed[keyOf(player, name)] = sha256.Sum256([]byte(code))
	if player {
		r.size.Players++
	} else {
		r.size.Referees++
	}
}

// Size is the number of agents that the roster lists; nil without a roster.
func (r *Roster) Size() *journal.Roster {
	if r == nil {
		return nil
	}
	return new(r.size)
}

// Restricts tells whether only listed agents of a role may register.
func (r *Roster) Restricts(player bool) bool {
	return r != nil && (player && r.size.Players > 0 || !player && r.size.Referees > 0)
}

// Lists tells whether the roster has a name in a role.
func (r *Roster) Lists(player bool, name string) bool {
	_, listed := r.listed[keyOf(player, name)]
	return listed
}

// Names are the names that the roster lists in a role, in order.
func (r *Roster) Names(player bool) (names []string) {
	if r == nil {
		return nil
	}
	for key := range r.listed {
		if key.player == player {
			names = append(names, key.name)
		}
	}
	slices.Sort(names)
	return names
}

// Check returns a *RejectionError for an applicant without the code of its name. It compares the code
// with no other, so that each guess tries one name. The time that it takes does not depend on how much
// of the code is right.
func (r *Roster) Check(a *Applicant) error {
	if !r.Restricts(a.Player()) {
		return nil
	}
	code, listed := r.listed[keyOf(a.Player(), a.DisplayName)]
	given := sha256.Sum256([]byte(a.Code))
	const remedy = "send the code that the organiser gave to this name (evenodd: --registration-code or EVENODD_REGISTRATION_CODE)"
	name := strconv.Quote(a.DisplayName)
	switch {
	case listed && subtle.ConstantTimeCompare(code[:], given[:]) == 1:
		return nil
	case a.Code == "":
		return Reject(protocol.ErrMissingField,
			"registration_code is missing, and this league admits only the agents of its roster: %s", remedy)
	case !listed:
		return Reject(protocol.ErrNotAuthorized,
			"the roster of this league has no %s with the display_name %s: register with the name that the organiser listed, written in the same way", a.Role, name)
	}
	return Reject(protocol.ErrNotAuthorized, "registration_code is not that of %s: %s", name, remedy)
}

// Guesses limits the wrong codes for each name of a roster from each address. The address is part of the
// limit so that nobody at another one can keep the owner of a name out. The zero value is ready to use.
type Guesses struct {
	ends  time.Time         // of the period
	wrong map[[2]string]int // by role with name, and address
}

// The limits of Guesses.
const (
	guessPeriod = time.Minute
	mostWrong   = 5       // codes in a period, for one name from one address
	mostGuesses = 100_000 // pairs of a name and an address in a period, so that the memory is bounded
)

// Check is the Roster's, or E022 with the time until the period ends, for a right code too.
func (g *Guesses) Check(r *Roster, a *Applicant, address string, now time.Time) error {
	if !r.Restricts(a.Player()) || !r.Lists(a.Player(), a.DisplayName) || a.Code == "" {
		return r.Check(a) // no guess
	}
	if !now.Before(g.ends) {
		g.ends, g.wrong = now.Add(guessPeriod), map[[2]string]int{}
	}
	key := [2]string{a.Role + " " + norm.NFC.String(a.DisplayName), address}
	n, known := g.wrong[key]
	if n >= mostWrong || !known && len(g.wrong) >= mostGuesses {
		limited := protocol.RateLimited(g.ends.Sub(now))
		limited.Detail = fmt.Sprintf("too many wrong values of registration_code for this name from this address: wait %s",
			limited.RetryAfter())
		return limited
	}
	err := r.Check(a)
	if err != nil {
		g.wrong[key]++
	}
	return err
}

// Holder is the registered agent with the role and the display name of an applicant whose
// code the roster has confirmed; nil for none, and without a roster.
func (r *Roster) Holder(s *journal.State, a *Applicant) *journal.Agent {
	if !r.Restricts(a.Player()) {
		return nil
	}
	for _, known := range s.Named(a.Player(), a.DisplayName) {
		if keyOf(known.Player, known.DisplayName) == keyOf(a.Player(), a.DisplayName) {
			return known
		}
	}
	return nil
}
