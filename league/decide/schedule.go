package decide

import (
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// The bounds of CreateSchedule: players, and matches of an answer.
const maxScheduled, maxDrafted = 1000, 400

// CreateSchedule pairs players as a league would, in the given order (spec 003 §5.5.3): a page of
// 400 matches from an offset, from 0. Of other formats than a round-robin, only the first round
// is known. The error is E002 for fewer than 2 or more than 1,000 players, for repeated ids and
// ids that are none, and for a negative offset.
func CreateSchedule(created *journal.Created, players []string, offset int) (*protocol.ScheduleData, error) {
	if len(players) < 2 || len(players) > maxScheduled || offset < 0 {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "players: a list of 2 to %d player ids; offset: from 0",
			maxScheduled)
	}
	seen := map[string]bool{}
	for _, id := range players {
		if _, ok := league.ParsePlayerID(id); !ok || seen[id] {
			return nil, protocol.Fault(protocol.ErrInvalidFieldType,
				"players: %.60q is no player id such as P01, or is repeated", id)
		}
		seen[id] = true
	}
	pairer, err := pairing.New(created.Tournament.For(len(players), created.Legs))
	if err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "players: %v", err)
	}
	each, last := len(pairer.Round(1, nil)), pairer.Rounds() // each round of a round-robin has as many matches
	data := &protocol.ScheduleData{RoundID: protocol.AllRounds, Rounds: last, TotalMatches: pairer.Matches(),
		Offset: offset, Matches: []protocol.ScheduledMatch{}}
	if created.Tournament != nil {
		last = 1
		data.KnownRounds, data.TotalMatches = &last, each
	}
	skip := offset % each
	for n := 1 + offset/each; n <= last; n++ {
		for i, p := range pairer.Round(n, nil)[skip:] {
			if len(data.Matches) == maxDrafted {
				return data, nil
			}
			id := league.MatchID{Round: n, Number: skip + i + 1}
			data.Matches = append(data.Matches, protocol.ScheduledMatch{
				MatchID: id.String(), RoundID: n, PlayerAID: players[p.A], PlayerBID: players[p.B], Status: "SCHEDULED",
			})
		}
		skip = 0
	}
	return data, nil
}
