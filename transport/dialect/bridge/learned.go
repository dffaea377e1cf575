package bridge

import (
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// learnedForm is the form that the endpoint understands. For the start of a match this is
// only known when a report has followed.
func (c *call) learnedForm() (f dialect.Form, ok bool) {
	at := c.find(c.endpoint)
	if at == nil {
		return dialect.Form{}, false
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.methods[c.method.Name]
	if known == nil || !known.learned || c.match != nil && !known.proven {
		return dialect.Form{}, false
	}
	return known.form, true
}

// learn remembers the form that the endpoint understood.
func (c *call) learn(f dialect.Form) {
	isSpecForm := f == dialect.SpecForm(c.method.Name)
	at := c.remember(c.endpoint, isSpecForm && !c.numbered)
	if at == nil {
		return
	}
	if c.numbered {
		at.numbered.Store(true)
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(c.method.Name)
	*known = methodForms{form: f, learned: true, proven: known.proven && known.form == f, fruitless: known.fruitless}
	if isSpecForm {
		at.specForm.Or(1 << c.method.Index)
	}
	logged := &at.logged
	if c.match != nil {
		logged = &at.loggedStart
	} else {
		at.last, at.hasLast = f, true
	}
	if !isSpecForm && !*logged {
		*logged = true
		c.options.Log.Info().Str("endpoint", c.endpoint).Str("method", c.method.Name).Stringer("form", f).
			Str("event_type", protocol.EventFormLearned).Msg("learned the form that a third-party agent understands")
	}
}

// noteRejected remembers the forms that were rejected before a search ended early.
func (c *call) noteRejected(s *search) {
	if s.rejected == 0 {
		return
	}
	at := c.remember(c.endpoint, false)
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(c.method.Name)
	known.rejected |= s.rejected
	known.unanswered = s.late
}

// fail remembers that the agent understood no form of a search, logs it unless the log
// has the same, and returns the most informative rejection that is known.
func (c *call) fail(s *search, exhausted, alone bool) reply {
	at := c.remember(c.endpoint, false)
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(c.method.Name)
	switch {
	case alone:
	case exhausted && s.late == 0:
		known.refused, known.rejected = c.options.Clock.Now(), 0
	default:
		known.rejected |= s.rejected
		known.unanswered, known.refused = s.late, time.Time{}
	}
	best := s.best
	if before, now := known.best.rank(), best.rank(); before > now || before == now && !alone {
		best = known.best
	} else {
		known.best = s.best.small()
	}
	if as := [2]int{best.Status, best.Failure.Code}; best.rank() != none && as != known.loggedAs {
		known.loggedAs = as
		c.options.Log.Warn().Str("endpoint", c.endpoint).Str("method", c.method.Name).Int("http_status", best.Status).
			Func(func(e *zerolog.Event) {
				if best.Failure.Code != 0 {
					e.Int("jsonrpc_code", best.Failure.Code)
				}
			}).Str("body", best.excerpt).Str("event_type", protocol.EventFormsRejected).Msg("the agent rejected every form of this call")
	}
	return best
}

// noteStart remembers that a form starts matches at an endpoint, because a report
// followed, or that none did. A form that one match has proven stays proven.
func (b *Bridge) noteStart(endpoint string, f dialect.Form, reported bool) {
	at := b.find(endpoint)
	if at == nil {
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(protocol.StartMatch.Name)
	switch {
	case !known.learned || known.form != f:
	case reported:
		known.proven = true
	case !known.proven:
		known.learned = false
		known.fruitless |= 1 << f.Position
	}
}
