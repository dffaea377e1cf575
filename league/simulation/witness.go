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

// A Loss is a technical loss of a player, and what is known of why.
type Loss struct {
	MatchID  string
	RoundID  int
	PlayerID string
	Code     protocol.Code // of the failure that decided it; "" for a refusal and a forfeit
	Reason   string        // of the result
	Detail   string        // what was wrong with the last answer; "" where that is not known
	Method   string        // that was asked last; "" when nothing was
	Failures int           // that the player was told of in this match
	Answer   string        // the last, as JSON without its token, or an error; NoAnswer, or Unusable
}

// What stands in the place of an answer: nothing came, or something that could
// not be read, or not be believed.
const (
	NoAnswer = "none"
	Unusable = "none that could be used"
)

// A Breach is something about the replies of a player that is not as the
// protocol has it, although their meaning was clear.
type Breach struct {
	PlayerID string
	Problem  string
	Count    int
}

// A witness sees what referees and players say to each other, and remembers of
// each match the last of it.
type witness struct {
	stalls *referee.StallMonitor

	mu       sync.Mutex
	seen     map[sight]*seen
	problems map[string]map[string]int // by player
}

type sight struct{ matchID, endpoint string }

type seen struct {
	method, answer string
	failures       int
	detail         string
}

func newWitness(stalls *referee.StallMonitor) *witness {
	return &witness{stalls: stalls, seen: map[sight]*seen{}, problems: map[string]map[string]int{}}
}

// caller is what a referee calls by, while the witness looks on.
func (w *witness) caller(by protocol.Caller) protocol.Caller { return &watched{by, w} }

type watched struct {
	protocol.Caller
	witness *witness
}

// Call carries a call.
func (c *watched) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	switch q := r.Params.(type) {
	case *protocol.GameError:
		c.witness.complained(sight{q.MatchID, r.Endpoint}, q)
	case *protocol.GameOver:
		c.witness.over(sight{q.MatchID, r.Endpoint}, q)
	}
	answer, timing, err := c.Caller.Call(ctx, r)
	switch q := r.Params.(type) {
	case *protocol.GameInvitation:
		c.witness.answered(sight{q.MatchID, r.Endpoint}, r.Method, answer, err)
	case *protocol.ChooseParityCall:
		c.witness.answered(sight{q.MatchID, r.Endpoint}, r.Method, answer, err)
	case *protocol.GameMoveCall:
		c.witness.answered(sight{q.MatchID, r.Endpoint}, r.Method, answer, err)
	}
	return answer, timing, err
}

// about is what is remembered of a player in a match; w.mu is held.
func (w *witness) about(at sight) *seen {
	s := w.seen[at]
	if s == nil {
		s = &seen{}
		w.seen[at] = s
	}
	return s
}

func (w *witness) answered(at sight, method string, answer any, err error) {
	gist := gistOf(answer, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.about(at)
	s.method, s.answer = method, gist
}

func (w *witness) complained(at sight, q *protocol.GameError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.about(at)
	s.failures++
	detail, _ := q.Context["detail"].(string)
	s.detail = cut(string(protocol.HideTokens([]byte(detail))))
}

// over forgets a match that nobody lost technically.
func (w *witness) over(at sight, q *protocol.GameOver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.GameResult.Status != protocol.StatusTechnicalLoss {
		delete(w.seen, at)
	}
}

// The bounds of what is remembered of what others said.
const (
	maxGist     = 300 // bytes
	maxProblems = 20  // of one player; all others are one
)

// gistOf is an answer for people: without its token, on one line, and not long.
func gistOf(answer any, err error) string {
	if err != nil {
		switch e := protocol.AsError(err); {
		case e != nil && e.Remote:
			return cut(string(protocol.HideTokens([]byte(e.Error()))))
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
	return cut(string(protocol.HideTokens(raw)))
}

func cut(text string) string {
	if len(text) > maxGist {
		text = text[:maxGist] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// warned notes a breach.
func (w *witness) warned(playerID, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.problems[playerID]
	if of == nil {
		of = map[string]int{}
		w.problems[playerID] = of
	}
	what = cut(string(protocol.HideTokens([]byte(what))))
	if _, known := of[what]; !known && len(of) >= maxProblems {
		what = "other things"
	}
	of[what]++
}

// breaches are those of all players, the most frequent of each first.
func (w *witness) breaches() (all []Breach) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range slices.SortedFunc(maps.Keys(w.problems), protocol.CompareIDs) {
		for _, problem := range slices.Sorted(maps.Keys(w.problems[id])) {
			all = append(all, Breach{id, problem, w.problems[id][problem]})
		}
	}
	slices.SortStableFunc(all, func(a, b Breach) int {
		return cmp.Or(protocol.CompareIDs(a.PlayerID, b.PlayerID), cmp.Compare(b.Count, a.Count))
	})
	return all
}

// losses are the technical losses among results, in their order.
func (w *witness) losses(results []league.MatchRecord, seats *seats) (all []Loss) {
	w.mu.Lock()
	known := map[sight]*seen{} // by player instead of endpoint
	for at, s := range w.seen {
		known[sight{at.matchID, seats.at(at.endpoint)}] = s
	}
	w.mu.Unlock()
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
			loss.Code = protocol.Code(code)
			if s := known[sight{m.MatchID, id}]; s != nil {
				loss.Detail, loss.Method, loss.Failures, loss.Answer = s.detail, s.method, s.failures, s.answer
			}
			all = append(all, loss)
		}
	}
	return all
}
