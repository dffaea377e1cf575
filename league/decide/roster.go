package decide

import (
	"crypto/sha256"
	"crypto/subtle"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A Roster lists the agents that may register, with the registration code of each. It
// restricts the roles that it lists. It is immutable, and holds no code: only hashes. The
// nil roster restricts nobody.
type Roster struct {
	listed            map[rosterKey]codeHash
	owners            map[codeHash]rosterKey
	players, referees int
}

// A rosterKey is a role and a display name in the form NFC of Unicode.
type rosterKey struct {
	player bool
	name   string
}

type codeHash [sha256.Size]byte

// NewRoster returns an empty roster.
func NewRoster() *Roster {
	return &Roster{listed: map[rosterKey]codeHash{}, owners: map[codeHash]rosterKey{}}
}

// Add lists an agent. In each role a name is listed once, and each code is listed once.
func (r *Roster) Add(player bool, name, code string) {
	key, hash := rosterKey{player, norm.NFC.String(name)}, codeHash(sha256.Sum256([]byte(code)))
	r.listed[key], r.owners[hash] = hash, key
	if player {
		r.players++
	} else {
		r.referees++
	}
}

// Size is the number of agents that the roster lists; nil without a roster.
func (r *Roster) Size() *journal.Roster {
	if r == nil {
		return nil
	}
	return &journal.Roster{Players: r.players, Referees: r.referees}
}

// Restricts tells whether only listed agents of a role may register.
func (r *Roster) Restricts(player bool) bool {
	return r != nil && (player && r.players > 0 || !player && r.referees > 0)
}

// Lists tells whether a registered agent is in the roster, by role and name.
func (r *Roster) Lists(a *journal.Agent) bool {
	_, listed := r.listed[rosterKey{a.Player, norm.NFC.String(a.DisplayName)}]
	return listed
}

// Check returns a *RejectionError for an applicant without the code of its name. The time
// that it takes does not depend on how much of a code is right.
func (r *Roster) Check(a *Applicant) error {
	if !r.Restricts(a.Player()) {
		return nil
	}
	key, given := rosterKey{a.Player(), norm.NFC.String(a.DisplayName)}, codeHash(sha256.Sum256([]byte(a.Code)))
	code, listed := r.listed[key]
	owner, owned := r.owners[given]
	const remedy = "send the code that the organiser gave to this name (evenodd: --registration-code or EVENODD_REGISTRATION_CODE)"
	name := strconv.Quote(a.DisplayName)
	switch {
	case listed && subtle.ConstantTimeCompare(code[:], given[:]) == 1:
		return nil
	case a.Code == "":
		return Reject(protocol.ErrMissingField, "registration_code is missing, and this league admits only the agents of its roster: %s", remedy)
	case owned && owner.player != a.Player():
		return Reject(protocol.ErrNotAuthorized, "registration_code is that of a %s, but a %s registers: %s", roleOf(owner.player), a.Role, remedy)
	case owned:
		return Reject(protocol.ErrNotAuthorized, "registration_code is that of %s, not of %s: register with that display_name", strconv.Quote(owner.name), name)
	case !listed:
		return Reject(protocol.ErrNotAuthorized, "the roster of this league has no %s with the display_name %s: register with the name that the organiser listed, written in the same way", a.Role, name)
	}
	return Reject(protocol.ErrNotAuthorized, "registration_code is not that of %s: %s", name, remedy)
}

func roleOf(player bool) string {
	if player {
		return protocol.RolePlayer
	}
	return protocol.RoleReferee
}

// Holder is the registered agent with the role and the display name of an applicant whose
// code the roster has confirmed; nil for none, and without a roster.
func (r *Roster) Holder(s *journal.State, a *Applicant) *journal.Agent {
	if !r.Restricts(a.Player()) {
		return nil
	}
	name := norm.NFC.String(a.DisplayName)
	for _, known := range s.Named(a.Player(), a.DisplayName) {
		if norm.NFC.String(known.DisplayName) == name {
			return known
		}
	}
	return nil
}
