package audit

import (
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

// checkDecisions verifies the decisions in the history of a player, and compares them with
// the results in the journal. A player that signs two moves in answer to one question
// deceives its opponent or the referee.
func (a *auditor) checkDecisions(d *document[store.History], player string) {
	key := a.state.Started.Keys[player]
	first := map[decisionKey]*store.HistoryDecision{}
	for i := range d.value.Decisions {
		x := &d.value.Decisions[i]
		at := location{file: d.file, line: x.Line, matchID: x.MatchID, agentID: player}
		id := decisionKey{x.MatchID, x.Attempt, x.Decision.RefereeID, x.Decision.Turn}
		signed := x.Decision.Signature != ""
		switch {
		case signed && x.Decision.Started != a.startHash:
			a.find(RuleSignature, at, "%s signed a move for a league that started with %.12q…, not with line %d of the journal", player, x.Decision.Started, a.started)
			continue
		case signed && !a.verified(x, player, key):
			a.find(RuleSignature, at, "the signature of this decision of %s is not over this decision", player)
			continue
		}
		switch before := first[id]; {
		case before == nil:
			first[id] = x
		case signed && before.Decision.Signature != "" && before.Decision.Choice != x.Decision.Choice:
			a.find(RuleSignature, at, "%s signed two moves in answer to one question: %.40q here, %.40q in line %d", player, x.Decision.Choice, before.Decision.Choice, before.Line)
		}
		a.compareDecision(x, player, at)
	}
}

// verified tells whether the signature of a decision is valid. The signature in the journal
// was verified before.
func (a *auditor) verified(x *store.HistoryDecision, player, key string) bool {
	return key != "" && x.Statement(player).Verify(key, x.Decision.Signature)
}

// compareDecision compares a decision with the result of its attempt.
func (a *auditor) compareDecision(x *store.HistoryDecision, player string, at location) {
	id, _ := protocol.ParseMatchID(x.MatchID)
	m, players, ok := a.findMatch(id)
	if !ok || m.Report == nil || m.Forfeited != nil || x.Attempt != m.Report.Number || x.Decision.RefereeID != m.Report.RefereeID {
		return
	}
	r := m.Report
	choice, _ := r.Choices.Get(player)
	signature, signed := r.Signatures.Get(player)
	turn := a.lastTurn(r, player, players)
	line := a.lines[protocol.Attempt{MatchID: id}]
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
	case signed && signature.Signature != x.Decision.Signature:
		a.find(RuleSignature, at, "%s signed %.40q in %s; in line %d of the journal its choice is %.40q, with another signature: either the journal or %s contradicts itself",
			player, x.Decision.Choice, x.MatchID, line, *choice, player)
	default:
		a.find(RuleSignature, at, "%s signed %.40q in %s; in line %d of the journal its choice is %.40q, without its signature", player, x.Decision.Choice, x.MatchID, line, *choice)
	}
}

// lastTurn is the turn of the last move of a player by a result; 0 if the result does not
// say it.
func (a *auditor) lastTurn(r *journal.MatchReported, player string, players [2]string) int {
	if s, ok := r.Signatures.Get(player); ok {
		return s.Turn
	}
	if game, err := a.games.Game(a.state.Created.GameType); err == nil && game.MaxTurns() == 1 {
		return 1
	}
	return 0
}

// checkStoredHead checks a signed head in the history of a player.
func (a *auditor) checkStoredHead(h *store.SignedHead, at location) {
	if h.ManagerKey != a.state.Created.ManagerKey {
		a.find(RuleKeys, at, "%s knows the manager by the key %.12q…; in the journal it is %.12q…", at.agentID, h.ManagerKey, a.state.Created.ManagerKey)
		return
	}
	if !a.checkHead(h.JournalHead, h.JournalHeadSignature, at) {
		return
	}
	line := a.heads.lines[prefixOf(h.JournalHead)]
	if line == 0 && !a.lostHeads[h.JournalHead] {
		a.find(RuleJournalHead, at, "the manager told %s the head %.12q…, which is the hash of no line of the journal at which a round ended: the journal was changed afterwards", at.agentID, h.JournalHead)
	}
	a.heads.signed = max(a.heads.signed, line)
}

