package bridge

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// maxRounds is the largest number of rounds in a schedule.
const maxRounds = 1000

// serveSchedule serves POST /create_schedule: all rounds of the league of our manager, with
// one query each.
func (s *server) serveSchedule(ctx context.Context) (status int, answer []byte) {
	list, player := []byte{'['}, dialect.Unknown
	for round, rounds := 1, 1; round <= min(rounds, maxRounds); round++ {
		response := protocol.ParseObject(s.next(ctx, dialect.CallBody(protocol.Query.Name, s.scheduleQuery(player, round), jsontext.Value("1"))))
		failure := response.Object("error")
		if player == dialect.Unknown && failure.Integer("code") == dialect.QueryWithoutToken {
			player = protocol.PlayerID(1) // a lenient league answers its players without a token
			round--
			continue
		}
		result := response.Object("result")
		if result == nil {
			return dialect.BareError(response)
		}
		if failure := result.Object("error"); failure != nil {
			failure.Add("error", failure.Get("error_name"))
			return httpBadRequest, failure.Append(nil)
		}
		data := result.Object("data")
		rounds = data.Integer("rounds")
		for _, m := range dialect.Announced(data, maxMatches) {
			if len(list) > 1 {
				list = append(list, ',')
			}
			var entry protocol.Object
			for _, name := range []string{"match_id", "round_id", "player_A_id", "player_B_id"} {
				entry.Set(name, m.Get(name))
			}
			list = entry.Append(list)
		}
	}
	return httpOK, protocol.Object{{Name: "schedule", Value: append(list, ']')}}.Append(nil)
}

// scheduleQuery is the query for a round by a player.
func (s *server) scheduleQuery(player string, round int) jsontext.Value {
	query, _ := json.Marshal(protocol.LeagueQuery{ // always encodes
		Envelope: s.envelope(protocol.TypeLeagueQuery, protocol.PlayerSender(player), "conv-create-schedule"),
		LeagueID: cmp.Or(s.options.League, dialect.UsualLeague), QueryType: protocol.QuerySchedule,
		QueryParams: protocol.QueryParams{RoundID: protocol.QueryRound(round)},
	})
	return query
}
