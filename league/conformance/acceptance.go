package conformance

import (
	"context"
	"strings"

	"evenodd/league/protocol"
)

// An acceptance reads messages as the agents of a league read them: with the handlers of
// the protocol, by method and by message type.
type acceptance map[string]func(params []byte) error

// newAcceptance returns the acceptance of all messages.
func newAcceptance() acceptance {
	a := acceptance{}
	accept(a, &protocol.RegisterReferee)
	accept(a, &protocol.RegisterPlayer)
	accept(a, &protocol.NotifyRound)
	accept(a, &protocol.StartMatch)
	accept(a, &protocol.Invite)
	accept(a, &protocol.ChooseParity)
	accept(a, &protocol.MakeMove)
	accept(a, &protocol.NotifyMatchResult)
	accept(a, &protocol.NotifyGameError)
	accept(a, &protocol.ReportMatchResult)
	accept(a, &protocol.UpdateStandings)
	accept(a, &protocol.NotifyRoundCompleted)
	accept(a, &protocol.NotifyLeagueCompleted)
	accept(a, &protocol.Query)
	return a
}

func accept[Q, R any](a acceptance, m *protocol.Method[Q, R]) {
	stamp := protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock())
	m.Handle(a, stamp, func(context.Context, string, *Q) (*R, error) { return new(R), nil })
}

// Handle registers the handler of a method.
func (a acceptance) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	a[method] = func(params []byte) error {
		q, err := decode(params)
		if err == nil {
			_, err = handle(context.Background(), "", q)
		}
		return err
	}
}

// Fallback is for methods that have no handler, which are not judged.
func (a acceptance) Fallback(func(any) (string, bool)) {}

// OnUnread is for requests that no handler can read, which are not judged.
func (a acceptance) OnUnread(func(context.Context, string, error)) {}

var _ protocol.Mux = acceptance{}

// broken lists the fields of a message for which an agent of a league refuses it; none
// for a message that is accepted.
func (a acceptance) broken(kind string, m members) []protocol.FieldError {
	handle := a[kind]
	if handle == nil {
		return nil
	}
	e := protocol.AsError(handle(encoded(m)))
	if e == nil {
		return nil
	}
	fields, _ := e.Context["fields"].([]protocol.FieldError)
	if len(fields) == 0 {
		fields = []protocol.FieldError{{Field: "params", Rule: e.Detail}}
	}
	return fields
}

// fieldsProblem says which fields make a message unacceptable; "" for none. It looks at
// those alone that want chooses.
func fieldsProblem(broken []protocol.FieldError, want func(field string) bool) string {
	var problems []string
	for _, f := range broken {
		if !want(f.Field) || len(problems) == 3 {
			continue
		}
		got := quoted(f.Got)
		problems = append(problems, f.Field+": "+f.Rule+when(f.Got != "", ", got %s", got[1:len(got)-1]))
	}
	return strings.Join(problems, "; ")
}

// acceptable returns why the agents of a league reject a message.
func acceptable(f *fact) string {
	return fieldsProblem(f.broken, func(string) bool { return true })
}

// recordMessages records the form of the calls of the agent and, except for its
// registration, whether agents accept them. A league continues when a notice is rejected.
func (x *exam) recordMessages(s *fakes) {
	x.recordForms(s)
	for _, c := range s.received(func(c *call) bool {
		return c.kind != "" && !c.searching && c.kind != protocol.TypeRefereeRegisterRequest
	}) {
		name := "message"
		switch c.kind {
		case protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted,
			protocol.TypeGameOver, protocol.TypeGameError:
			name = "notice"
		}
		x.record(name, &fact{call: c, broken: x.acceptance.broken(c.kind, c.params)})
	}
}

// recordForms records the form of the calls of the agent.
func (x *exam) recordForms(s *fakes) {
	for _, c := range s.received(func(c *call) bool { return c.kind != "" && !c.searching }) {
		x.record("form of call", &fact{call: c, problem: c.form, defect: formDefect})
	}
}

// within tells whether a field is another one, or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
