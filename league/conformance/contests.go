package conformance

import (
	"net/http"
	"slices"
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

// changed changes what a player answers to one kind of message.
func changed(kind string, change func(s *seat, n int, m map[string]any)) play {
	return at(kind, func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		change(s, n, p.result)
		return &p
	})
}

// always answers the same to every question.
func (x *bench) always(p performance) play {
	return at(x.questionType(), func(*seat, *call, int) *performance { return &p })
}

// The names of contests that requirements ask for.
const (
	wellPlayed      = "two good players"
	sameChoice      = "two good players that choose the same"
	refusesToPlay   = "a player that refuses the invitation"
	neverJoins      = "a player that never answers the invitation"
	neverChooses    = "a player that never chooses"
	choosesMaybe    = "a player that chooses maybe, and then a legal choice"
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

// everyContest are the names of all.
func everyContest() []string {
	return []string{
		wellPlayed, sameChoice, refusesToPlay, neverJoins, neverChooses, choosesMaybe, alwaysMaybe, choosesLate, otherMatchOnly,
		answersErrors, answersNonsense, answersBroken, hangsUp, answersHuge, bothFail, noEnvelope, lostReport,
	}
}

// promptContests are those in which every player answers at once.
func promptContests() []string {
	return []string{wellPlayed, sameChoice, refusesToPlay, choosesMaybe, alwaysMaybe, otherMatchOnly, bothFail, noEnvelope}
}

// contestsOf are the contests that show a requirement. What is not here shows wherever
// players answer at once.
func contestsOf(id string) []string {
	played := []string{wellPlayed, sameChoice, choosesMaybe, noEnvelope}
	for _, r := range []struct {
		prefix string
		names  []string
	}{
		{"R-REG", nil}, {"R-HTTP", nil}, {"R-RPC", nil}, {"R-END", nil}, {"R-FRM-03", nil}, {"R-FRM", []string{wellPlayed}}, {"R-STA", []string{wellPlayed}},
		{"R-INV-05", []string{refusesToPlay, neverJoins}}, {"R-CHO-04", []string{wellPlayed}}, {"R-CHO-07", []string{choosesMaybe}}, {"R-AUT", []string{choosesMaybe}},
		{"R-OVR-03", played}, {"R-OVR-04", played}, {"R-OVR-05", played}, {"R-DRW", played},
		{"R-LOS-01", []string{refusesToPlay, neverJoins}}, {"R-LOS-02", []string{neverChooses}}, {"R-LOS-03", []string{alwaysMaybe}},
		{"R-LOS-04", []string{answersErrors, answersNonsense, answersBroken, hangsUp}}, {"R-LOS-05", []string{otherMatchOnly}},
		{"R-LOS-06", []string{bothFail}}, {"R-LOS-08", []string{answersHuge}}, {"R-REP-07", []string{lostReport}}, {"R-REP-08", []string{lostReport}},
		{"R-ERR-06", []string{choosesMaybe}}, {"R-ERR-07", []string{neverJoins, choosesLate}}, {"R-ERR-08", []string{noEnvelope}}, {"R-ERR-09", []string{choosesMaybe, choosesLate}},
		{"R-ERR", everyContest()}, {"R-OVR-01", everyContest()}, {"R-LOS-07", everyContest()}, {"R-REP-01", everyContest()}, {"R-MSG", everyContest()},
	} {
		if strings.HasPrefix(id, r.prefix) {
			return r.names
		}
	}
	return promptContests()
}

// needs tells whether a contest shows anything that is wanted. The first shows how the
// referee wants matches to be assigned.
func (x *bench) needs(name string) bool {
	for _, q := range refereeRequirements() {
		names := contestsOf(q.ID)
		if x.options.Selection.Wants(q) && len(names) > 0 && (name == wellPlayed || slices.Contains(names, name)) {
			return true
		}
	}
	return false
}

// contests are the matches of the examination.
func (x *bench) contests() []*contest {
	maybe := changed(x.questionType(), func(_ *seat, _ int, m map[string]any) { x.setChoice(m, "maybe") })
	huge := []byte(`{"jsonrpc": "2.0", "id": 1, "result": {"comment": "` + strings.Repeat("x", 1<<20) + `"}}`)
	var all []*contest
	add := func(name string, a, b play, change ...func(*contest)) {
		if !x.needs(name) {
			return
		}
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
	add(sameChoice, x.joinsLast(), nil, func(c *contest) { c.seats[1].choice = c.seats[0].choice })
	add(refusesToPlay, nil, changed(protocol.TypeGameInvitation, func(_ *seat, _ int, m map[string]any) { m["accept"] = false }))
	add(neverJoins, at(protocol.TypeGameInvitation, func(*seat, *call, int) *performance { return &performance{forever: true} }), nil, short)
	add(neverChooses, nil, x.always(performance{forever: true}), short)
	add(choosesMaybe, at(x.questionType(), func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		if n == 1 { // when the other has chosen, so that there is something to tell
			x.awaitOther(s, c, x.questionType(), forOther, func(k *call) bool { return k.answered })
			x.peek(c.match())
			x.setChoice(p.result, "maybe")
		}
		return &p
	}), nil)
	add(alwaysMaybe, nil, maybe)
	add(choosesLate, at(x.questionType(), func(s *seat, c *call, n int) *performance {
		p := s.behave(c)
		if n == 1 {
			p.after = 3 * shortTime
		}
		return &p
	}), nil, short)
	add(otherMatchOnly, nil, changed(x.questionType(), func(_ *seat, _ int, m map[string]any) { m["match_id"] = "R99M99" }))
	add(answersErrors, at(x.questionType(), func(_ *seat, c *call, _ int) *performance {
		p := c.refuse(-32000, "the player has no choice")
		return &p
	}), nil)
	add(answersNonsense, nil, x.always(performance{status: http.StatusOK, body: []byte("<html>not what you asked for</html>")}), long)
	add(answersBroken, x.always(performance{status: http.StatusInternalServerError, body: []byte("Internal Server Error")}), nil, long)
	add(hangsUp, nil, x.always(performance{}), long)
	add(answersHuge, x.always(performance{status: http.StatusOK, body: huge}), nil, long)
	add(bothFail, maybe, maybe)
	add(noEnvelope, nil, bareReplies)
	add(lostReport, nil, nil, long, func(c *contest) { c.lostOne = true })
	return all
}

// waitForOther has a player choose only when the other was asked as well, or
// after a while. Where players move in turn it chooses at once.
func (x *bench) waitForOther() play {
	if !x.simultaneous() {
		return nil
	}
	return at(x.questionType(), func(s *seat, c *call, _ int) *performance {
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
			x.awaitOther(s, c, x.questionType(), hesitation, func(*call) bool { return true })
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
