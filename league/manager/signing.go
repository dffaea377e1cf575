package manager

import (
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A SignedHead is the hash of the last line of a journal, with the manager's signature.
// Anyone who knows it detects every change of the journal up to this line.
type SignedHead struct {
	Hash      string
	Signature string // "" in a league that does not sign
	Key       string // the manager's public key; "" in a league that does not sign
}

// Seal writes the derived files again if they lack the last events, so that the signed head
// in standings.json covers the last line of the journal. It returns this head; zero without
// a journal. Call it after Run and Linger, when no more requests arrive.
func (m *Manager) Seal() SignedHead {
	m.files.finish()
	m.mu.Lock()
	head := m.head()
	m.mu.Unlock()
	if head == "" || m.durable() != nil {
		return SignedHead{}
	}
	return SignedHead{head, m.options.signHead(head), m.state.Created.ManagerKey}
}

// signHead signs a head; "" in a league that does not sign, and without a head.
func (o *Options) signHead(head string) string {
	if head == "" || !o.Sign {
		return ""
	}
	return o.SigningKey.SignHead(o.LeagueID, head)
}

// resultsOf are the recorded results of a round, for players to compare with their own
// decisions; nil in a league that does not sign.
func resultsOf(s *journal.State, round int) []protocol.RoundResult {
	if !s.Created.Signs() {
		return nil
	}
	results := make([]protocol.RoundResult, len(s.Pairings(round)))
	for i := range results {
		id := protocol.MatchID{Round: round, Number: i + 1}
		r := s.Match(id).Report
		if r == nil {
			continue // it is played again
		}
		results[i] = protocol.RoundResult{
			MatchID: id.String(), Attempt: r.Number, Status: r.Status, Winner: r.WinnerPlayerID,
			DrawnNumber: r.DrawnNumber, Choices: r.Choices,
		}
	}
	return results
}

// tellResults adds to the message about the end of a round the result of the receiver. All
// results would cost each player the time to read those of the others, with which it compares
// nothing. Referees are told none, because they accept only short messages.
func (d *directory) tellResults(b *broadcast[protocol.RoundCompleted], round int, results []protocol.RoundResult) {
	if len(results) == 0 {
		return
	}
	with := func(results []protocol.RoundResult) *protocol.Broadcast[protocol.RoundCompleted] {
		told := *b.message.Message()
		told.Results = results
		return protocol.Many(&told)
	}
	b.special = make(map[*agent]*protocol.Broadcast[protocol.RoundCompleted], len(d.players))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range d.state.Pairings(round) {
		if results[i].MatchID == "" {
			continue
		}
		own := with(results[i : i+1 : i+1])
		b.special[d.players[p.A]], b.special[d.players[p.B]] = own, own
	}
}
