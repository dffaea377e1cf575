package audit

import (
	"encoding/hex"
	"reflect"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A proof is what State.Condense drops from a match: the draw, the commitment before it,
// and the evidence of the report, in fewer bytes than as text. A league of 1,000 players has
// half a million matches.
type proof struct {
	// accepted, commitment, nonce, the entropy of player A and B, their entropy
	// commitments, and the transcript digest
	secrets    [8]protocol.Secret
	has        [8]bool
	signatures [2]moveSignature // of player A and B
	text       *proofText       // not nil where the others cannot express it
	event      int32            // of the result: it may be annulled later
}

type moveSignature struct {
	turn int32 // 0 for none
	text [64]byte
}

type proofText struct {
	accepted string
	draw     *protocol.Draw
	evidence protocol.Evidence
}

// newProof returns the proof of a match.
func newProof(m *journal.Match, players [2]string) proof {
	d := proofOf(m, players)
	d.event = int32(m.Event) //nolint:gosec // a journal has fewer
	return d
}

func proofOf(m *journal.Match, players [2]string) (d proof) {
	whole := proofText{}
	if len(m.Attempts) > 0 {
		whole.accepted = m.Attempts[0].Commitment
	}
	if m.Report != nil {
		whole.draw, whole.evidence = m.Report.Draw, m.Report.Evidence
	}
	texts := [8]string{0: whole.accepted, 7: whole.evidence.TranscriptDigest}
	if w := whole.draw; w != nil {
		texts[1], texts[2] = w.Commitment, w.Nonce
		for i, player := range players {
			texts[3+i], _ = w.Entropies.Get(player)
			texts[5+i], _ = w.EntropyCommitments.Get(player)
		}
	}
	for i, text := range texts {
		d.secrets[i], d.has[i] = protocol.ParseSecret(text)
	}
	for i, player := range players {
		if s, ok := whole.evidence.Signatures.Get(player); ok && len(s.Signature) == hex.EncodedLen(len(d.signatures[i].text)) {
			if _, err := hex.Decode(d.signatures[i].text[:], []byte(s.Signature)); err == nil {
				d.signatures[i].turn = int32(s.Turn) //nolint:gosec // compared below
			}
		}
	}
	if again := d.proofText(players); !reflect.DeepEqual(again, whole) {
		return proof{text: &whole}
	}
	return d
}

func (d *proof) proofText(players [2]string) proofText {
	if d.text != nil {
		return *d.text
	}
	const digits = 2 * len(d.secrets[0])
	all := make([]byte, 0, len(d.secrets)*digits)
	for i := range d.secrets {
		all = hex.AppendEncode(all, d.secrets[i][:])
	}
	texts := string(all) // one for all is faster than eight
	text := func(i int) string {
		if d.has[i] {
			return texts[i*digits : (i+1)*digits]
		}
		return ""
	}
	whole := proofText{accepted: text(0), evidence: protocol.Evidence{TranscriptDigest: text(7)}}
	if d.has[1] || d.has[2] {
		whole.draw = &protocol.Draw{Commitment: text(1), Nonce: text(2)}
	}
	for i, player := range players {
		if whole.draw != nil && d.has[3+i] {
			whole.draw.Entropies = append(whole.draw.Entropies, protocol.Member[string]{Name: player, Value: text(3 + i)})
		}
		if whole.draw != nil && d.has[5+i] {
			whole.draw.EntropyCommitments = append(whole.draw.EntropyCommitments, protocol.Member[string]{Name: player, Value: text(5 + i)})
		}
		if s := &d.signatures[i]; s.turn != 0 {
			signature := protocol.MoveSignature{Turn: int(s.turn), Signature: hex.EncodeToString(s.text[:])}
			whole.evidence.Signatures = append(whole.evidence.Signatures, protocol.Member[protocol.MoveSignature]{Name: player, Value: signature})
		}
	}
	return whole
}

// condense reduces the memory of a completed round.
func (a *auditor) condense(round int) {
	matches := a.state.Rounds[round-1].Matches
	proofs := make([]proof, len(matches))
	for i := range matches {
		_, playerA, playerB, _ := a.state.Find(protocol.MatchID{Round: round, Number: i + 1})
		proofs[i] = newProof(&matches[i], [2]string{playerA, playerB})
	}
	a.proofs = append(a.proofs, proofs)
	a.state.Condense(round)
}

// findMatch returns a match of an announced round with its proof, and its players.
func (a *auditor) findMatch(id protocol.MatchID) (m *journal.Match, players [2]string, ok bool) {
	m, playerA, playerB, ok := a.state.Find(id)
	players = [2]string{playerA, playerB}
	if !ok || id.Round > len(a.proofs) {
		return m, players, ok
	}
	proof := &a.proofs[id.Round-1][id.Number-1]
	proven := m.Report
	annulled := slices.IndexFunc(m.Annulled, func(o journal.AnnulledOutcome) bool { return o.Event == int(proof.event) })
	if annulled >= 0 {
		proven = m.Annulled[annulled].Report
	} else if m.Event != int(proof.event) {
		return m, players, ok
	}
	if proven.Draw != nil {
		return m, players, ok
	}
	dropped := proof.proofText(players)
	if dropped.draw == nil && dropped.accepted == "" && dropped.evidence.TranscriptDigest == "" && dropped.evidence.Signatures == nil && dropped.evidence.Moves == nil {
		return m, players, ok
	}
	whole, report := *m, *proven
	report.Draw, report.Evidence = dropped.draw, dropped.evidence
	if annulled >= 0 {
		whole.Annulled = slices.Clone(m.Annulled)
		whole.Annulled[annulled].Report = &report
	} else {
		whole.Report = &report
	}
	if len(whole.Attempts) > 0 {
		whole.Attempts = slices.Clone(whole.Attempts)
		whole.Attempts[0].Commitment = dropped.accepted
	}
	return &whole, players, ok
}
