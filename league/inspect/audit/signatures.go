package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenodd/league/decide"
	"evenodd/league/protocol"
)

// signs tells whether the league has keys, by its first event.
func (a *auditor) signs() bool { return a.state.Created != nil && a.state.Created.Signs() }

// A signatureCheck is what the signatures of a result prove.
type signatureCheck struct {
	problem  error   // is a finding
	unsigned bool    // a choice of a player with a key has no signature, and needs none
	signed   [2]bool // players whose signature is valid
}

// verify verifies the signatures of a result. It may be called by several goroutines.
func (a *auditor) verify(m *scheduledMatch) (c signatureCheck) {
	r := m.Report
	if r == nil || m.Forfeited != nil || m.Ruled != nil || a.reports == nil || !a.signs() || a.state.Started == nil {
		return c
	}
	relays := decide.Relays(a.state, r.RefereeID) && !m.IsLost(r.Number) // nothing of a lost attempt is trusted
	var keys [2]string
	for i, id := range m.players {
		choice, _ := r.Choices.Get(id)
		_, signed := r.Signatures.Get(id)
		key := a.state.Agents[id].KeyAt(m.Event)
		switch {
		case signed && (key == "" || choice == nil):
			c.problem = fmt.Errorf("%s has a signature, but no key or no choice", id)
			return c
		case signed, choice != nil && relays:
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
	c.signed, c.problem = a.reports.Verify(r, m.players, keys, a.startHash)
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
	for id, u := range a.unsigned {
		a.note(RuleUnsigned, u.first, "nothing but the report of %s proves the choices in %s: it relays no signatures",
			clip(id), protocol.Counted(u.number, "match"))
	}
	if a.state.Started == nil || !a.completed() {
		return
	}
	keyless := protocol.Select(a.state.Started.Players, func(id string) bool {
		return a.state.Agents[id].PublicKey == ""
	})
	if len(keyless) > 0 {
		a.note(RuleUnsigned, a.inJournal(a.started), "%s without a key: nothing proves its moves: %s",
			protocol.Counted(len(keyless), "player"), listedIDs(keyless))
	}
}

// listedIDs lists some ids for people.
func listedIDs(ids []string) string {
	const most = 10
	more := ""
	if len(ids) > most {
		ids, more = ids[:most], fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return strings.Join(protocol.Each(ids, clip), ", ") + more
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
			got, at.line = []string{a.state.Created.ManagerKey}, 1
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
