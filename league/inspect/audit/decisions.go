package audit

import (
	"cmp"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A question is identified by its match, attempt, referee and turn.
type decisionKey struct {
	matchID   string
	attempt   int
	refereeID string
	turn      int
}

// checkSigned checks what the history of a player has of signatures.
func (a *auditor) checkSigned(d *document[store.History], player string) {
	h := d.value
	switch {
	case a.signs():
		a.checkDecisions(d, player)
		for i := range h.Heads {
			a.checkStoredHead(&h.Heads[i].Head, location{file: d.file, line: h.Heads[i].Line, agentID: player})
		}
	case len(h.Heads) > 0:
		a.find(RuleKeys, location{file: d.file, line: h.Heads[0].Line, agentID: player}, "the manager signed heads for %s, but the league of this journal does not sign", player)
	case len(h.Decisions) > 0:
		a.find(RuleKeys, location{file: d.file, line: h.Decisions[0].Line, agentID: player}, "%s signed moves, but the league of this journal does not sign", player)
	}
}

// checkDecisions verifies the decisions in the history of a player, and compares them with
// the results in the journal. A player that signs two moves in answer to one question
// deceives its opponent or the referee.
func (a *auditor) checkDecisions(d *document[store.History], player string) {
	var keys []string
	if agent := a.state.Agents[player]; agent != nil {
		keys = agent.Keys()
	}
	first := map[decisionKey]*store.HistoryDecision{}
	decided := map[protocol.Attempt]int{} // the number of decisions
	for i := range d.value.Decisions {
		x := &d.value.Decisions[i]
		at := location{file: d.file, line: x.Line, matchID: x.MatchID, agentID: player}
		id := decisionKey{x.MatchID, x.Attempt, x.Decision.RefereeID, x.Decision.Turn}
		signed := x.Decision.Signature != ""
		switch {
		case signed && x.Decision.Started != a.startHash:
			a.find(RuleSignature, at, "%s signed a move for a league that started with %.12q…, not with line %d of the journal", player, x.Decision.Started, a.started)
			continue
		case signed && !a.verified(x, player, keys):
			a.find(RuleSignature, at, "the signature of this decision of %s is not over this decision", player)
			continue
		}
		switch before := first[id]; {
		case before == nil:
			first[id] = x
			if id, ok := protocol.ParseMatchID(x.MatchID); ok && signed {
				decided[protocol.Attempt{MatchID: id, Number: x.Attempt}]++
			}
		case signed && before.Decision.Signature != "" && before.Decision.Choice != x.Decision.Choice:
			a.find(RuleSignature, at, "%s signed two moves in answer to one question: %.40q here, %.40q in line %d", player, x.Decision.Choice, before.Decision.Choice, before.Line)
		}
		a.compareDecision(x, player, at)
	}
	for i := range d.value.Matches {
		a.noteUndecided(d, i, player, decided)
	}
}

// noteUndecided notes a match of a history without the decisions that the player signed.
func (a *auditor) noteUndecided(d *document[store.History], i int, player string, decided map[protocol.Attempt]int) {
	x := &d.value.Matches[i]
	id, _ := protocol.ParseMatchID(x.MatchID)
	m, _, ok := a.findMatch(id)
	if !ok {
		return
	}
	r, _ := reportOf(m, x.Attempt)
	if r = cmp.Or(r, m.Report); r == nil {
		return
	}
	if _, signed := r.Signatures.Get(player); !signed {
		return
	}
	moves := 0
	for _, move := range r.Evidence.Moves {
		if move.PlayerID == player {
			moves++
		}
	}
	if known := decided[r.Attempt]; known < max(moves, 1) {
		at := location{file: d.file, line: d.line(matchPointer(i)), matchID: x.MatchID, agentID: player}
		a.note(RuleHistory, at, "the history of %s has %s of %s in %s, which it signed: a line was removed, or could not be written",
			player, protocol.Counted(known, "decision"), protocol.Counted(max(moves, 1), "move"), x.MatchID)
	}
}

// verified tells whether the signature of a decision is valid. The same signature of the
// same statement in the journal was verified before.
func (a *auditor) verified(x *store.HistoryDecision, player string, keys []string) bool {
	statement := x.Statement(player)
	id, _ := protocol.ParseMatchID(x.MatchID)
	m, players, ok := a.findMatch(id)
	var r *journal.MatchReported
	if ok {
		r, _ = reportOf(m, x.Attempt)
	}
	if r != nil && x.Decision.Turn == 1 {
		known, _ := r.Signatures.Get(player)
		side := slices.Index(players[:], player)
		if side >= 0 && known == (protocol.MoveSignature{Turn: 1, Signature: x.Decision.Signature}) &&
			*statement == r.Statement(a.startHash, players, journal.SignedMove{Player: side, Turn: 1}) {
			return true // or checkMatches has found it
		}
	}
	return slices.ContainsFunc(keys, func(key string) bool { return statement.Verify(key, x.Decision.Signature) })
}

// compareDecision compares a decision with the result of its attempt.
func (a *auditor) compareDecision(x *store.HistoryDecision, player string, at location) {
	id, _ := protocol.ParseMatchID(x.MatchID)
	m, players, ok := a.findMatch(id)
	if side := slices.Index(players[:], player); ok && side >= 0 && x.Decision.RoleInMatch != [2]string{protocol.RolePlayerA, protocol.RolePlayerB}[side] {
		a.find(RuleHistory, at, "%s decided as %s in %s, which it plays on the other side", player, orNone(x.Decision.RoleInMatch), x.MatchID)
	}
	if !ok {
		return
	}
	r, line := reportOf(m, x.Attempt)
	if r == nil || x.Attempt == 0 || x.Decision.RefereeID != r.RefereeID {
		return
	}
	choice, _ := r.Choices.Get(player)
	signature, signed := r.Signatures.Get(player)
	turn := a.lastTurn(r, player)
	lost := r.Status == protocol.StatusTechnicalLoss && (r.WinnerPlayerID == nil || *r.WinnerPlayerID != player)
	switch {
	case lost && (choice == nil || turn > 0 && x.Decision.Turn > turn):
		if x.Decision.Signature != "" {
			a.note(RuleHistory, at, "%s signed the move %.40q in %s, but lost it technically by the report of %s (line %d of the journal)",
				player, x.Decision.Choice, x.MatchID, clip(r.RefereeID), line)
		}
	case choice == nil || turn != x.Decision.Turn || *choice == x.Decision.Choice:
	case x.Decision.Signature == "":
		a.note(RuleHistory, at, "%s decided for %.40q in %s; in line %d of the journal its choice is %.40q", player, x.Decision.Choice, x.MatchID, line, *choice)
	case signed && a.proves(r, players, player, line):
		a.find(RuleSignature, at, "%s signed two moves in answer to one question: %.40q here, %.40q in line %d of the journal", player, x.Decision.Choice, *choice, line)
	case signed && signature.Signature != x.Decision.Signature:
		a.find(RuleSignature, at, "%s signed %.40q in %s; in line %d of the journal its choice is %.40q, with another signature: either the journal or %s contradicts itself",
			player, x.Decision.Choice, x.MatchID, line, *choice, player)
	default:
		a.find(RuleSignature, at, "%s signed %.40q in %s; in line %d of the journal its choice is %.40q, without its signature", player, x.Decision.Choice, x.MatchID, line, *choice)
	}
}

// proves tells whether a result, in a line of the journal, has a valid signature of a player over
// its last move.
func (a *auditor) proves(r *journal.MatchReported, players [2]string, player string, line int) bool {
	game, err := a.games.Game(a.state.Created.GameType)
	side := slices.Index(players[:], player)
	if err != nil || side < 0 {
		return false
	}
	m := &scheduledMatch{Match: &journal.Match{Outcome: journal.Outcome{Report: r}}, players: players}
	last, err := new(signatureCheck).lastMoves(m, game)
	return err == nil && r.CheckSignature(a.startHash, players, a.state.Agents[player].KeyAt(line), last[side]) == nil
}

// lastTurn is the turn of the last move of a player by a result; 0 if the result does not
// say it.
func (a *auditor) lastTurn(r *journal.MatchReported, player string) int {
	if s, ok := r.Signatures.Get(player); ok {
		return s.Turn
	}
	if game, err := a.games.Game(a.state.Created.GameType); err == nil && game.MaxTurns() == 1 {
		return 1
	}
	return 0
}
