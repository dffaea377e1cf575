package audit

import (
	"errors"
	"slices"

	"evenodd/league/decide"
	"evenodd/league/store"
	"evenodd/rules"
)

// An opening is that with which a match begins by the start of the league.
type opening struct {
	plies []string
	known bool // false if only a program can tell that is not given
}

// openingOf draws the opening of a match again, as the manager did.
func (a *auditor) openingOf(m *scheduledMatch) *opening {
	if m.opening != nil {
		return m.opening
	}
	o := &opening{known: true}
	m.opening = o
	key, has := decide.OpeningKey(a.state, a.startHash, m.key)
	if !has {
		return o
	}
	if o.known = a.reports != nil; !o.known {
		return o
	}
	var err error
	o.plies, err = rules.DrawOpening(a.game, a.state.Created.Openings, &key, func(c rules.Course) (rules.Course, error) {
		state := a.ask(c.History())
		if state == nil {
			return c, errFailed
		}
		return c.Told(state)
	})
	if o.known = err == nil; !o.known && !errors.Is(err, errFailed) {
		if a.program != nil {
			a.fail(err)
		} else {
			a.find(RuleOpening, a.inJournal(1), "%v", err)
		}
	}
	return o
}

var errFailed = errors.New("the program has failed")

// fits tells whether a match can have begun with an opening that a file shows, as far as it is known.
func (a *auditor) fits(m *scheduledMatch, shown []string) bool {
	want := a.openingOf(m)
	return !want.known || slices.Equal(shown, want.plies)
}

// checkFileOpening checks the opening in a match file. That of the manager has the opening of the report.
func (a *auditor) checkFileOpening(f *matchFile) {
	if f.value.WrittenBy == store.WrittenByReferee {
		a.checkOpening(f.match, f.value.Opening, f.attempt("/opening"))
	}
}

// checkOpening compares the opening that a file shows of a match with the one that follows from the start.
func (a *auditor) checkOpening(m *scheduledMatch, shown []string, at Location) {
	switch want := a.openingOf(m); {
	case !a.fits(m, shown):
		a.find(RuleOpening, at, "%s began with the opening %.300q; by the start of the league it is %.300q", m.id, shown,
			want.plies)
	case !want.known && len(shown) != a.state.Created.Openings:
		a.find(RuleOpening, at, "%s began with an opening of %d plies; those of the league have %d", m.id, len(shown),
			a.state.Created.Openings)
	}
}
