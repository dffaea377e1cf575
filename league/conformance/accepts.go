package conformance

import (
	"context"
	"strings"

	"evenodd/league/protocol"
)

// A judge reads messages as the agents of a league read them: with the handlers of the
// protocol, which accept any message that is sound.
type judge map[string]func(params []byte) error

// newJudge makes a judge of all messages.
func newJudge() judge {
	j := judge{}
	stamp := protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock())
	accept(j, stamp, &protocol.RegisterReferee)
	accept(j, stamp, &protocol.RegisterPlayer)
	accept(j, stamp, &protocol.NotifyRound)
	accept(j, stamp, &protocol.StartMatch)
	accept(j, stamp, &protocol.Invite)
	accept(j, stamp, &protocol.ChooseParity)
	accept(j, stamp, &protocol.MakeMove)
	accept(j, stamp, &protocol.NotifyMatchResult)
	accept(j, stamp, &protocol.NotifyGameError)
	accept(j, stamp, &protocol.ReportMatchResult)
	accept(j, stamp, &protocol.UpdateStandings)
	accept(j, stamp, &protocol.NotifyRoundCompleted)
	accept(j, stamp, &protocol.NotifyLeagueCompleted)
	accept(j, stamp, &protocol.Query)
	return j
}

func accept[Q, R any](j judge, stamp *protocol.Stamp, m *protocol.Method[Q, R]) {
	m.Handle(j, stamp, func(context.Context, string, *Q) (*R, error) { return new(R), nil })
}

// Handle registers the handler of a method.
func (j judge) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	j[method] = func(params []byte) error {
		q, err := decode(params)
		if err == nil {
			_, err = handle(context.Background(), "", q)
		}
		return err
	}
}

// Fallback is for methods that have no handler, which are not judged.
func (j judge) Fallback(func(any) (string, bool)) {}

// OnUnread is for requests that no handler can read, which are not judged.
func (j judge) OnUnread(func(context.Context, string, error)) {}

var _ protocol.Mux = judge{}

// broken lists the fields of a message for which an agent of a league refuses it; none
// for a message that is accepted.
func (j judge) broken(kind string, m members) []protocol.FieldError {
	handle := j[kind]
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

// judgeMessages judges the form of the calls of a manager or referee, and whether agents
// accept them. The registration has requirements of its own.
func (x *client) judgeMessages(s *stage) {
	x.judgeForms(s)
	for _, c := range s.told(func(c *call) bool { return c.kind != "" && !c.searching }) {
		if c.kind != protocol.TypeRefereeRegisterRequest {
			x.acceptable(c)
		}
	}
}

// acceptable judges whether the agents of a league accept a message. A league goes on
// when a notice is refused.
func (x *client) acceptable(c *call) {
	id := x.as("MSG-01")
	switch c.kind {
	case protocol.TypeRoundAnnouncement, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted,
		protocol.TypeGameOver, protocol.TypeGameError:
		id = x.as("MSG-02")
	}
	x.judge(id, when(c.kind != "", "%s", fieldsProblem(x.judges.broken(c.kind, c.params), func(string) bool { return true })), c.exchange())
}

// within tells whether a field is another one, or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
