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
	short := func(c *contest) { c.short, c.limit = true, x.patience(longContest) }
	add(wellPlayed, x.waitForOther(), nil)
	add(sameChoice, nil, nil, func(c *contest) { c.seats[1].choice = "even" })
	add(refusesToPlay, nil, answers(protocol.TypeGameInvitation, func(_ *seat, _ int, m map[string]any) { m["accept"] = false }))
	add(neverJoins, at(protocol.TypeGameInvitation, func(*seat, *call, int) *performance { return &performance{forever: true} }), nil, short)
	add(neverChooses, nil, always(performance{forever: true}), short)
	add(choosesMaybe, answers(protocol.TypeChooseParityCall, func(_ *seat, n int, m map[string]any) {
		if n == 1 {
			m["parity_choice"] = "maybe"
		}
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
	add(answersNonsense, nil, always(performance{status: http.StatusOK, body: []byte("<html>not what you asked for</html>")}), short)
	add(answersBroken, always(performance{status: http.StatusInternalServerError, body: []byte("Internal Server Error")}), nil, short)
	add(hangsUp, nil, always(performance{}), short)
	add(answersHuge, always(performance{status: http.StatusOK, body: huge}), nil, short)
	add(bothFail, maybe, maybe)
	add(noEnvelope, nil, bareReplies)
	add(lostReport, nil, nil, func(c *contest) { c.lostOne, c.limit = true, x.patience(longContest) })
	return all
}

// waitForOther has a player choose only when the other was asked as well, or
// after a while.
func (x *bench) waitForOther() play {
	return at(protocol.TypeChooseParityCall, func(s *seat, c *call, _ int) *performance {
		match := c.match()
		x.stage.await(x.stage.life, 1500*time.Millisecond, func() bool {
			return len(x.stage.told(func(k *call) bool { return k.kind == c.kind && k.to != s.actor && k.match() == match })) > 0
		})
		p := s.behave(c)
		return &p
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
