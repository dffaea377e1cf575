package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

// signs tells whether the league has keys, by its first event.
func (a *auditor) signs() bool { return a.state.Created != nil && a.state.Created.Signs() }

// plain tells whether messages have the members of chapter 4 of the specification alone.
func (a *auditor) plain() bool { return a.state.Created != nil && a.state.Created.Plain() }

// A signatureCheck is what the signatures of a result prove.
type signatureCheck struct {
	problem  error   // is a finding
	unsigned bool    // a choice of a player with a key has no signature, and needs none
	signed   [2]bool // players whose signature is valid
}

// verify verifies the signatures of a result. It may be called by several goroutines.
func (a *auditor) verify(m *scheduledMatch) (c signatureCheck) {
	r := m.Report
	if a.plain() || r == nil || m.Forfeited != nil || m.Ruled != nil || !a.signs() || a.state.Started == nil {
		return c
	}
	game := a.gameOf(&r.Evidence, nil)
	if game == nil {
		return c
	}
	relays := decide.Relays(a.state, r.RefereeID) && !m.IsLost(r.Number) // nothing of a lost attempt is trusted
	var keys [2]string
	for i, id := range m.players {
		choice, _ := r.Choices.Get(id)
		_, signed := r.Signatures.Get(id)
		key := a.state.Agents[id].KeyAt(m.Event)
		ready := rules.HasDraws(game) && slices.ContainsFunc(r.Evidence.Moves, func(move protocol.PlayerMove) bool {
			return move.PlayerID == id && move.Move == rules.Ready && move.Turn == 1 // which is no choice
		})
		switch {
		case signed && (key == "" || choice == nil && !ready):
			c.problem = fmt.Errorf("%s has a signature, but no key or no choice", id)
			return c
		case signed, choice != nil && relays, ready && relays && r.Status != league.StatusTechnicalLoss:
			keys[i] = key
		case choice == nil || key == "":
		case a.options.Keys[id] != "":
			c.problem = fmt.Errorf("the choice of %s, whose key you know, has no signature: it rests on the report of %s alone",
				id, clip(r.RefereeID))
			return c
		default:
			c.unsigned = true
		}
	}
	reports := decide.ReportJudge{LeagueID: a.id, GameType: a.state.Created.GameType, Game: game}
	c.signed, c.problem = reports.Verify(r, m.players, keys, a.startHash)
	return c
}

// reportSignatures reports what the signatures of a result do not prove.
func (a *auditor) reportSignatures(m *scheduledMatch) {
	c, at := m.signatures, a.result(m)
	if c.problem != nil {
		a.find(RuleSignature, at, "%s: %v", m.id, c.problem)
	}
	if c.unsigned {
		a.unsigned.add(m.Report.RefereeID, at.of(m.Report.RefereeID), "")
	}
}

// noteUnsigned notes what no signature proves.
func (a *auditor) noteUnsigned() {
	if a.state.Started != nil && !a.signs() {
		a.note(RuleUnsigned, a.inJournal(1),
			"the league does not sign: nothing proves that the players made the moves that the referees report")
		return
	}
	if a.state.Started != nil && a.plain() {
		a.note(RuleUnsigned, a.inJournal(1), "the league has members: plain: its results rest on the word of the referees "+
			"alone, because its messages have no commitments, no draws and no signatures")
	}
	for id, u := range a.unsigned {
		a.note(RuleUnsigned, u.first, "nothing but the report of %s proves the choices in %s: it relays no signatures",
			clip(id), words.Counted(u.number, "match"))
	}
	if a.state.Started == nil || !a.completed() {
		return
	}
	keyless := lists.Filter(a.state.Started.Players, func(id string) bool {
		return a.state.Agents[id].PublicKey == ""
	})
	if len(keyless) > 0 {
		a.note(RuleUnsigned, a.inJournal(a.started), "%s without a key: nothing proves its moves: %s",
			words.Counted(len(keyless), "player"), listedIDs(keyless))
	}
}

// listedIDs lists some ids for people.
func listedIDs(ids []string) string {
	const most = 10
	more := ""
	if len(ids) > most {
		ids, more = ids[:most], fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return strings.Join(lists.Map(ids, clip), ", ") + more
}

// checkKeys compares the keys of the league with those that the auditor knows.
func (a *auditor) checkKeys() {
	if len(a.options.Keys) == 0 || a.state.Created == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(a.options.Keys)) {
		want, got, at := a.options.Keys[id], []string(nil), a.inJournal(max(a.started, 1)).of(id)
		switch {
		case id == ManagerID:
			got, at.Line = []string{a.state.Created.ManagerKey}, 1
		case a.state.Started != nil && a.state.Agents[id] != nil:
			got = a.state.Agents[id].Keys()
		}
		if len(got) != 1 || got[0] != want {
			a.find(RuleKeys, at,
				"the key of %s is %s; the one that you know is %s: somebody has made this league, or a part of it, again", clip(id),
				orNone(strings.Join(got, ", then ")), want)
		}
	}
}

// heads are the lines of the journal at which the manager signs a head: from the end of a
// round to the next one, and after the end of the league, which may have had no round.
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
	if s.Open() || s.Round == 0 && s.Completed == nil {
		return
	}
	at := headLine{line: line}
	if s.Completed == nil {
		at.round = s.Round
	}
	h.lines[hash] = at
}

// checkHead tells whether a head is signed by the manager, and finds one that is not.
func (a *auditor) checkHead(head, signature string, at Location) bool {
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
func (a *auditor) checkStoredHead(h *store.SignedHead, at Location) {
	if h.ManagerKey != a.state.Created.ManagerKey {
		a.find(RuleKeys, at, "%s knows the manager by the key %.12q…; in the journal it is %.12q…", at.AgentID,
			h.ManagerKey, a.state.Created.ManagerKey)
		return
	}
	if !a.checkHead(h.JournalHead, h.JournalHeadSignature, at) {
		return
	}
	known := a.heads.lines[h.JournalHead]
	switch {
	case known.line == 0 && len(a.lostHeads) > 0 && a.options.Histories == "":
		a.note(RuleJournalHead, at,
			"the manager told %s the head %.12q…, which is not in the journal: by the journal its tail was cut off",
			at.AgentID, h.JournalHead)
	case known.line == 0: // an auditor that collects histories does not trust what the journal says of a lost tail
		a.find(RuleJournalHead, at,
			"the manager told %s the head %.12q…, which is the hash of no line of the journal at which a round "+
				"ended: the journal was changed afterwards", at.AgentID, h.JournalHead)
	case known.line > 0 && known.round != h.Round:
		a.find(RuleJournalHead, at, "the head that %s has of round %d is that of round %d (0: the end of the league)",
			at.AgentID, h.Round, known.round)
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
		a.note(RuleJournalHead, at.at(known+1), "no signed head covers the last %s", words.Counted(lines-known, "event"))
	}
}
