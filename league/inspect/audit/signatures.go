package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// signs tells whether the league has keys, by its first event.
func (a *auditor) signs() bool { return a.state.Created != nil && a.state.Created.Signs() }

// A signatureCheck is what the signatures of a result prove.
type signatureCheck struct {
	problems []string      // each is a finding
	unsigned []string      // players with a key whose choice has no signature, and needs none
	signed   [2]bool       // players whose signature is valid
	turns    [2]int        // of the last move of each player; 0 for an unknown one
	course   *rules.Course // of a game of several turns; nil if its moves are not known
}

// verify verifies the signatures of a result. It may be called by several goroutines.
func (a *auditor) verify(m *scheduledMatch, game rules.Game) (c signatureCheck) {
	r := m.Report
	if r == nil || m.Forfeited != nil || m.Ruled != nil || game == nil || !a.signs() || a.state.Started == nil {
		return c
	}
	problem := func(format string, args ...any) { c.problems = append(c.problems, fmt.Sprintf(format, args...)) }
	last, err := c.lastMoves(m, game)
	if err != nil {
		problem("the moves of %s: %v", m.id, err)
	}
	relays := a.state.Agents[r.RefereeID].RelaysSignatures &&
		!slices.ContainsFunc(m.LostAttempts, func(d journal.AttemptLost) bool { return d.Attempt == r.Attempt }) // of which the manager trusts nothing
	for i, id := range m.players {
		choice, _ := r.Choices.Get(id)
		_, signed := r.Signatures.Get(id)
		key := a.state.Agents[id].KeyAt(m.Event)
		switch {
		case signed && (key == "" || choice == nil):
			problem("%s has a signature in %s, but no key or no choice", id, m.id)
		case signed && err == nil:
			wrong := r.CheckSignature(a.startHash, m.players, key, last[i])
			if c.signed[i] = wrong == nil; wrong != nil {
				problem("the signature of %s in %s: %v", id, m.id, wrong)
			}
		case signed, choice == nil || key == "":
		case relays:
			problem("the choice of %s in %s has no signature, although %s relays signatures", id, m.id, clip(r.RefereeID))
		case a.options.Keys[id] != "":
			problem("the choice of %s, whose key you know, in %s has no signature: it rests on the report of %s alone", id, m.id, clip(r.RefereeID))
		default:
			c.unsigned = append(c.unsigned, id)
		}
	}
	for _, s := range r.Signatures {
		if !slices.Contains(m.players[:], s.Name) {
			problem("%s has a signature in %s, but its players are %s and %s", quoted(&s.Name), m.id, m.players[0], m.players[1])
		}
	}
	if len(r.Signatures) > 0 && r.Draw != nil {
		c.problems = append(c.problems, wrongEntropies(m)...)
	}
	return c
}

// lastMoves are the last moves of both players. In a game of several turns they follow from
// the moves of the report.
func (c *signatureCheck) lastMoves(m *scheduledMatch, game rules.Game) (last [2]journal.SignedMove, err error) {
	last = [2]journal.SignedMove{{Player: 0, Turn: 1}, {Player: 1, Turn: 1}}
	moves := m.Report.Evidence.Moves
	switch {
	case game.MaxTurns() == 1 && len(moves) > 0:
		return last, fmt.Errorf("a game of one turn has %d", len(moves))
	case game.MaxTurns() == 1:
		c.turns = [2]int{1, 1}
		return last, nil
	case len(moves) == 0 && len(m.Report.Signatures) == 0:
		return last, nil
	}
	made := protocol.Each(moves, func(p protocol.PlayerMove) rules.Move {
		return rules.Move{Side: rules.Side(slices.Index(m.players[:], p.PlayerID)), Text: p.Move}
	})
	if c.course, err = rules.Replay(game, made); err != nil {
		return last, err
	}
	for i, move := range c.course.Last {
		last[i].Turn, last[i].Before = move.Turn, move.Before
		c.turns[i] = move.Turn
		choice, _ := m.Report.Choices.Get(m.players[i])
		if choice == nil && move.Turn > 0 || choice != nil && *choice != move.Text {
			return last, fmt.Errorf("the last one of %s is %s, but its choice is %s", m.players[i], orNone(move.Text), quoted(choice))
		}
	}
	return last, nil
}

// wrongEntropies are the entropies that do not open the commitments that the signatures
// cover.
func wrongEntropies(m *scheduledMatch) (problems []string) {
	draw := m.Report.Draw
	for _, id := range m.players {
		commitment, _ := draw.EntropyCommitments.Get(id)
		text, revealed := draw.Entropies.Get(id)
		choice, _ := m.Report.Choices.Get(id)
		entropy, ok := protocol.ParseSecret(text)
		switch {
		case revealed && (!ok || !protocol.OpensEntropy(commitment, m.id, id, entropy)):
			problems = append(problems, fmt.Sprintf("the entropy of %s in %s does not open its commitment", id, m.id))
		case !revealed && commitment != "" && choice != nil:
			problems = append(problems, fmt.Sprintf("the entropy of %s in %s is missing, although it made a commitment and a choice", id, m.id))
		}
	}
	return problems
}

// reportSignatures reports what the signatures of a result do not prove.
func (a *auditor) reportSignatures(m *scheduledMatch, c signatureCheck) {
	at := location{file: a.journal, line: a.eventLine(m, 0), matchID: m.id}
	for _, problem := range c.problems {
		a.find(RuleSignature, at, "%s", problem)
	}
	if len(c.unsigned) > 0 {
		id := m.Report.RefereeID
		if known := a.unsigned[id]; known.number == 0 {
			at.agentID = id
			known.first = at
			a.unsigned[id] = known
		}
		known := a.unsigned[id]
		known.number++
		a.unsigned[id] = known
	}
}

// unsignedResults are the results of a referee that have choices without a signature.
type unsignedResults struct {
	first  location
	number int
}

// noteUnsigned notes what no signature proves.
func (a *auditor) noteUnsigned() {
	if a.state.Started != nil && !a.signs() {
		a.note(RuleUnsigned, location{file: a.journal, line: 1}, "the league does not sign: nothing proves that the players made the moves that the referees report")
		return
	}
	for id, u := range a.unsigned {
		a.note(RuleUnsigned, u.first, "nothing but the report of %s proves the choices in %s: it relays no signatures", clip(id), protocol.Counted(u.number, "match"))
	}
	if a.state.Started == nil || !a.completed() {
		return
	}
	keyless := protocol.Select(a.state.Started.Players, func(id string) bool {
		return a.state.Agents[id].PublicKey == ""
	})
	if len(keyless) > 0 {
		a.note(RuleUnsigned, location{file: a.journal, line: a.started}, "%s without a key: nothing proves its moves: %s", protocol.Counted(len(keyless), "player"), listedIDs(keyless))
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
		want, got, at := a.options.Keys[id], []string(nil), location{file: a.journal, line: max(a.started, 1), agentID: id}
		switch {
		case id == ManagerID:
			got, at.line = []string{a.state.Created.ManagerKey}, 1
		case a.state.Started != nil && a.state.Agents[id] != nil:
			got = a.state.Agents[id].Keys()
		}
		if len(got) != 1 || got[0] != want {
			a.find(RuleKeys, at, "the key of %s is %s; the one that you know is %s: somebody has made this league, or a part of it, again", clip(id), orNone(strings.Join(got, ", then ")), want)
		}
	}
}
