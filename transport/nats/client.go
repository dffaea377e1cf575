package nats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"evenodd/transport"
)

// Scheme precedes the subject in an endpoint.
const Scheme = "nats://"

// authorization is the header with the bearer credential, as HTTP has it.
const authorization = "Authorization"

// A Client calls agents at their subjects. It is safe for concurrent use.
//
// Each request has a subject of its own for the reply, which nobody can guess: the library's are made
// from the time, so that an agent which has seen one could answer in the name of another.
type Client struct {
	conn     *nats.Conn
	inbox    string // of the replies, with a dot
	allow    func(subject string) bool
	maxReply int64
	replies  *nats.Subscription
	changes  chan nats.Status
	watching sync.WaitGroup
	lastID   atomic.Int64

	mu    sync.Mutex
	calls map[string]*call // without a reply, by the last token of its subject
}

var _ transport.Caller = (*Client)(nil)

// A call waits for a reply.
type call struct {
	subject string
	ended   chan ending // buffered
}

// An ending is a reply, or an error without one.
type ending struct {
	reply *nats.Msg
	at    time.Time
	err   error
}

// errDown is the error of calls while the own connection is down.
var errDown = errors.New("the connection to the NATS server is down")

// NewClient makes a client of the user with a name. It calls no subject that allow refuses,
// and reads at most maxReply bytes of a reply.
func NewClient(conn *nats.Conn, name string, allow func(subject string) bool, maxReply int64) (*Client, error) {
	c := &Client{conn: conn, inbox: InboxOf(name) + ".", allow: allow, maxReply: maxReply, calls: map[string]*call{}}
	var err error
	if c.replies, err = conn.Subscribe(c.inbox+"*", c.receive); err != nil {
		return nil, err
	}
	c.changes = conn.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)
	c.watching.Go(func() {
		for range c.changes { // a reply may be lost: the other side is not to blame
			c.fail(errDown, func(string) bool { return true })
		}
	})
	next := conn.ErrorHandler()
	conn.SetErrorHandler(func(conn *nats.Conn, s *nats.Subscription, err error) {
		if next != nil {
			next(conn, s, err)
		}
		if errors.Is(err, nats.ErrPermissionViolation) {
			c.fail(err, func(subject string) bool { return strings.Contains(err.Error(), strconv.Quote(subject)) })
		}
	})
	return c, nil
}

// Close ends the calls that wait for a reply, but not the connection.
func (c *Client) Close() {
	_ = c.replies.Unsubscribe() // an error means that the connection is closed
	c.conn.RemoveStatusListener(c.changes)
	c.watching.Wait()
	c.fail(context.Canceled, func(string) bool { return true })
}

// Call publishes the request and waits for the reply. The error is one of package transport, or that
// of the context. While the connection is down it is transport.Local, at once.
func (c *Client) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	subject, found := strings.CutPrefix(q.Endpoint, Scheme)
	if !found || !c.allow(subject) {
		return nil, nil, &transport.CallError{Kind: transport.Forbidden, Endpoint: q.Endpoint}
	}
	body, err := transport.EncodeRequest(q.Method, q.Params, c.lastID.Add(1))
	if err != nil {
		return nil, nil, err
	}
	var over <-chan time.Time // costs less than a context
	if q.Limit != 0 {
		timer := time.NewTimer(q.Limit)
		defer timer.Stop()
		over = timer.C
	}
	token := rand.Text()
	message := &nats.Msg{Subject: subject, Reply: c.inbox + token, Data: body}
	if q.Bearer != "" {
		message.Header = nats.Header{authorization: {"Bearer " + q.Bearer}}
	}
	waiting := c.expect(token, subject)
	defer c.forget(token)
	timing := &transport.Timing{}
	if err := ctx.Err(); err != nil {
		return nil, timing, err
	}
	if q.Limit < 0 {
		return nil, timing, context.DeadlineExceeded
	}
	if err := c.publish(message, timing); err != nil {
		return nil, timing, &transport.CallError{Kind: transport.Local, Err: err}
	}
	var end ending
	select {
	case end = <-waiting.ended:
	case <-over:
		end = ending{at: time.Now(), err: context.DeadlineExceeded}
	case <-ctx.Done():
		end = ending{at: time.Now(), err: ctx.Err()}
	}
	timing.Waiting = end.at.Sub(timing.Departed)
	if end.err != nil {
		return nil, timing, end.err
	}
	value, err := c.read(&q, end.reply, timing)
	return value, timing, err
}

// publish sends a request, unless the connection is down.
func (c *Client) publish(message *nats.Msg, timing *transport.Timing) error {
	if !c.conn.IsConnected() {
		return errDown
	}
	if err := checkSize(c.conn, message); err != nil {
		return err
	}
	departed := time.Now()
	err := c.conn.PublishMsg(message)
	if err == nil {
		timing.Departed = departed
	}
	return err
}

// checkSize returns an error for a message that the server would refuse.
func checkSize(conn *nats.Conn, m *nats.Msg) error {
	if size, most := m.Size()-len(m.Subject)-len(m.Reply), conn.MaxPayload(); int64(size) > most {
		return fmt.Errorf("the message has %d bytes, more than the %d that the NATS server takes (max_payload)", size, most)
	}
	return nil
}

// noResponders is the header of the server's reply where nobody has subscribed.
const noResponders = "503"

// read reads a reply.
func (c *Client) read(q *transport.Request, reply *nats.Msg, timing *transport.Timing) (any, error) {
	if len(reply.Data) == 0 && reply.Header.Get("Status") == noResponders {
		return nil, &transport.CallError{Kind: transport.Unreachable, Endpoint: q.Endpoint}
	}
	timing.Body = reply.Data
	if n, most := int64(len(reply.Data)), max(c.maxReply, q.MaxReply); n > most {
		timing.Body = nil
		return nil, &transport.CallError{Kind: transport.Unreadable,
			Err: fmt.Errorf("the answer has %d bytes, more than the %d allowed", n, most)}
	}
	value, err := transport.DecodeResponse(reply.Data, q.Decode)
	if _, ok := errors.AsType[transport.RPCError](err); err != nil && !ok {
		err = &transport.CallError{Kind: transport.Unreadable, Err: err}
	}
	return value, err
}

// expect makes a call wait.
func (c *Client) expect(token, subject string) *call {
	waiting := &call{subject, make(chan ending, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[token] = waiting
	return waiting
}

// forget ends a call without a reply; it returns nil if it has ended before.
func (c *Client) forget(token string) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.calls[token]
	delete(c.calls, token)
	return waiting
}

// receive gives a reply to its call. A late or a forged one has none.
func (c *Client) receive(m *nats.Msg) {
	if waiting := c.forget(m.Subject[len(c.inbox):]); waiting != nil {
		waiting.ended <- ending{reply: m, at: time.Now()}
	}
}

// fail ends calls of some subjects because of a fault of this side.
func (c *Client) fail(err error, affects func(subject string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for token, waiting := range c.calls {
		if affects(waiting.subject) {
			delete(c.calls, token)
			waiting.ended <- ending{at: time.Now(), err: &transport.CallError{Kind: transport.Local, Err: err}}
		}
	}
}
