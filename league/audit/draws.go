package audit

import (
	"encoding/hex"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A draw is what State.Condense drops from a match: the draw and the commitment before it,
// in fewer bytes than as text. A league of 1,000 players has half a million matches.
type draw struct {
	secrets [5]protocol.Secret // accepted, commitment, nonce, and the entropy of player A and B
	has     [5]bool
	text    *drawText // not nil where these are not digests of the two players
}

type drawText struct {
	accepted string
	draw     *protocol.Draw
}

// newDraw returns the draw of a match.
func newDraw(m *journal.Match, players [2]string) (d draw) {
	whole := drawText{}
	if len(m.Attempts) > 0 {
		whole.accepted = m.Attempts[0].Commitment
	}
	if m.Report != nil {
		whole.draw = m.Report.Draw
	}
	texts := [5]string{whole.accepted}
	if w := whole.draw; w != nil {
		entropyA, _ := w.Entropies.Get(players[0])
		entropyB, _ := w.Entropies.Get(players[1])
		texts = [5]string{whole.accepted, w.Commitment, w.Nonce, entropyA, entropyB}
	}
	for i, text := range texts {
		d.secrets[i], d.has[i] = protocol.ParseSecret(text)
	}
	if again := d.drawText(players); again.accepted != whole.accepted || !sameDraw(again.draw, whole.draw) {
		return draw{text: &whole}
	}
	return d
}

func sameDraw(a, b *protocol.Draw) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Commitment == b.Commitment && a.Nonce == b.Nonce &&
		(a.Entropies == nil) == (b.Entropies == nil) && slices.Equal(a.Entropies, b.Entropies)
}

func (d *draw) drawText(players [2]string) drawText {
	if d.text != nil {
		return *d.text
	}
	const digits = 2 * len(d.secrets[0])
	all := make([]byte, 0, len(d.secrets)*digits)
	for i := range d.secrets {
		all = hex.AppendEncode(all, d.secrets[i][:])
	}
	texts := string(all) // one for all is faster than five
	text := func(i int) string {
		if d.has[i] {
			return texts[i*digits : (i+1)*digits]
		}
		return ""
	}
	whole := drawText{accepted: text(0)}
	if d.has[1] || d.has[2] {
		whole.draw = &protocol.Draw{Commitment: text(1), Nonce: text(2)}
		for i, player := range players {
			if d.has[3+i] {
				whole.draw.Entropies = append(whole.draw.Entropies, protocol.Member[string]{Name: player, Value: text(3 + i)})
			}
		}
	}
	return whole
}

// condense reduces the memory of a completed round.
func (a *auditor) condense(round int) {
	matches := a.state.Rounds[round-1].Matches
	draws := make([]draw, len(matches))
	for i := range matches {
		_, playerA, playerB, _ := a.state.Find(protocol.MatchID{Round: round, Number: i + 1})
		draws[i] = newDraw(&matches[i], [2]string{playerA, playerB})
	}
	a.draws = append(a.draws, draws)
	a.state.Condense(round)
}

// findMatch returns a match of an announced round with its draw, and its players.
func (a *auditor) findMatch(id protocol.MatchID) (m *journal.Match, players [2]string, ok bool) {
	m, playerA, playerB, ok := a.state.Find(id)
	players = [2]string{playerA, playerB}
	if !ok || id.Round > len(a.draws) || m.Report == nil || m.Report.Draw != nil {
		return m, players, ok
	}
	dropped := a.draws[id.Round-1][id.Number-1].drawText(players)
	if dropped.draw == nil && dropped.accepted == "" {
		return m, players, ok
	}
	whole, report := *m, *m.Report
	report.Draw, whole.Report = dropped.draw, &report
	if len(whole.Attempts) > 0 {
		whole.Attempts = slices.Clone(whole.Attempts)
		whole.Attempts[0].Commitment = dropped.accepted
	}
	return &whole, players, ok
}
