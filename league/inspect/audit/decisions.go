package audit

import (
	"cmp"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// A question is identified by its match, attempt, referee and turn.
type decisionKey struct {
	matchID   string
	attempt   int
	refereeID string
	turn      int
}

// checkSigned checks what the history of a player has of decisions and signatures. Decisions without a signature are
// those of a game that hides something.
func (a *auditor) checkSigned(h *playerHistory) {
	a.noteDifferences(h)
	if !a.signs() {
		signed := func(d store.HistoryDecision) bool { return d.Decision.Signature != "" }
		if len(h.Heads) > 0 || slices.ContainsFunc(h.Decisions, signed) {
			a.find(RuleKeys, h.at(1), "%s has signed heads or moves, but the league of this journal does not sign", h.PlayerID)
			return
		}
		for i := range h.Decisions {
			x := &h.Decisions[i]
			if m := a.named(x.MatchID); m != nil {
				a.compareDecision(x, m, h.PlayerID, h.at(x.Line).in(x.MatchID))
			}
		}
		return
	}
	a.checkDecisions(h)
	for i := range h.Heads {
		a.checkStoredHead(&h.Heads[i].Head, h.at(h.Heads[i].Line))
	}
}

// noteDifferences notes what a player was shown otherwise than it computed. The player may be wrong: with Options.Views
// the audit computes it, too.
func (a *auditor) noteDifferences(h *playerHistory) {
	for i := range h.Differences {
		x := &h.Differences[i]
		d := &x.Difference
		a.note(RuleHistory, h.at(x.Line).in(x.MatchID), "%s computed after attempt %d that %s in turn %d is %s, not %s",
			h.PlayerID, x.Attempt, clip(d.Member), d.Turn, quoted(&d.Computed), quoted(&d.Shown))
	}
}

// checkDecisions verifies the decisions in the history of a player, and compares them with
// the results in the journal. A player that signs two moves in answer to one question
// deceives its opponent or the referee.
func (a *auditor) checkDecisions(h *playerHistory) {
	player, keys := h.PlayerID, a.state.Agents[h.PlayerID].Keys()
	first := map[decisionKey]*store.HistoryDecision{}
	decided := map[league.Attempt]int{} // the number of decisions
	replaced := replacedIn(h.Decisions)
	for i := range h.Decisions {
		x := &h.Decisions[i]
		at, m := h.at(x.Line).in(x.MatchID), a.named(x.MatchID)
		signed := x.Decision.Signature != ""
		switch {
		case signed && x.Decision.Started != a.startHash:
			a.find(RuleSignature, at, "%s signed a move for a league that started with %.12q…, not with line %d of the journal",
				player, x.Decision.Started, a.started)
			continue
		case signed && !a.verified(x, m, player, keys):
			a.find(RuleSignature, at, "the signature of this decision of %s is not over this decision", player)
			continue
		}
		id := keyOf(x)
		switch before := first[id]; {
		case before == nil:
			first[id] = x
			if m != nil && signed {
				decided[league.Attempt{MatchID: m.key, Number: x.Attempt}]++
			}
		case replaces(x, before):
			first[id] = x
		case signed && before.Decision.Signature != "" && before.Decision.Choice != x.Decision.Choice:
			a.find(RuleSignature, at, "%s signed two moves in answer to one question: %.40q here, %.40q in line %d", player,
				x.Decision.Choice, before.Decision.Choice, before.Line)
		}
		if m != nil && !replaced[x] {
			a.compareDecision(x, m, player, at)
		}
	}
	for i := range h.Matches {
		a.noteUndecided(h, i, decided)
	}
}

// keyOf identifies the question of a decision.
func keyOf(x *store.HistoryDecision) decisionKey {
	return decisionKey{x.MatchID, x.Attempt, x.Decision.RefereeID, x.Decision.Turn}
}

// replaces tells whether a decision is the one after another on the same question, which the referee has refused: a
// move in free text.
func replaces(x, before *store.HistoryDecision) bool {
	texts, n := x.Decision.Refused, len(before.Decision.Refused)
	return len(texts) == n+1 && texts[n].Choice == before.Decision.Choice &&
		slices.Equal(texts[:n], before.Decision.Refused)
}

// replacedIn returns the decisions of a history that later ones replace. They count for nothing: a result that has one
// of them differs from the last decision.
func replacedIn(decisions []store.HistoryDecision) map[*store.HistoryDecision]bool {
	last, replaced := map[decisionKey]*store.HistoryDecision{}, map[*store.HistoryDecision]bool{}
	for i := range decisions {
		x := &decisions[i]
		switch before := last[keyOf(x)]; {
		case before == nil:
			last[keyOf(x)] = x
		case replaces(x, before):
			last[keyOf(x)], replaced[before] = x, true
		}
	}
	return replaced
}

// noteUndecided notes a match of a history without the decisions that the player signed.
func (a *auditor) noteUndecided(h *playerHistory, i int, decided map[league.Attempt]int) {
	x, m := &h.Matches[i], a.named(h.Matches[i].MatchID)
	if m == nil {
		return
	}
	r, _ := reportOf(m.Match, x.Attempt)
	if r = cmp.Or(r, m.Report); r == nil {
		return
	}
	if _, signed := r.Signatures.Get(h.PlayerID); !signed {
		return
	}
	moves := len(lists.Filter(r.Evidence.Moves, func(p protocol.PlayerMove) bool { return p.PlayerID == h.PlayerID }))
	if known := decided[r.Attempt]; known < max(moves, 1) {
		a.note(RuleHistory, h.at(h.lines[i]).in(x.MatchID),
			"the history of %s has %s of %s in %s, which it signed: a line was removed, or could not be written",
			h.PlayerID, words.Counted(known, "decision"), words.Counted(max(moves, 1), "move"), x.MatchID)
	}
}

// verified tells whether the signature of a decision is valid. The same signature of the
// same statement in the journal was verified before.
func (a *auditor) verified(x *store.HistoryDecision, m *scheduledMatch, player string, keys []string) bool {
	statement := x.Statement(player)
	if m != nil && slices.Contains(m.players[:], player) {
		side := journal.SignedMove{Player: slices.Index(m.players[:], player), Turn: 1}
		if r, _ := reportOf(m.Match, x.Attempt); r != nil && *statement == r.Statement(a.startHash, m.players, side) {
			if known, _ := r.Signatures.Get(player); known.Signature == x.Decision.Signature {
				return true // or checkMatches has found it
			}
		}
	}
	return slices.ContainsFunc(keys, func(key string) bool { return statement.Verify(key, x.Decision.Signature) })
}

// compareDecision compares a decision with the result of its attempt.
func (a *auditor) compareDecision(x *store.HistoryDecision, m *scheduledMatch, player string, at Location) {
	side := slices.Index(m.players[:], player)
	// a player that was restarted during a match that is not signed does not know its role
	unknown := x.Decision.RoleInMatch == "" && x.Decision.Signature == ""
	if side >= 0 && x.Decision.RoleInMatch != roles[side] && !unknown {
		a.find(RuleHistory, at, "%s decided as %s in %s, which it plays on the other side", player,
			orNone(x.Decision.RoleInMatch), x.MatchID)
	}
	for _, name := range names(x.Decision.EntropyCommitments) {
		if !slices.Contains(m.players[:], name) {
			a.find(RuleHistory, at, "%s decided with a commitment of %s, which does not play %s", player, quoted(&name), x.MatchID)
		}
	}
	a.compareView(x, side, player, at)
	r, line := reportOf(m.Match, x.Attempt)
	if r == nil || side < 0 || x.Attempt == 0 || x.Decision.RefereeID != r.RefereeID {
		return
	}
	choice, _ := r.Choices.Get(player)
	signature, signed := r.Signatures.Get(player)
	turn := signature.Turn // of the last move; 0 if the result does not say it
	if !signed && a.game != nil && !rules.ListsMoves(a.game) {
		turn = 1
	}
	switch {
	case r.Outcome(player) == league.TechnicalLoss && (choice == nil && !signed || turn > 0 && x.Decision.Turn > turn):
		if x.Decision.Signature != "" {
			a.note(RuleHistory, at,
				"%s signed the move %.40q in %s, but lost it technically by the report of %s (line %d of the journal)",
				player, x.Decision.Choice, x.MatchID, clip(r.RefereeID), line)
		}
		return
	case choice == nil || turn != x.Decision.Turn || *choice == x.Decision.Choice:
		return
	case x.Decision.Signature == "":
		a.note(RuleHistory, at, "%s decided for %.40q in %s; in line %d of the journal its choice is %.40q", player,
			x.Decision.Choice, x.MatchID, line, *choice)
		return
	}
	a.find(RuleSignature, at,
		"%s signed two moves in answer to one question, or the journal is wrong: %.40q here, %.40q in line %d of the journal",
		player, x.Decision.Choice, *choice, line)
}
