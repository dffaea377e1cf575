package conformance

import (
	"net/http"
	"strings"
	"time"

	"evenodd/league/protocol"
)

// A play is how a player of the kit answers; nil means as it should.
type play = func(s *seat, c *call, n int) *performance

// at has a player behave as it should but to one kind of message.
func at(kind string, do func(s *seat, c *call, n int) *performance) play {
	return func(s *seat, c *call, n int) *performance {
		if c.kind != kind {
			return nil
		}
		return do(s, c, n)
	}
}

// answers changes what a player answers to one kind of message.
func answers(kind string, change func(s *seat, n int, m map[string]any)) play {
	return at(kind, func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		change(s, n, p.result)
		return &p
	})
}

// always answers the same to every question.
func always(p performance) play {
	return at(protocol.TypeChooseParityCall, func(*seat, *call, int) *performance { return &p })
}

// The names of contests that requirements ask for.
const (
	wellPlayed      = "two good players"
	sameChoice      = "two good players that choose the same"
	refusesToPlay   = "a player that refuses the invitation"
	neverJoins      = "a player that never answers the invitation"
	neverChooses    = "a player that never chooses"
	choosesMaybe    = "a player that chooses maybe, and then even"
	alwaysMaybe     = "a player that always chooses maybe"
	choosesLate     = "a player that chooses too late once"
	otherMatchOnly  = "a player that answers about another match"
	answersErrors   = "a player that answers with an error"
	answersNonsense = "a player that answers what is no JSON"
	answersBroken   = "a player that answers HTTP 500"
	hangsUp         = "a player that closes the connection"
	answersHuge     = "a player that answers 1 MB"
	bothFail        = "two players that always choose maybe"
	noEnvelope      = "a player whose answers have no envelope"
	lostReport      = "two good players, and a manager that closes the connection"
)

// contests are the matches of the examination.
func (x *bench) contests() []*contest {
	maybe := answers(protocol.TypeChooseParityCall, func(_ *seat, _ int, m map[string]any) { m["parity_choice"] = "maybe" })
	huge := []byte(`{"jsonrpc": "2.0", "id": 1, "result": {"comment": "` + strings.Repeat("x", 1<<20) + `"}}`)
	var all []*contest
	add := func(name string, a, b play, change ...func(*contest)) {
		c, ok := x.contest(name, a, b)
		if !ok {
			return
		}
		for _, do := range change {
			do(c)
		}
		all = append(all, c)
	}
	// A connection that broke is tried again after a pause, which may be long. Only
	// who does not answer has little time for it: on a machine that is busy it is
	// hardly enough for an answer.
	long := func(c *contest) { c.limit = x.patience(longContest) }
	short := func(c *contest) { c.short = true; long(c) }
	add(wellPlayed, x.waitForOther(), x.joinsLast())
	add(sameChoice, x.joinsLast(), nil, func(c *contest) { c.seats[1].choice = "even" })
	add(refusesToPlay, nil, answers(protocol.TypeGameInvitation, func(_ *seat, _ int, m map[string]any) { m["accept"] = false }))
	add(neverJoins, at(protocol.TypeGameInvitation, func(*seat, *call, int) *performance { return &performance{forever: true} }), nil, short)
	add(neverChooses, nil, always(performance{forever: true}), short)
	add(choosesMaybe, at(protocol.TypeChooseParityCall, func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		if n == 1 { // when the other has chosen, so that there is something to tell
			x.awaitOther(s, c, protocol.TypeChooseParityCall, forOther, func(k *call) bool { return k.answered })
			p.result["parity_choice"] = "maybe"
		}
		return &p
	}), nil)
	add(alwaysMaybe, nil, maybe)
	add(choosesLate, at(protocol.TypeChooseParityCall, func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		if n == 1 {
			p.after = 3 * shortTime
		}
		return &p
	}), nil, short)
	add(otherMatchOnly, nil, answers(protocol.TypeChooseParityCall, func(_ *seat, _ int, m map[string]any) { m["match_id"] = "R99M99" }))
	add(answersErrors, at(protocol.TypeChooseParityCall, func(_ *seat, c *call, _ int) *performance {
		p := c.refuse(-32000, "the player has no choice")
		return &p
	}), nil)
	add(answersNonsense, nil, always(performance{status: http.StatusOK, body: []byte("<html>not what you asked for</html>")}), long)
	add(answersBroken, always(performance{status: http.StatusInternalServerError, body: []byte("Internal Server Error")}), nil, long)
	add(hangsUp, nil, always(performance{}), long)
	add(answersHuge, always(performance{status: http.StatusOK, body: huge}), nil, long)
	add(bothFail, maybe, maybe)
	add(noEnvelope, nil, bareReplies)
	add(lostReport, nil, nil, long, func(c *contest) { c.lostOne = true })
	return all
}

// waitForOther has a player choose only when the other was asked as well, or
// after a while.
func (x *bench) waitForOther() play {
	return at(protocol.TypeChooseParityCall, func(s *seat, c *call, _ int) *performance {
		x.awaitOther(s, c, c.kind, forOther, func(*call) bool { return true })
		p := s.behave(c)
		return &p
	})
}

// joinsLast has a player answer the invitation when the other is asked for a
// choice, which should not be before, or else after a while.
func (x *bench) joinsLast() play {
	return at(protocol.TypeGameInvitation, func(s *seat, c *call, n int) *performance {
		if n == 1 {
			x.awaitOther(s, c, protocol.TypeChooseParityCall, hesitation, func(*call) bool { return true })
		}
		p := s.behave(c)
		return &p
	})
}

const (
	hesitation = 500 * time.Millisecond // a player lets the referee wait so long for it to join
	forOther   = 2 * time.Second        // and waits so long for what the referee asks the other
)

// awaitOther waits for a call of a kind to the other player of a match.
func (x *bench) awaitOther(s *seat, c *call, kind string, most time.Duration, want func(*call) bool) {
	match := c.match()
	x.stage.await(x.stage.life, most, func() bool {
		return len(x.stage.told(func(k *call) bool { return k.kind == kind && k.to != s.actor && k.match() == match && want(k) })) > 0
	})
}

// bareReplies leaves the envelope out of everything.
func bareReplies(s *seat, c *call, _ int) *performance {
	p := s.behave(c)
	for _, name := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token"} {
		delete(p.result, name)
	}
	return &p
}
