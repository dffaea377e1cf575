package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// getMatchTranscript returns the records of an attempt at a match to the organiser: from the
// data folder, else from the referee. Without a number it is the attempt that counts.
func (m *Manager) getMatchTranscript(ctx context.Context, bearer string, q *protocol.ToolRequest) (*protocol.MatchTranscript, error) {
	if err := m.organiser.authenticate(protocol.GetMatchTranscript.Name, cmp.Or(q.AuthToken, bearer)); err != nil {
		return nil, err
	}
	attempt, referee, err := m.findAttempt(q)
	if err != nil {
		return nil, err
	}
	if records, err := m.storedTranscript(q.MatchID, attempt); !errors.Is(err, fs.ErrNotExist) {
		return records, err
	}
	return m.transcriptOfReferee(ctx, referee, q.MatchID, attempt)
}

// storedTranscript returns the records of an attempt from the data folder. It returns
// fs.ErrNotExist for an attempt that it does not have.
func (m *Manager) storedTranscript(matchID string, attempt int) (*protocol.MatchTranscript, error) {
	if m.files == nil {
		return nil, fs.ErrNotExist
	}
	records, err := m.files.results.Records(matchID, attempt)
	if err != nil {
		return nil, err
	}
	return &protocol.MatchTranscript{MatchID: matchID, Attempt: attempt, Records: records}, nil
}

// Viewers have no credential: their transcripts must not become calls to referees without bound.
const (
	viewerCalls   = 2                // to referees, at once
	viewerRetry   = 30 * time.Second // until a call that failed is made again
	viewerAnswers = 256              // that are remembered
)

// A transcriptCache bounds the calls that viewers cause, and remembers what referees answered.
type transcriptCache struct {
	calls chan struct{} // has an element for each call

	mu      sync.Mutex
	answers map[protocol.Attempt]transcriptAnswer
}

// A transcriptAnswer is a transcript, or an error until a time.
type transcriptAnswer struct {
	transcript *protocol.MatchTranscript
	err        error
	until      time.Time
}

func (c *transcriptCache) get(at protocol.Attempt, now time.Time) (answer transcriptAnswer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, ok = c.answers[at]
	return answer, ok && (answer.err == nil || now.Before(answer.until))
}

func (c *transcriptCache) put(at protocol.Attempt, answer transcriptAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil || len(c.answers) >= viewerAnswers {
		c.answers = map[protocol.Attempt]transcriptAnswer{}
	}
	c.answers[at] = answer
}

// ViewTranscript returns the records of an attempt at a match that has a recorded result, for
// anyone: from the data folder, else from the referee. It makes few calls at once, and remembers
// what referees answered. The error has the code protocol.ErrMatchNotFound for an attempt that is
// not recorded; any other is that of the file, of the call to the referee, or of ctx.
func (m *Manager) ViewTranscript(ctx context.Context, at protocol.Attempt) (*protocol.MatchTranscript, error) {
	m.mu.Lock()
	match, _, _, ok := m.state.Find(at.MatchID)
	var referee *agent
	if ok && match.Report != nil && at.Number >= 1 && at.Number <= len(match.Attempts) {
		referee = m.agents[match.Attempts[at.Number-1].Referee]
	}
	m.mu.Unlock()
	matchID := at.MatchID.String()
	if referee == nil {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "match %s has no recorded attempt %d", matchID, at.Number)
	}
	if records, err := m.storedTranscript(matchID, at.Number); !errors.Is(err, fs.ErrNotExist) {
		return records, err
	}
	if answer, ok := m.viewed.get(at, m.clock.Now()); ok {
		return answer.transcript, answer.err
	}
	select {
	case m.viewed.calls <- struct{}{}:
		defer func() { <-m.viewed.calls }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if answer, ok := m.viewed.get(at, m.clock.Now()); ok { // another viewer has called meanwhile
		return answer.transcript, answer.err
	}
	// A viewer that goes away must not look like a referee that does not answer.
	transcript, err := m.transcriptOfReferee(context.WithoutCancel(ctx), referee, matchID, at.Number)
	m.viewed.put(at, transcriptAnswer{transcript, err, m.clock.Now().Add(viewerRetry)})
	return transcript, err
}

// findAttempt finds the attempt of a request, and its referee.
func (m *Manager) findAttempt(q *protocol.ToolRequest) (attempt int, referee *agent, err error) {
	id, _ := protocol.ParseMatchID(q.MatchID)
	m.mu.Lock()
	defer m.mu.Unlock()
	match, _, _, ok := m.state.Find(id)
	if !ok || id.String() != q.MatchID {
		return 0, nil, protocol.Fault(protocol.ErrMatchNotFound, "match %.20q is not of an announced round", q.MatchID)
	}
	attempt = q.Attempt
	if attempt == 0 && match.Report != nil {
		attempt = match.Report.Number
	}
	if attempt == 0 && match.Report == nil {
		attempt = len(match.Attempts)
	}
	if attempt < 1 || attempt > len(match.Attempts) {
		return 0, nil, protocol.Fault(protocol.ErrMatchNotFound, "match %s has no attempt %d: nobody has played it", q.MatchID, q.Attempt)
	}
	return attempt, m.agents[match.Attempts[attempt-1].Referee], nil
}

// transcriptOfReferee asks a referee for the records of an attempt. It is not trusted.
func (m *Manager) transcriptOfReferee(ctx context.Context, referee *agent, matchID string, attempt int) (*protocol.MatchTranscript, error) {
	missing := func(why string) error {
		return protocol.Fault(protocol.ErrMatchNotFound, "there is no transcript of attempt %d at %s: %s", attempt, matchID, why)
	}
	m.mu.Lock()
	thirdParty := m.thirdParty(referee.id)
	m.mu.Unlock()
	if thirdParty {
		return nil, missing("a third-party referee conducted it")
	}
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", "conv-transcript-"+matchID), LeagueID: m.options.LeagueID, MatchID: matchID, Attempt: attempt,
	}
	answer, _, err := protocol.GetMatchTranscript.CallWithin(ctx, m.options.Caller, referee.peer(), q, deliveryCall)
	if err == nil {
		var records []jsontext.Value
		if records, _, err = checkDelivery(answer, q, referee.id); err == nil {
			return &protocol.MatchTranscript{MatchID: matchID, Attempt: attempt, Records: records}, nil
		}
	}
	return nil, missing(fmt.Sprintf("its referee %s has not delivered it", referee.id))
}
