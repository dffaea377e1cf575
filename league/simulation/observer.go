package simulation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/referee"
)

// A Loss is a technical loss of a player, with what is known of its cause.
type Loss struct {
	MatchID  string        `json:"match_id"`
	RoundID  int           `json:"round_id"`
	PlayerID string        `json:"player_id"`
	Code     protocol.Code `json:"error_code,omitzero"` // of the failure that decided it; "" for a refusal and a forfeit
	Name     string        `json:"error_name,omitzero"` // of Code
	Reason   string        `json:"reason"`              // of the result
	Detail   string        `json:"detail,omitzero"`     // the problem of the last answer; "" for unknown
	Method   string        `json:"method,omitzero"`     // of the last question; "" for none
	Failures int           `json:"failures,omitzero"`   // GAME_ERRORs to the player in this match
	// the last one, as JSON without its token, or an error; NoAnswer, or Unusable
	Answer string `json:"answer,omitzero"`
}

// Loss.Answer without an answer, and with one that cannot be read.
const (
	NoAnswer = "none"
	Unusable = "none that could be used"
)

// A Breach is a deviation of a player's replies from the specification, although their
// meaning was clear.
type Breach struct {
	PlayerID string `json:"player_id"`
	Problem  string `json:"problem"`
	Count    int    `json:"count"`
}

// An observer decorates the callers of referees. It remembers the last exchange with
// each player of a match, so that a loss can be explained.
type observer struct {
	stalls *referee.StallMonitor

	mu       sync.Mutex
	last     map[playerInMatch]*Loss // what is known of a loss, should it be one
	problems map[Breach]int          // how often; the keys have no Count
}

type playerInMatch struct{ matchID, endpoint string }

// An observedCaller is the caller of a referee.
type observedCaller struct {
	protocol.Caller
	observer *observer
}

// Call makes a call and observes it.
func (c *observedCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	question := "" // the match that the call asks about
	switch q := r.Params.(type) {
	case *protocol.GameError:
		detail, _ := q.Context["detail"].(string)
		c.observer.observe(q.MatchID, r.Endpoint, func(l *Loss) {
			l.Failures, l.Detail = l.Failures+1, redact(detail)
		})
	case *protocol.GameOver:
		if q.GameResult.Status != league.StatusTechnicalLoss {
			c.observer.forget(q.MatchID, r.Endpoint)
		}
	}
	if isQuestion(r.Method) {
		question = topicOf(r.Params).matchID
	}
	answer, timing, err := c.Caller.Call(ctx, r)
	if question != "" {
		text := summary(answer, err)
		c.observer.observe(question, r.Endpoint, func(l *Loss) { l.Method, l.Answer = r.Method, text })
	}
	return answer, timing, err
}

// observe changes what is known of a player in a match.
func (o *observer) observe(matchID, endpoint string, change func(*Loss)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := playerInMatch{matchID, endpoint}
	if o.last[key] == nil {
		o.last[key] = &Loss{}
	}
	change(o.last[key])
}

func (o *observer) forget(matchID, endpoint string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.last, playerInMatch{matchID, endpoint})
}

// maxSummary is what the observer stores of an answer of a third-party agent at most, in bytes.
const maxSummary = 300

// summary is an answer for users: on one line, shortened, without its token.
func summary(answer any, err error) string {
	if err != nil {
		switch e := protocol.AsError(err); {
		case e != nil && e.Remote:
			return redact(e.Error())
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), protocol.Unreachable(err):
			return NoAnswer
		}
		return Unusable
	}
	raw, err := json.Marshal(answer, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return "an answer that cannot be written down"
	}
	members := protocol.ParseObject(raw)
	for _, name := range []string{"protocol", "sender", "conversation_id", "auth_token"} {
		members.Drop(name)
	}
	return redact(string(members.Append(nil)))
}

// redact is a text for users: shortened, without tokens.
func redact(text string) string {
	return words.Clip(protocol.WithoutTokens(text), maxSummary)
}

// warned counts a breach. Problem has no text of the player, so there are few different ones.
func (o *observer) warned(playerID, problem string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.problems[Breach{PlayerID: playerID, Problem: problem}]++
}

// breaches are the breaches of all players, the most frequent ones of each first.
func (o *observer) breaches() (all []Breach) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for breach, count := range o.problems {
		breach.Count = count
		all = append(all, breach)
	}
	slices.SortFunc(all, func(a, b Breach) int {
		return cmp.Or(league.CompareIDs(a.PlayerID, b.PlayerID), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Problem, b.Problem))
	})
	return all
}

// losses are the technical losses in a league, in schedule order.
func (o *observer) losses(state *journal.State, players map[string]entry) (all []Loss) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for m, ids := range state.Results() {
		for _, id := range ids {
			r := m.Report
			if r.Outcome(id) != league.TechnicalLoss {
				continue
			}
			matchID := r.MatchID.String()
			loss := protocol.ValueOf(o.last[playerInMatch{matchID, players[id].endpoint}])
			loss.MatchID, loss.RoundID, loss.PlayerID, loss.Reason = matchID, r.MatchID.Round, id, r.Reason
			code, _ := r.Faults.Get(id)
			loss.Code, loss.Name = protocol.Code(code), protocol.Code(code).Name()
			all = append(all, loss)
		}
	}
	return all
}
