package conformance

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// judgeErrors looks at every GAME_ERROR.
func (x *bench) judgeErrors(c *contest, said func(string) string) {
	for _, s := range c.seats {
		for _, k := range s.told(protocol.TypeGameError) {
			shown := k.exchange()
			x.envelope(k.said, protocol.TypeGameError, "referee:", "", k.at, shown)
			x.judge("R-ERR-02", said(firstOf(
				k.params.has("match_id", c.match), k.params.filled("error_code"), k.params.has("affected_player", s.name),
				k.params.filled("action_required"), k.params.filled("error_description"),
			)), shown)
			info := objectOf(k.params["retry_info"])
			count, flat := k.params.integer("retry_count")
			_, flatMost := k.params.integer("max_retries")
			inner, deep := info.integer("retry_count")
			_, deepMost := info.integer("max_retries")
			x.judge("R-ERR-04", said(firstOf(
				when(!flat || !flatMost, "retry_count or max_retries is missing"), when(!deep || !deepMost, "retry_info has no retry_count or max_retries"),
				when(count != inner, "retry_count is %d, and in retry_info %d", count, inner), when(count > 3, "retry_count is %d", count),
			)), shown)
		}
	}
}

// judgeFailures looks at what each ill-behaved player has brought about.
func (x *bench) judgeFailures(contests []*contest) {
	lost := map[string]string{
		refusesToPlay: "R-LOS-01", neverJoins: "R-LOS-01", neverChooses: "R-LOS-02", alwaysMaybe: "R-LOS-03", otherMatchOnly: "R-LOS-05",
		answersErrors: "R-LOS-04", answersNonsense: "R-LOS-04", answersBroken: "R-LOS-04", hangsUp: "R-LOS-04", answersHuge: "R-LOS-08", bothFail: "R-LOS-06",
	}
	for _, c := range contests {
		if c.start() == nil || c.refusedStart() != "" || c.cut {
			continue
		}
		if !c.over && x.slow(c) {
			for _, id := range []string{lost[c.name], "R-ERR-09"} {
				if id != "" {
					x.skip(id, c.name+": it gives a player the protocol's 30 s a try, which this examination does not wait for")
				}
			}
			continue
		}
		if id := lost[c.name]; id != "" {
			x.judgeLoss(id, c)
		}
		x.judgeComplaint(c)
		x.judgeSecondChance(c)
	}
}

// judgeLoss looks whether those have lost who had to.
func (x *bench) judgeLoss(id string, c *contest) {
	reports := x.reports(c)
	if len(reports) == 0 {
		x.because(unreportedDefect(c.name), id, c.name+": the match was never reported", c.startExchange())
		return
	}
	losers := x.losers(c)
	want := ""
	for _, s := range c.seats {
		if len(losers) == 1 && s.name != losers[0] {
			want = s.name
		}
	}
	got := winnerOf(objectOf(reports[0].params["result"]))
	x.judge(id, when(got != want, "%s: the winner is %s, not %s", c.name, quoted(got), quoted(want)), reports[0].exchange())
}

// codesOf are the codes that fit what a player has done.
func (x *bench) codesOf(name string) []protocol.Code {
	switch name {
	case neverJoins, neverChooses, choosesLate:
		return []protocol.Code{protocol.ErrTimeout}
	case alwaysMaybe, choosesMaybe, bothFail:
		return []protocol.Code{x.illegalMove()}
	case answersNonsense, answersBroken, hangsUp, answersHuge:
		return []protocol.Code{protocol.ErrConnection}
	}
	return nil
}

// judgeComplaint looks whether who failed was told so.
func (x *bench) judgeComplaint(c *contest) {
	codes := x.codesOf(c.name)
	if codes == nil {
		return
	}
	complaints := x.toldOf(c, protocol.TypeGameError)
	if c.name != choosesLate || len(complaints) > 0 { // that one try may count for nothing: see askedProblem
		x.judge("R-ERR-01", when(len(complaints) == 0, "%s: it was not told", c.name))
	}
	for _, k := range complaints {
		code, _ := k.params.text("error_code")
		x.judge("R-ERR-03", when(!slices.Contains(codes, protocol.Code(code)), "%s: error_code is %s, not %s", c.name, quoted(code), codes[0]), k.exchange())
	}
}

// judgeSecondChance looks whether a player could mend what it did.
func (x *bench) judgeSecondChance(c *contest) {
	played := func() string {
		reports := x.reports(c)
		if len(reports) == 0 {
			return "the match was never reported"
		}
		for _, s := range c.seats {
			if e := endingOf(s); e != nil && strings.EqualFold(e.status, protocol.StatusTechnicalLoss) {
				return "it ended by a technical loss"
			}
		}
		return ""
	}
	d := defect{}
	if len(x.reports(c)) == 0 {
		d = unreportedDefect(c.name)
	}
	asked := c.seats[0].told(x.questionType())
	switch c.name {
	case choosesMaybe:
		x.because(d, "R-ERR-06", firstOf(when(len(asked) < 2, "the player was asked once"), played()), exchangeOf(asked))
		x.because(d, "R-ERR-09", played(), exchangeOf(x.reports(c)))
	case choosesLate:
		x.judge("R-ERR-07", when(len(asked) < 2, "%s: it was asked once", c.name), exchangeOf(asked))
		x.because(d, "R-ERR-09", when(played() != "", "%s: %s", c.name, played()), exchangeOf(x.reports(c)))
	case neverJoins:
		invited := c.seats[0].told(protocol.TypeGameInvitation)
		x.judge("R-ERR-07", when(len(invited) < 2, "%s: it was invited once", c.name), exchangeOf(invited))
	case noEnvelope:
		x.because(d, "R-ERR-08", played(), exchangeOf(x.reports(c)))
	}
}

// judgeCrowd looks at the matches that were to be conducted at once.
func (x *bench) judgeCrowd(w *crowd) {
	if w == nil || w.beyond == nil || w.beyond.start() == nil {
		return
	}
	r := w.beyond.start()
	x.judge("R-STA-05", when(w.together < len(w.contests), "%d matches were under way at once, and max_concurrent_matches is %d", w.together, len(w.contests)), &r.Exchange)
	switch {
	case busy(r), notRefused(r) == "":
		x.pass("R-STA-06")
	case w.beyond.over:
		x.note("R-STA-06", "it was conducted later")
	default:
		x.fail("R-STA-06", "it took one match more than max_concurrent_matches, and did not report it", &r.Exchange)
	}
}
