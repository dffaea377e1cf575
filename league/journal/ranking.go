package journal

import (
	"evenodd/league"
	"evenodd/league/pairing"
)

// Bracket are the places of the bracket of a knockout or double elimination after so many rounds, by part and stage;
// nil for another format, and before the start.
func (s *State) Bracket(rounds int) [][][]pairing.Slot {
	ranker, ok := s.pairer.(pairing.Ranker)
	if !ok {
		return nil
	}
	return ranker.Bracket(s.played[:min(rounds, len(s.played))], s.absent)
}

// byAnnulment is what separates the first annulled player from the row above.
const byAnnulment = "annulled"

// Ranking are the rows of the table, best first. In a knockout or double elimination, players rank by the
// bracket of the completed rounds, and the table orders players on one level. In a
// round-robin or gauntlet the annulled players are last.
func (s *State) Ranking() []league.Standing {
	if ranker, ok := s.pairer.(pairing.Ranker); ok {
		return s.Table.Ranking(ranker.Ranks(s.played, s.absent))
	}
	levels := make([]int, len(s.Started.Players))
	for player, id := range s.Started.Players {
		if s.Agents[id].Annulled {
			levels[player] = 1
		}
	}
	rows := s.Table.Ranking(levels)
	for i := range rows {
		if rows[i].DecidedBy == league.Bracket {
			rows[i].DecidedBy = byAnnulment
		}
	}
	return rows
}

// Champion is the first player of the ranking, with the reason: the tie-break that decided,
// or the players that share the first rank.
func (s *State) Champion() league.Champion {
	rows := s.Ranking()
	id := s.Started.Players[rows[0].Player]
	champion := league.Champion{PlayerID: id, DisplayName: s.Agents[id].DisplayName, Points: rows[0].Points}
	if !rows[0].Tied {
		champion.Reason = s.decision(rows[1].Decider())
		return champion
	}
	var sharing []string
	for i := 0; i < len(rows) && rows[i].Rank == 1; i++ {
		sharing = append(sharing, s.Started.Players[rows[i].Player])
	}
	champion.Reason = league.SharedBy(sharing)
	return champion
}

// decision is the reason of a champion that is not tied; "" if the points decided, the
// bracket, or an annulment.
func (s *State) decision(by string) string {
	_, ranks := s.pairer.(pairing.Ranker)
	if by == league.Bracket || by == byAnnulment || by == league.TiebreakPoints && !ranks {
		return ""
	}
	return "on " + league.TiebreakLabel(by)
}
