package journalstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"evenodd/league/journal/journalfile"
	"evenodd/league/store/appendfile"
)

// A Stream is the journal of a league in JetStream: a store of lines that several managers share. A message has the
// lines of one Append, as a file has them. Only one goroutine at a time may use a Stream.
type Stream struct {
	ctx      context.Context //nolint:containedctx // ends Options.Patience after the context of Open
	messages messages
	name     string
	number   int // of the streams of the league, from 1
	payload  int // most bytes of a message
	replicas int
	conn     *nats.Conn
	js       nats.JetStreamContext
	log      zerolog.Logger

	last  int // sequence of the last message that was read or appended
	lines int // number of the last line in it
}

var _ journalfile.Stream = (*Stream)(nil)

// A message has lines, of which each ends with a line feed. First is the number of the first one.
type message struct {
	first int
	lines []byte
}

// messages are the messages of a stream. Their sequences begin with 1 and have no gaps.
type messages interface {
	// publish stores a message behind that with a sequence. The outcome of any error is unknown: the message may be
	// stored, also later.
	publish(ctx context.Context, m *message, behind int) error
	// get reads a message as the leader of the stream has it; errNoMessage if there is none.
	get(ctx context.Context, sequence int) (*message, error)
	// last is the sequence of the last message; 0 for none.
	last(ctx context.Context) (int, error)
}

var errNoMessage = errors.New("the stream has no message of that sequence")

// Sizes in bytes, and times.
const (
	headerRoom    = 4 << 10         // of a message, for its subject and headers
	answerLimit   = 2 * time.Second // for one answer of the server
	readPatience  = 30 * time.Second
	firstPause    = 20 * time.Millisecond // before a request is repeated; it doubles
	longestPause  = 500 * time.Millisecond
	quietTime     = time.Second // without a warning: shorter failures are usual when servers restart
	warningsApart = 10 * time.Second
	readAtOnce    = 64 // messages
)

// Limits implements journalfile.Stream.
func (s *Stream) Limits() (line, lines int) { return s.payload - headerRoom, s.payload / 2 }

// Name is the name of the stream: evenodd, the id of the league and a number, with dashes between.
func (s *Stream) Name() string { return s.name }

// Append implements journalfile.Stream. After an error or without an answer the outcome is unknown; then the message
// at that sequence tells: the same lines are its own, and other ones are those of another manager. Without a message
// it sends the lines again. It tries until the context of Open has ended.
func (s *Stream) Append(first int, lines []byte) error {
	m, t := &message{first, lines}, s.trial("the journal waits for NATS")
	for {
		err := ask(s.ctx, func(ctx context.Context) error { return s.messages.publish(ctx, m, s.last) })
		if err != nil {
			err = s.resolve(m, err)
		}
		switch {
		case err == nil:
			t.over()
			s.last, s.lines = s.last+1, first+bytes.Count(lines, []byte("\n"))-1
			return nil
		case errors.Is(err, journalfile.ErrLost), errors.Is(err, errShorter):
			return err
		}
		if err := t.wait(err); err != nil {
			return fmt.Errorf("%w. The events from number %d may be missing in the stream: a later start continues without "+
				"them if they are", err, first)
		}
	}
}

// resolve tells the outcome of a message whose publication had an error: nil if it is stored, ErrLost if another one is
// there, and the error if there is none yet.
func (s *Stream) resolve(m *message, failure error) error {
	var there *message
	err := ask(s.ctx, func(ctx context.Context) (err error) {
		there, err = s.messages.get(ctx, s.last+1)
		return err
	})
	switch {
	case errors.Is(err, errNoMessage):
		_, err = s.end(s.ctx) // one that has lost its end would refuse the message for ever
		return errors.Join(failure, err)
	case err != nil && err.Error() == failure.Error():
		return failure
	case err != nil:
		return fmt.Errorf("%w; and the message cannot be read: %w", failure, err)
	case there.first != m.first || !bytes.Equal(there.lines, m.lines):
		return fmt.Errorf("%w: it has appended event %d to the stream %s", journalfile.ErrLost, there.first, s.name)
	}
	return nil
}

var errShorter = errors.New("the stream has lost messages that it had acknowledged")

// end is the sequence of the last message.
func (s *Stream) end(ctx context.Context) (last int, err error) {
	err = ask(ctx, func(ctx context.Context) error {
		last, err = s.messages.last(ctx)
		return err
	})
	if err == nil && last < s.last {
		err = fmt.Errorf("%w: %s ends with message %d, and this manager knows %d. Its folder has the lines", errShorter,
			s.name, last, s.last)
	}
	return last, err
}

// Read implements journalfile.Stream. It reads on behind the last message that it has read or appended, or finds the
// message with the line.
func (s *Stream) Read(from int, visit appendfile.Visit) error {
	err := s.read(from, visit)
	if err != nil {
		err = fmt.Errorf("stream %s: %w", s.name, err)
	}
	return err
}

func (s *Stream) read(from int, visit appendfile.Visit) error {
	var last int
	err := s.patiently(func(ctx context.Context) (err error) {
		last, err = s.end(ctx)
		return err
	})
	if err != nil {
		return err
	}
	next, number := s.last+1, s.lines+1
	if from != number {
		if next, number, err = s.find(from, last); err != nil {
			return err
		}
	}
	for next <= last {
		found, err := s.window(next, last)
		if err != nil {
			return err
		}
		for _, m := range found {
			if m.first != number {
				return fmt.Errorf("message %d begins with event %d, and event %d comes next: other programs write to the stream",
					next, m.first, number)
			}
			if number, err = m.visit(from, visit); err != nil {
				return err
			}
			s.last, s.lines, next = next, number-1, next+1
		}
	}
	return nil
}

// visit calls visit for each line from a number on, and returns the number of the line behind the message.
func (m *message) visit(from int, visit appendfile.Visit) (next int, err error) {
	next = m.first
	for line := range bytes.Lines(m.lines) {
		if next >= from {
			err = visit(next, bytes.TrimSuffix(line, []byte("\n")))
		}
		if err != nil {
			return next, err
		}
		next++
	}
	return next, nil
}

// find returns the sequence of the message with a line, and the number of its first line; those of the last message if
// the line is later.
func (s *Stream) find(line int, last int) (sequence, first int, err error) {
	firstOf := func(i int) int {
		found, failure := s.window(i+1, i+1)
		if failure != nil {
			err = failure
			return 0
		}
		return found[0].first
	}
	at := sort.Search(last, func(i int) bool { return err == nil && firstOf(i) > line }) - 1
	if at < 0 || err != nil {
		return 1, 1, err
	}
	return at + 1, firstOf(at), err
}

// window reads the messages from one sequence to another, but not more than readAtOnce.
func (s *Stream) window(from, to int) ([]*message, error) {
	found := make([]*message, min(to-from+1, readAtOnce))
	errs := make([]error, len(found))
	var reading sync.WaitGroup
	for i := range found {
		reading.Go(func() {
			errs[i] = s.patiently(func(ctx context.Context) (err error) {
				found[i], err = s.messages.get(ctx, from+i)
				return err
			})
		})
	}
	reading.Wait()
	return found, errors.Join(errs...)
}

// patiently asks a question again and again: servers may be about to choose their leader.
func (s *Stream) patiently(question func(context.Context) error) error {
	t, until := s.trial("NATS does not give the journal"), time.Now().Add(readPatience)
	for {
		err := ask(s.ctx, question)
		if err == nil || errors.Is(err, errShorter) || refused(err) || time.Now().After(until) {
			return err
		}
		if err := t.wait(err); err != nil {
			return err
		}
	}
}

// ask asks one question of a server.
func ask(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return question(ctx)
}

// A trial repeats a request that failed. Its log has a warning at the beginning and from time to time.
type trial struct {
	*Stream
	what          string // is the consequence
	tries         int
	began, warned time.Time
}

func (s *Stream) trial(what string) *trial { return &trial{Stream: s, what: what, began: time.Now()} }

// wait waits for the next try after an error, or returns the error if it is too late for another one.
func (t *trial) wait(err error) error {
	if time.Since(t.began) > quietTime && time.Since(t.warned) > warningsApart {
		t.warned = time.Now()
		t.log.Warn().Err(err).Str("stream", t.name).Str("event_type", "JOURNAL_WAITS").Msg(t.what)
	}
	pause := min(firstPause<<min(t.tries, 8), longestPause)
	t.tries++
	select {
	case <-time.After(pause):
		return nil
	case <-t.ctx.Done():
		return fmt.Errorf("no answer from NATS before the end of this process: %w", err)
	}
}

// over logs the end of a wait that was logged.
func (t *trial) over() {
	if !t.warned.IsZero() {
		t.log.Info().Str("stream", t.name).Dur("after", time.Since(t.began)).Str("event_type", "JOURNAL_CONTINUES").
			Msg("NATS takes the journal again")
	}
}
