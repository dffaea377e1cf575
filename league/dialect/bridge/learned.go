package bridge

import (
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/dialect"
	"evenodd/league/protocol"
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
	if isSpecForm && !c.method.Registers { // a registration may be refused because of its sender
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
func (c *call) fail(s *search, exhausted, alone bool) rejection {
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
	if !known.best.none() && (s.best.none() || known.best.rank() > s.best.rank() || known.best.rank() == s.best.rank() && !alone) {
		best = known.best
	} else {
		known.best = s.best.small()
	}
	if as := [2]int{best.Status, best.Failure.Code}; !best.none() && as != known.loggedAs {
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

// proveStart remembers that a form starts matches at an endpoint.
func (p *peers) proveStart(endpoint string, f dialect.Form) {
	if at := p.find(endpoint); at != nil {
		at.mu.Lock()
		defer at.mu.Unlock()
		if known := at.forms(protocol.StartMatch.Name); known.learned && known.form == f {
			known.proven = true
		}
	}
}

// disproveStart marks a form after which no report arrived, unless another match has
// proven it.
func (p *peers) disproveStart(endpoint string, f dialect.Form) {
	at := p.find(endpoint)
	if at == nil {
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	known := at.forms(protocol.StartMatch.Name)
	if !known.learned || known.proven || known.form != f {
		return
	}
	known.learned = false
	for n, other := range dialect.MethodOf(protocol.StartMatch.Name).Forms() {
		if other == f {
			known.fruitless |= 1 << n
		}
	}
}
