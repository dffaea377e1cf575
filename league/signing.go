package league

import (
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
	return SignedHead{head, m.signHead(head), m.state.Created.ManagerKey}
}

// signHead signs a head; "" in a league that does not sign, and without a head.
func (m *Manager) signHead(head string) string {
	if head == "" || !m.options.Sign {
		return ""
	}
	return m.options.SigningKey.SignHead(m.options.LeagueID, head)
}

// results are the recorded results of a round, for players to compare with their own
// decisions; nil in a league that does not sign. M.mu is held.
func (m *Manager) results(round int) []protocol.RoundResult {
	if !m.options.Sign {
		return nil
	}
	results := make([]protocol.RoundResult, len(m.state.Pairings(round)))
	for i := range results {
		id := protocol.MatchID{Round: round, Number: i + 1}
		r := m.state.Match(id).Report
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
func (m *Manager) tellResults(b *broadcast[protocol.RoundCompleted], round int, results []protocol.RoundResult) {
	if len(results) == 0 {
		return
	}
	with := func(results []protocol.RoundResult) *protocol.Broadcast[protocol.RoundCompleted] {
		told := *b.message.Message()
		told.Results = results
		return protocol.Many(&told)
	}
	b.special = make(map[*agent]*protocol.Broadcast[protocol.RoundCompleted], len(m.players))
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range m.state.Pairings(round) {
		own := with(results[i : i+1 : i+1])
		b.special[m.players[p.A]], b.special[m.players[p.B]] = own, own
	}
}
