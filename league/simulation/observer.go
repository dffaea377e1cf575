package simulation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
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
	Answer   string        `json:"answer,omitzero"`     // the last one, as JSON without its token, or an error; NoAnswer, or Unusable
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
	last     map[playerInMatch]*observation
	problems map[string]map[string]int // how often, by player
}

type playerInMatch struct{ matchID, player string } // the player's endpoint, or its id

type observation struct {
	method, answer string
	failures       int
	detail         string
}

func newObserver(stalls *referee.StallMonitor) *observer {
	return &observer{stalls: stalls, last: map[playerInMatch]*observation{}, problems: map[string]map[string]int{}}
}

// caller decorates the caller of a referee.
func (o *observer) caller(next protocol.Caller) protocol.Caller { return &observedCaller{next, o} }

type observedCaller struct {
	protocol.Caller
	observer *observer
}

// Call makes a call and observes it.
func (c *observedCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	switch q := r.Params.(type) {
	case *protocol.GameError:
		c.observer.gameError(playerInMatch{q.MatchID, r.Endpoint}, q)
	case *protocol.GameOver:
		c.observer.gameOver(playerInMatch{q.MatchID, r.Endpoint}, q)
	}
	answer, timing, err := c.Caller.Call(ctx, r)
	switch q := r.Params.(type) {
	case *protocol.GameInvitation:
		c.observer.answered(playerInMatch{q.MatchID, r.Endpoint}, r.Method, answer, err)
	case *protocol.ChooseParityCall:
		c.observer.answered(playerInMatch{q.MatchID, r.Endpoint}, r.Method, answer, err)
	case *protocol.GameMoveCall:
		c.observer.answered(playerInMatch{q.MatchID, r.Endpoint}, r.Method, answer, err)
	}
	return answer, timing, err
}

// of is the observation of a player in a match. o.mu is held.
func (o *observer) of(p playerInMatch) *observation {
	s := o.last[p]
	if s == nil {
		s = &observation{}
		o.last[p] = s
	}
	return s
}

func (o *observer) answered(p playerInMatch, method string, answer any, err error) {
	text := summary(answer, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(p)
	s.method, s.answer = method, text
}

func (o *observer) gameError(p playerInMatch, q *protocol.GameError) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.of(p)
	s.failures++
	detail, _ := q.Context["detail"].(string)
	s.detail = shorten(string(protocol.HideTokens([]byte(detail))))
}

// gameOver forgets a match without a technical loss.
func (o *observer) gameOver(p playerInMatch, q *protocol.GameOver) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q.GameResult.Status != protocol.StatusTechnicalLoss {
		delete(o.last, p)
	}
}

// The bounds of what the observer stores of third-party agents.
const (
	maxSummary  = 300 // bytes
	maxProblems = 20  // different ones of a player; all others count as one
)

// summary is an answer for users: on one line, shortened, without its token.
func summary(answer any, err error) string {
	if err != nil {
		switch e := protocol.AsError(err); {
		case e != nil && e.Remote:
			return shorten(string(protocol.HideTokens([]byte(e.Error()))))
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), protocol.Unreachable(err):
			return NoAnswer
		}
		return Unusable
	}
	raw, err := json.Marshal(answer, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return "an answer that cannot be written down"
	}
	var members protocol.Object
	if json.Unmarshal(raw, &members) == nil {
		members = slices.DeleteFunc(members, func(m protocol.Member[jsontext.Value]) bool {
			return slices.Contains([]string{"protocol", "sender", "conversation_id", "auth_token"}, m.Name)
		})
		if short, err := json.Marshal(members); err == nil {
			raw = short
		}
	}
	return shorten(string(protocol.HideTokens(raw)))
}

func shorten(text string) string {
	if len(text) > maxSummary {
		text = text[:maxSummary] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// warned counts a breach.
func (o *observer) warned(playerID, what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.problems[playerID]
	if of == nil {
		of = map[string]int{}
		o.problems[playerID] = of
	}
	what = shorten(string(protocol.HideTokens([]byte(what))))
	if _, known := of[what]; !known && len(of) >= maxProblems {
		what = "other things"
	}
	of[what]++
}

// breaches are the breaches of all players, the most frequent ones of each first.
func (o *observer) breaches() (all []Breach) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(o.problems), protocol.CompareIDs) {
		for _, problem := range slices.Sorted(maps.Keys(o.problems[id])) {
			all = append(all, Breach{id, problem, o.problems[id][problem]})
		}
	}
	slices.SortStableFunc(all, func(a, b Breach) int {
		return cmp.Or(protocol.CompareIDs(a.PlayerID, b.PlayerID), cmp.Compare(b.Count, a.Count))
	})
	return all
}

// losses are the technical losses among results, in their order.
func (o *observer) losses(results []league.MatchRecord, players *roster) (all []Loss) {
	o.mu.Lock()
	known := map[playerInMatch]*observation{} // by id instead of endpoint
	for p, s := range o.last {
		known[playerInMatch{p.matchID, players.idAt(p.player)}] = s
	}
	o.mu.Unlock()
	for _, m := range results {
		if m.Status != protocol.StatusTechnicalLoss {
			continue
		}
		for _, id := range []string{m.PlayerA, m.PlayerB} {
			if id == m.Winner {
				continue
			}
			loss := Loss{MatchID: m.MatchID, RoundID: m.RoundID, PlayerID: id, Reason: m.Reason}
			code, _ := m.Faults.Get(id)
			loss.Code, loss.Name = protocol.Code(code), protocol.Code(code).Name()
			if s := known[playerInMatch{m.MatchID, id}]; s != nil {
				loss.Detail, loss.Method, loss.Failures, loss.Answer = s.detail, s.method, s.failures, s.answer
			}
			all = append(all, loss)
		}
	}
	return all
}
