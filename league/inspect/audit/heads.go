package audit

import (
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// heads are the lines of the journal at which the manager signs a head: from the end of a
// round to the next one, and after the end of the league.
type heads struct {
	lines  map[string]headLine
	signed int                // the last line that a valid signed head covers
	pinned int                // the line of Options.Head; 0 for none
	valid  map[[2]string]bool // heads with valid signatures: each player has them
}

// A headLine is a line of the journal at which the manager may have signed a head.
type headLine struct {
	line  int
	round int // that had ended; 0 after the end of the league
}

// add remembers the hash of a line if the manager may have signed it, by the state after it.
func (h *heads) add(s *journal.State, hash string, line int) {
	if s.Open() || s.Round == 0 {
		return
	}
	at := headLine{line: line}
	if s.Completed == nil {
		at.round = s.Round
	}
	h.lines[hash] = at
}

// checkHead tells whether a head is signed by the manager, and finds one that is not.
func (a *auditor) checkHead(head, signature string, at location) bool {
	switch key := a.state.Created.ManagerKey; {
	case a.heads.valid[[2]string{head, signature}]:
		return true
	case signature == "":
		a.find(RuleJournalHead, at,
			"the head of the journal has no signature, although the manager of this league signs heads")
	case !protocol.VerifyHead(key, signature, a.id, head):
		a.find(RuleJournalHead, at, "the signature of the head %.12q… is not that of the manager's key %.12s…", head, key)
	default:
		a.heads.valid[[2]string{head, signature}] = true
		return true
	}
	return false
}

// checkSignedHead checks the signature of the head in standings.json.
func (a *auditor) checkSignedHead() {
	d := a.standings
	if d.value == nil || !a.signs() {
		return
	}
	if a.checkHead(d.value.JournalHead, d.value.JournalHeadSignature, d.at("/journal_head_signature")) {
		a.heads.signed = max(a.heads.signed, d.line)
	}
}

// checkStoredHead checks a signed head in the history of a player.
func (a *auditor) checkStoredHead(h *store.SignedHead, at location) {
	if h.ManagerKey != a.state.Created.ManagerKey {
		a.find(RuleKeys, at, "%s knows the manager by the key %.12q…; in the journal it is %.12q…", at.agentID, h.ManagerKey,
			a.state.Created.ManagerKey)
		return
	}
	if !a.checkHead(h.JournalHead, h.JournalHeadSignature, at) {
		return
	}
	known := a.heads.lines[h.JournalHead]
	switch {
	case known.line == 0 && len(a.lostHeads) > 0 && a.options.Histories == "":
		a.note(RuleJournalHead, at,
			"the manager told %s the head %.12q…, which is not in the journal: by the journal its tail was cut off", at.agentID,
			h.JournalHead)
	case known.line == 0: // an auditor that collects histories does not trust what the journal says of a lost tail
		a.find(RuleJournalHead, at,
			"the manager told %s the head %.12q…, which is the hash of no line of the journal at which a round ended: the journal was changed afterwards", at.agentID, h.JournalHead)
	case known.line > 0 && known.round != h.Round:
		a.find(RuleJournalHead, at, "the head that %s has of round %d is that of round %d (0: the end of the league)",
			at.agentID, h.Round, known.round)
	}
	a.heads.signed = max(a.heads.signed, known.line)
}

// checkPinnedHead checks the head that the auditor knows, and notes the events that no head
// covers.
func (a *auditor) checkPinnedHead() {
	at := a.inJournal(0)
	if head := a.options.Head; head != "" && a.heads.pinned == 0 {
		a.find(RuleJournalHead, at,
			"%.12s… is the hash of no line: the journal was changed after this head was pinned, or the head is that of another league", head)
	}
	known, lines := max(a.heads.signed, a.heads.pinned), a.chain.lines
	if (a.signs() || a.options.Head != "") && known > 0 && known < lines {
		a.note(RuleJournalHead, at.at(known+1), "no signed head covers the last %s", protocol.Counted(lines-known, "event"))
	}
}
