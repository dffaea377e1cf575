package transport

import (
	"context"
	"time"
)

// gatePause is the time between two looks at a gate that is closed.
const gatePause = 50 * time.Millisecond

// Gated is next for a process that may not call anybody at times: the process of a manager that does not know
// whether another one leads the league. A call waits until open says that it may be made, and only then its
// limit begins. The gate says nothing about the endpoint, so no call fails because of it. It returns the error of
// ctx when that ends first.
func Gated(next Caller, open func() bool) Caller { return &gatedCaller{next, open} }

type gatedCaller struct {
	next Caller
	open func() bool
}

func (g *gatedCaller) Call(ctx context.Context, r Request) (any, *Timing, error) {
	for !g.open() {
		select {
		case <-time.After(gatePause):
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return g.next.Call(ctx, r)
}

// Gate sets when the mux may answer. It looks before each handler and after it. A call that meets a closed gate
// has an error in place of a result; a carrier that can say nothing, or more, asks Open immediately before it
// sends an answer.
func (m *Mux) Gate(open func() bool) { m.open = open }

// Open tells whether the mux may answer now.
func (m *Mux) Open() bool { return m.open == nil || m.open() }

// closedGate is the error of a call that meets a closed gate.
func closedGate() error {
	return &CallError{Kind: Failed, After: time.Second,
		Err: &Error{Code: CodeInternal, Message: "Internal error", Data: "this manager does not lead the league now"}}
}
