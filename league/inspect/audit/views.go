package audit

import (
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// keepView keeps the hash of what the history lets a side see, with the question that shows it.
func (t *transcriptCheck) keepView(e *exchange, question any) {
	s := e.side
	q, ok := question.(*protocol.GameMoveCall)
	if got, read := e.read.message.(*protocol.GameMoveCall); ok && read {
		s.commitment = got.DrawCommitment
	}
	if !ok || !t.game.Info().Hidden {
		return
	}
	s.viewHash, s.viewTurn = q.ViewHash, turnOf(q)
	if !t.options.Views {
		return
	}
	if s.viewHash == "" { // the side does not sign
		s.viewHash = protocol.ViewHash(q.MoveRequest.Context["view"])
	}
	key := decisionKey{t.match.id, t.doc.Attempt, t.doc.RefereeID, s.viewTurn}
	both := t.views[key]
	both[s.side] = s.viewHash
	t.views[key] = both
}

// checkSignedView finds an answer that counts with a signature over another view, or other moves, than the history of
// the match lets the player see: its referee showed it something else than the file says.
func (t *transcriptCheck) checkSignedView(e *exchange, r *conduct.Reply) {
	if !t.options.Views || !rules.HasViews(t.game) || e.method.phase != phaseMove || e.Omission() != "" ||
		r.Signature == "" {
		return
	}
	statement, key, due := t.conduct.Statement(e.side.side, r)
	if due && t.doc.Draw == nil { // the nonce of an attempt that was given up is still a secret
		if rules.Hides(t.game) {
			return // nobody can tell the commitments to secret moves
		}
		statement.DrawCommitment = e.side.commitment
	}
	if due && !statement.Verify(key, r.Signature) {
		t.findAt(RuleView, e.side.id, e.at+"/message/signature",
			"%s signed its answer in turn %d of %s after %s showed it something else than the history lets it see", e.side.id,
			t.conduct.Turn(), t.match.id, clip(t.doc.RefereeID))
	}
}

// checkLastViews compares the hashes of the views that the players signed last with what the history lets them see.
func (t *transcriptCheck) checkLastViews() {
	for i := range t.sides {
		s := &t.sides[i]
		signed, ok := t.doc.Signatures.Get(s.id)
		if ok && signed.Turn == s.viewTurn && signed.ViewHash != s.viewHash {
			t.findAt(RuleView, s.id, "/signatures",
				"%s signed in turn %d of %s that %s showed it the view %s; by the history it is %s", s.id, signed.Turn, t.match.id,
				clip(t.doc.RefereeID), orNone(signed.ViewHash), orNone(s.viewHash))
		}
	}
}

// compareView compares the hash of a view that a player kept with what the history of the match lets it see.
func (a *auditor) compareView(x *store.HistoryDecision, side int, player string, at Location) {
	d := &x.Decision
	if side < 0 || d.ViewHash == "" {
		return
	}
	want := a.views[decisionKey{x.MatchID, x.Attempt, d.RefereeID, d.Turn}][side]
	if want != "" && want != d.ViewHash {
		a.find(RuleView, at, "%s showed %s in turn %d of %s the view %s; by the history of the match it is %s",
			clip(d.RefereeID), player, d.Turn, x.MatchID, quoted(&d.ViewHash), quoted(&want))
	}
}
