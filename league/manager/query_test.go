package manager_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// answer sends a query that must succeed, and returns the response and its data as JSON.
func answer(q *leaguetest.Query) (*protocol.LeagueQueryResponse, jsontext.Value) {
	q.W.T.Helper()
	r, err := q.Send()
	require.NoError(q.W.T, err)
	require.Nil(q.W.T, r.Error)
	require.True(q.W.T, *r.Success)
	require.Equal(q.W.T, q.QueryType, r.QueryType)
	return r, leaguetest.Encode(r.Data)
}

func TestBearerTokenAuthenticatesAQuery(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P01")
		q := w.Query("P01", protocol.QuerySchedule)
		token := q.AuthToken
		q.AuthToken, q.Sender = "", protocol.PlayerSender("unknown")
		peer := w.ManagerPeer()
		_, err := protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.ErrorContains(t, err, "E011")
		peer.Bearer = "tok-of-nobody"
		_, err = protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.ErrorContains(t, err, "E012")
		peer.Bearer = token
		r, err := protocol.Query.Call(w.Context, w.Untrusted, peer, &q.LeagueQuery)
		require.NoError(t, err)
		assert.True(t, *r.Success)
	})
}

// ask sends a query without parameters and returns its data.
func ask(w *leaguetest.World, id, queryType string) jsontext.Value {
	w.T.Helper()
	_, data := answer(w.Query(id, queryType))
	return data
}

// evenPlayers starts players that all choose even after a second, so that all matches are
// draws.
func evenPlayers(w *leaguetest.World, players int) {
	w.T.Helper()
	for i := range players {
		w.Player(protocol.PlayerID(i+1), leaguetest.WithStrategy("even"), leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally)))
	}
}

func TestQueriesAreAnsweredBeforeTheStart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Player("P02")
		w.Player("P01")
		w.Referee("REF01")
		synctest.Wait() // the agents have answered the manager's pings
		assert.JSONEq(t, `{"current_round":0,"total_players":2,"standings":[
			{"rank":1,"player_id":"P01","display_name":"Agent P01","played":0,"wins":0,"draws":0,"losses":0,"points":0},
			{"rank":2,"player_id":"P02","display_name":"Agent P02","played":0,"wins":0,"draws":0,"losses":0,"points":0}]}`,
			string(ask(w, "REF01", protocol.QueryStandings)))
		assert.JSONEq(t, `{"current_round":0,"state":"WAITING_FOR_REGISTRATIONS","rounds":0,"matches":0,"recorded":0,
			"players":2,"referees":1,"games":["even_odd"],"agent_states":{"REGISTERED":3,"ACTIVE":0,"SUSPENDED":0,"SHUTDOWN":0}}`,
			string(ask(w, "P01", protocol.QueryStatus)))
		assert.JSONEq(t, `{"round_id":1,"rounds":0,"total_matches":0,"matches":[]}`, string(ask(w, "P01", protocol.QuerySchedule)))
		assert.JSONEq(t, `{"next_match":null}`, string(ask(w, "P01", protocol.QueryNextMatch)))
		assert.JSONEq(t, `{"player_id":"P02","display_name":"Agent P02","played":0,"wins":0,"draws":0,"losses":0,"points":0,
			"technical_losses":0,"state":"REGISTERED","failures":0}`, string(ask(w, "P02", protocol.QueryPlayerStats)))
	})
}

func TestQueriesAreAnsweredDuringTheLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1)
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.WaitUntil(1500 * time.Millisecond) // in the second round: P01 against P03
		assert.JSONEq(t, `{"current_round":2,"state":"RUNNING_LEAGUE","rounds":3,"matches":3,"recorded":1,
			"players":3,"referees":1,"games":["even_odd"],"agent_states":{"REGISTERED":0,"ACTIVE":4,"SUSPENDED":0,"SHUTDOWN":0}}`,
			string(ask(w, "P01", protocol.QueryStatus)))
		assert.JSONEq(t, `{"current_round":2,"total_players":3,"standings":[
			{"rank":1,"tied":true,"shared_rank":1,"player_id":"P01","display_name":"Agent P01","played":1,"wins":0,"draws":1,"losses":0,"points":1},
			{"rank":2,"tied":true,"shared_rank":1,"player_id":"P02","display_name":"Agent P02","played":1,"wins":0,"draws":1,"losses":0,"points":1},
			{"rank":3,"player_id":"P03","display_name":"Agent P03","played":0,"wins":0,"draws":0,"losses":0,"points":0}]}`,
			string(ask(w, "P01", protocol.QueryStandings)))

		assert.JSONEq(t, `{"round_id":2,"rounds":3,"total_matches":1,"matches":[{"match_id":"R2M1","round_id":2,"player_A_id":"P01","player_B_id":"P03",
			"referee_endpoint":"http://ref01:8000/mcp","status":"SCHEDULED","winner_player_id":null}]}`,
			string(ask(w, "P01", protocol.QuerySchedule)), "without round_id it is the current round")
		round := func(n protocol.QueryRound) string {
			q := w.Query("P01", protocol.QuerySchedule)
			q.QueryParams.RoundID = n
			_, data := answer(q)
			return string(data)
		}
		assert.JSONEq(t, `{"round_id":1,"rounds":3,"total_matches":1,"matches":[{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02",
			"referee_endpoint":"http://ref01:8000/mcp","status":"DRAW","winner_player_id":null}]}`, round(1))
		assert.JSONEq(t, `{"round_id":3,"rounds":3,"total_matches":1,"matches":[{"match_id":"R3M1","round_id":3,"player_A_id":"P02","player_B_id":"P03",
			"referee_endpoint":null,"status":"SCHEDULED","winner_player_id":null}]}`, round(3), "its referee is not assigned yet")

		assert.JSONEq(t, `{"next_match":{"match_id":"R2M1","round_id":2,"opponent_id":"P03","referee_endpoint":"http://ref01:8000/mcp"}}`,
			string(ask(w, "P01", protocol.QueryNextMatch)))
		assert.JSONEq(t, `{"next_match":{"match_id":"R3M1","round_id":3,"opponent_id":"P03",
			"referee_endpoint":"http://ref01:8000/mcp","referee_expected":true}}`,
			string(ask(w, "P02", protocol.QueryNextMatch)), "P02 has a bye")
		other := w.Query("REF01", protocol.QueryNextMatch)
		other.QueryParams.PlayerID = "P03"
		_, data := answer(other)
		assert.JSONEq(t, `{"next_match":{"match_id":"R2M1","round_id":2,"opponent_id":"P01","referee_endpoint":"http://ref01:8000/mcp"}}`,
			string(data), "agents may query other agents")
		assert.JSONEq(t, `{"rank":1,"tied":true,"shared_rank":1,"player_id":"P01","display_name":"Agent P01","played":1,"wins":0,"draws":1,"losses":0,"points":1,
			"technical_losses":0,"state":"ACTIVE","failures":0}`, string(ask(w, "P01", protocol.QueryPlayerStats)))

		w.WaitUntil(2500 * time.Millisecond) // in the last round: P01 has played all its matches
		assert.JSONEq(t, `{"next_match":null}`, string(ask(w, "P01", protocol.QueryNextMatch)))
	})
}

func TestQueriesAreAnsweredAfterTheLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"))
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("accept", false)))
		w.Finish()
		assert.JSONEq(t, `{"current_round":1,"state":"LEAGUE_COMPLETED","rounds":1,"matches":1,"recorded":1,
			"players":2,"referees":1,"games":["even_odd"],"agent_states":{"REGISTERED":0,"ACTIVE":0,"SUSPENDED":0,"SHUTDOWN":3}}`,
			string(ask(w, "P01", protocol.QueryStatus)))
		assert.JSONEq(t, `{"current_round":1,"total_players":2,"standings":[
			{"rank":1,"player_id":"P01","display_name":"Agent P01","played":1,"wins":1,"draws":0,"losses":0,"points":3},
			{"rank":2,"player_id":"P02","display_name":"Agent P02","played":1,"wins":0,"draws":0,"losses":1,"points":0}]}`,
			string(ask(w, "P01", protocol.QueryStandings)))
		assert.JSONEq(t, `{"round_id":1,"rounds":1,"total_matches":1,"matches":[{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02",
			"referee_endpoint":"http://ref01:8000/mcp","status":"TECHNICAL_LOSS","winner_player_id":"P01"}]}`,
			string(ask(w, "P01", protocol.QuerySchedule)))
		assert.JSONEq(t, `{"next_match":null}`, string(ask(w, "P02", protocol.QueryNextMatch)))
		assert.JSONEq(t, `{"rank":2,"player_id":"P02","display_name":"Agent P02","played":1,"wins":0,"draws":0,"losses":1,"points":0,
			"technical_losses":1,"state":"SHUTDOWN","state_reason":"it knows that the league is over","failures":0}`,
			string(ask(w, "P02", protocol.QueryPlayerStats)))
		ofReferee := w.Query("P01", protocol.QueryPlayerStats)
		ofReferee.QueryParams.PlayerID = "REF01"
		_, data := answer(ofReferee)
		assert.JSONEq(t, `{"referee_id":"REF01","display_name":"Agent REF01","state":"SHUTDOWN",
			"state_reason":"it knows that the league is over","failures":0}`, string(data))
	})
}

func TestStandingsAndStatusAreAlsoTopLevelMembers(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		for _, queryType := range []string{protocol.QueryStandings, protocol.QueryStatus} {
			r, data := answer(w.Query("P01", queryType))
			whole := leaguetest.Encode(r)
			for member, value := range *leaguetest.Decode[map[string]jsontext.Value](data) {
				top, there := (*leaguetest.Decode[map[string]jsontext.Value](whole))[member]
				assert.True(t, there, member)
				assert.JSONEq(t, string(value), string(top), member)
			}
		}
		q := &protocol.ToolRequest{}
		q.AuthToken = w.Token("P01")
		r, err := protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		require.NoError(t, err)
		assert.Equal(t, w.Final.FinalStandings, r.Standings)
		assert.JSONEq(t, string(ask(w, "P01", protocol.QueryStandings)), string(leaguetest.Encode(r.Data)))
		assert.Equal(t, protocol.QueryStandings, r.QueryType)
		assert.True(t, *r.Success)
	})
}

func TestStandingsHavePages(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(5)
		page := func(offset, limit int) []string {
			q := w.Query("P01", protocol.QueryStandings)
			q.QueryParams.Offset, q.QueryParams.Limit = offset, limit
			r, _ := answer(q)
			assert.Equal(t, 5, r.TotalPlayers)
			assert.Equal(t, offset, r.Offset)
			ids := []string{}
			for _, row := range r.Standings {
				ids = append(ids, row.PlayerID)
			}
			return ids
		}
		assert.Equal(t, []string{"P01", "P02", "P03", "P04", "P05"}, page(0, 0))
		assert.Equal(t, []string{"P01", "P02"}, page(0, 2))
		assert.Equal(t, []string{"P03", "P04"}, page(2, 2))
		assert.Equal(t, []string{"P05"}, page(4, 2))
		assert.Equal(t, []string{"P02", "P03", "P04", "P05"}, page(1, 100))
		assert.Empty(t, page(5, 2))
		assert.Empty(t, page(99, 0))
	})
}

func TestUnanswerableQueryGetsAnError(t *testing.T) {
	for _, test := range []struct {
		name   string
		asker  string
		kind   string
		change func(*protocol.LeagueQuery)
		code   protocol.Code
	}{
		{"another league", "P01", protocol.QueryStatus, func(q *protocol.LeagueQuery) { q.LeagueID = "another" }, protocol.ErrLeagueNotFound},
		{"an unknown type", "P01", "GET_RICH", nil, protocol.ErrInvalidQueryType},
		{"statistics of an unknown player", "P01", protocol.QueryPlayerStats, func(q *protocol.LeagueQuery) { q.QueryParams.PlayerID = "P99" }, protocol.ErrPlayerNotRegistered},
		{"next match of an unknown player", "P01", protocol.QueryNextMatch, func(q *protocol.LeagueQuery) { q.QueryParams.PlayerID = "P99" }, protocol.ErrPlayerNotRegistered},
		{"statistics of a referee", "REF01", protocol.QueryPlayerStats, nil, protocol.ErrPlayerNotRegistered},
		{"an unknown round", "P01", protocol.QuerySchedule, func(q *protocol.LeagueQuery) { q.QueryParams.RoundID = 2 }, protocol.ErrMatchNotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(2, 1)
				w.Referee("REF01")
				w.Players(2)
				w.Finish()
				q := w.Query(test.asker, test.kind)
				if test.change != nil {
					test.change(&q.LeagueQuery)
				}
				r, err := q.Send()
				require.NoError(t, err)
				assert.False(t, *r.Success)
				assert.Nil(t, r.Data)
				assert.Equal(t, test.kind, r.QueryType)
				require.NotNil(t, r.Error)
				assert.Equal(t, string(test.code), r.Error.ErrorCode)
				assert.Equal(t, test.code.Name(), r.Error.ErrorName)
				assert.NotEmpty(t, r.Error.ErrorDescription)
			})
		})
	}
}

func TestInvalidQueryIsRejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *leaguetest.World, q *protocol.LeagueQuery)
		code   protocol.Code
		rpc    int
	}{
		{"another protocol", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.Protocol = "league.v3" }, protocol.ErrProtocolVersion, 18},
		{"no query_type", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.QueryType = "" }, protocol.ErrMissingField, -32602},
		{"a local time", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.Timestamp = "2000-01-01T02:00:00+02:00" }, protocol.ErrInvalidTimestamp, 21},
		{"a negative offset", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.QueryParams.Offset = -1 }, protocol.ErrInvalidFieldType, -32602},
		{"no token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken = "" }, protocol.ErrTokenMissing, 6001},
		{"a wrong token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken += "x" }, protocol.ErrTokenInvalid, 6001},
		{"a token of an unregistered agent", func(w *leaguetest.World, q *protocol.LeagueQuery) { q.AuthToken = w.Token("P09") }, protocol.ErrTokenInvalid, 6001},
		{"a sender that is not the owner of the token", func(_ *leaguetest.World, q *protocol.LeagueQuery) { q.Sender = "player:P02" }, protocol.ErrNotAuthorized, 14},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				w.Players(2)
				q := w.Query("P01", protocol.QueryStandings)
				test.change(w, &q.LeagueQuery)
				_, err := q.Send()
				leaguetest.AssertRefused(t, err, test.code, test.rpc)
			})
		})
	}
}

// An error echoes no token, because answers are logged; it tells the form of a token.
func TestErrorsDoNotEchoTheToken(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Players(1)
		for _, token := range []string{w.Token("P01") + "x", w.Token("P09"), "a-secret-of-another-system"} {
			q := w.Query("P01", protocol.QueryStandings)
			q.AuthToken = token
			_, err := q.Send()
			e := protocol.AsError(err)
			require.NotNil(t, e)
			assert.Equal(t, protocol.ErrTokenInvalid, e.Code)
			assert.NotContains(t, e.Error()+string(leaguetest.Encode(e.Context)), token)
			assert.NotEmpty(t, e.Context["expected_format"])
			assert.NotContains(t, e.Context, "provided_token")
		}
	})
}

func TestGetStandingsNeedsAToken(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers = 2 })
		for token, code := range map[string]protocol.Code{"": protocol.ErrTokenMissing, "tok-p01-x": protocol.ErrTokenInvalid} {
			q := &protocol.ToolRequest{}
			q.AuthToken = token
			_, err := protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			leaguetest.AssertRefused(t, err, code, 6001)
		}
	})
}

// pages reads the schedule of all rounds page by page.
func pages(w *leaguetest.World, limit int) (matches []protocol.ScheduledMatch, pages int) {
	w.T.Helper()
	for {
		q := w.Query("P01", protocol.QuerySchedule)
		q.QueryParams = protocol.QueryParams{RoundID: protocol.AllRounds, Offset: len(matches), Limit: limit}
		r, raw := answer(q)
		assert.Less(w.T, len(leaguetest.Encode(r)), 64<<10, "agents read at most 64 KiB of a response")
		data := leaguetest.Decode[protocol.ScheduleData](raw)
		assert.Equal(w.T, protocol.AllRounds, data.RoundID)
		assert.Equal(w.T, len(matches), data.Offset)
		matches, pages = append(matches, data.Matches...), pages+1
		if len(matches) >= data.TotalMatches {
			assert.Len(w.T, matches, data.TotalMatches)
			return matches, pages
		}
		require.NotEmpty(w.T, data.Matches, "a page must have a match")
	}
}

func TestScheduleOfAllRoundsIsAvailable(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1)
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.WaitUntil(1500 * time.Millisecond) // in the second round
		q := w.Query("REF01", protocol.QuerySchedule)
		q.QueryParams.RoundID = protocol.AllRounds
		_, data := answer(q)
		assert.JSONEq(t, `{"round_id":"all","rounds":3,"total_matches":3,"matches":[
			{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02","referee_endpoint":"http://ref01:8000/mcp","status":"DRAW","winner_player_id":null},
			{"match_id":"R2M1","round_id":2,"player_A_id":"P01","player_B_id":"P03","referee_endpoint":"http://ref01:8000/mcp","status":"SCHEDULED","winner_player_id":null},
			{"match_id":"R3M1","round_id":3,"player_A_id":"P02","player_B_id":"P03","referee_endpoint":null,"status":"SCHEDULED","winner_player_id":null}]}`,
			string(data))
		matches, pages := pages(w, 2)
		assert.Equal(t, 2, pages)
		assert.Equal(t, "R3M1", matches[2].MatchID)
		q.QueryParams.Offset = 99
		_, data = answer(q)
		assert.JSONEq(t, `{"round_id":"all","rounds":3,"total_matches":3,"offset":99,"matches":[]}`, string(data))
	})
}

func TestScheduleTooLargeForOneResponseHasPages(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		const players = 33
		w.StartManager(players, 1, func(o *league.Options) { o.Pace = time.Hour })
		w.Referee("REF01")
		w.Players(players)
		w.WaitUntil(time.Second) // the first round is not announced
		matches, pages := pages(w, 0)
		assert.Equal(t, 2, pages)
		seen := map[string]bool{}
		for _, x := range matches {
			seen[x.MatchID] = true
		}
		assert.Len(t, seen, players*(players-1)/2)
	})
}

// The announcement names the expected referee, if no referee is suspended in between.
func TestExpectedRefereeIsTheAnnouncedReferee(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		const pace = 10 * time.Second
		w.StartManager(5, 3, func(o *league.Options) { o.Pace = pace })
		w.Referee("REF01", leaguetest.WithCapacity(1))
		w.Referee("REF02", leaguetest.WithCapacity(2))
		w.Referee("REF03", leaguetest.WithCapacity(1))
		w.Players(5)
		next := func(round int) map[string]protocol.NextMatch {
			matches := map[string]protocol.NextMatch{}
			for i := range 5 {
				id := protocol.PlayerID(i + 1)
				if m := leaguetest.Decode[protocol.NextMatchData](ask(w, id, protocol.QueryNextMatch)).NextMatch; m != nil {
					require.NotNil(t, m.RefereeEndpoint, "%s before round %d", id, round)
					assert.True(t, m.RefereeExpected, "%s before round %d", id, round)
					matches[m.MatchID] = *m
				}
			}
			return matches
		}
		expected := map[string]protocol.NextMatch{}
		for round := 1; round <= 5; round++ {
			w.WaitUntil(w.Now() + pace/2)
			for id, m := range next(round) { // a player with a bye asks two rounds ahead
				expected[id] = m
			}
			w.WaitUntil(w.Now() + pace/2 + time.Second/2)
			announced := w.Calls(protocol.NotifyRound.Name)
			for _, m := range leaguetest.Decode[protocol.RoundAnnouncement](announced[len(announced)-1].Message).Matches {
				assert.Equal(t, m.RefereeEndpoint, *expected[m.MatchID].RefereeEndpoint, m.MatchID)
			}
		}
	})
}

func TestExpectedRefereeIsKnownTwoRoundsAhead(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 2, func(o *league.Options) { o.Pace = 10 * time.Second })
		w.Referee("REF01")
		w.Referee("REF02")
		w.Players(3)
		w.WaitUntil(5 * time.Second)
		assert.JSONEq(t, `{"next_match":{"match_id":"R2M1","round_id":2,"opponent_id":"P01",
			"referee_endpoint":"http://ref02:8000/mcp","referee_expected":true}}`,
			string(ask(w, "P03", protocol.QueryNextMatch)), "P03 has a bye in round 1, which REF01 conducts")
	})
}

func TestStatusListsTheGamesOfTheManager(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = rockpaperscissors.Game{}
		w.StartManager(0, 1, func(o *league.Options) {
			o.Games = rules.NewRegistry(tictactoe.Game{}, evenodd.Game{}, rockpaperscissors.Game{})
		})
		w.Referee("REF01")
		r, _ := answer(w.Query("REF01", protocol.QueryStatus))
		assert.Equal(t, []string{"rock_paper_scissors", "even_odd", "tic_tac_toe"}, r.Games)
	})
}

func TestNextMatchNamesTheAssignedReferee(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.RefuseWith(protocol.ErrInvalidMatchState)))
		w.Referee("REF02")
		evenPlayers(w, 2)
		w.WaitUntil(500 * time.Millisecond)
		assert.JSONEq(t, `{"next_match":{"match_id":"R1M1","round_id":1,"opponent_id":"P02","referee_endpoint":"http://ref02:8000/mcp"}}`,
			string(ask(w, "P01", protocol.QueryNextMatch)), "REF01 was announced, but declined")
	})
}
