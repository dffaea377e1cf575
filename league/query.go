package league

import (
	"context"
	"errors"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/pairing"
	"evenodd/league/protocol"
)

// query answers LEAGUE_QUERY (spec 003 §4.9). What cannot be answered is a
// response with success false; only a token that is missing or wrong is an
// error. The token may also stand beside the message.
func (m *Manager) query(ctx context.Context, bearer string, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asking := q.Envelope
	if asking.AuthToken == "" {
		asking.AuthToken = bearer
	}
	asker, err := m.identify(&asking)
	if err == nil {
		err = m.allow(asker.throttle.asks)
	}
	if err != nil {
		return nil, err
	}
	response, err := m.answer(q, asker)
	var no *protocol.Error
	if errors.As(err, &no) {
		m.logRefusal(ctx, protocol.Query.Name, &q.Envelope, no)
		response = &protocol.LeagueQueryResponse{Error: &protocol.QueryError{
			ErrorCode: string(no.Code), ErrorName: no.Code.Name(), ErrorDescription: no.Detail,
		}}
	}
	success := err == nil
	response.Success, response.QueryType = &success, q.QueryType
	return response, nil
}

// answer finds what a query asks for; m.mu is held.
func (m *Manager) answer(q *protocol.LeagueQuery, asker *agent) (*protocol.LeagueQueryResponse, error) {
	if q.LeagueID != m.options.LeagueID {
		return nil, m.otherLeague(q.LeagueID)
	}
	switch q.QueryType {
	case protocol.QueryStandings:
		return m.answerStandings(q.QueryParams.Offset, q.QueryParams.Limit), nil
	case protocol.QueryStatus:
		return m.answerStatus(), nil
	case protocol.QuerySchedule:
		return m.answerSchedule(&q.QueryParams)
	case protocol.QueryNextMatch, protocol.QueryPlayerStats:
		id := q.QueryParams.PlayerID
		if id == "" && asker.player {
			id = asker.id
		}
		p := m.agents[id]
		if p != nil && !p.player && q.QueryType == protocol.QueryPlayerStats && q.QueryParams.PlayerID != "" {
			return &protocol.LeagueQueryResponse{Data: protocol.RefereeStatsData{RefereeID: p.id, DisplayName: p.name, AgentLife: m.lifeOf(p)}}, nil
		}
		if p == nil || !p.player {
			return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "Player ID %.60s not found in registry", id)
		}
		if q.QueryType == protocol.QueryNextMatch {
			return m.answerNextMatch(p), nil
		}
		return m.answerPlayerStats(p), nil
	}
	return nil, protocol.Fault(protocol.ErrInvalidQueryType, "query_type %.60q: one of GET_STANDINGS, GET_SCHEDULE, GET_NEXT_MATCH, GET_PLAYER_STATS, GET_STATUS", q.QueryType)
}

func (m *Manager) answerStandings(offset, limit int) *protocol.LeagueQueryResponse {
	if limit <= 0 || limit > protocol.MaxStandings {
		limit = protocol.MaxStandings
	}
	players, _ := m.registeredCounts()
	round := m.state.Round
	data := protocol.StandingsData{Standings: m.standings(offset, limit), TotalPlayers: players, Offset: offset}
	type standings struct {
		CurrentRound int `json:"current_round"`
		protocol.StandingsData
	}
	return &protocol.LeagueQueryResponse{
		Data: standings{round, data}, CurrentRound: &round, StandingsData: data,
	}
}

func (m *Manager) answerStatus() *protocol.LeagueQueryResponse {
	s := m.status()
	data := protocol.StatusData{
		State: s.State, Rounds: &s.Rounds, Matches: &s.Matches, Recorded: &s.Recorded,
		Players: &s.Players, Referees: &s.Referees, Games: m.supportedGames(),
		AgentStates: &s.Agents, Inactive: m.inactive(), Awaited: m.firstAwaited(protocol.MaxInactive),
	}
	type status struct {
		CurrentRound int `json:"current_round"`
		protocol.StatusData
	}
	return &protocol.LeagueQueryResponse{Data: status{s.Round, data}, CurrentRound: &s.Round, StatusData: data}
}

// supportedGames lists the games that the manager knows, the league's own first.
func (m *Manager) supportedGames() []string {
	own := m.options.GameType
	return append([]string{own}, slices.DeleteFunc(m.options.Games.Types(), func(t string) bool { return t == own })...)
}

// answerSchedule lists the matches of one round, the current one if none is
// named, or of all rounds: those from the offset on that the limit and
// protocol.MaxSchedule admit.
func (m *Manager) answerSchedule(q *protocol.QueryParams) (*protocol.LeagueQueryResponse, error) {
	s := m.state
	round := q.RoundID
	if round == 0 {
		round = protocol.QueryRound(max(s.Round, 1))
	}
	data := protocol.ScheduleData{
		RoundID: round, Rounds: s.TotalRounds(), Matches: []protocol.ScheduledMatch{},
		TotalMatches: s.TotalMatches(), Offset: q.Offset,
	}
	rounds := [2]int{1, data.Rounds} // first and last
	if round != protocol.AllRounds {
		if s.Started != nil && int(round) > data.Rounds {
			return nil, protocol.Fault(protocol.ErrMatchNotFound, "round_id %d: the league has %d rounds", round, data.Rounds)
		}
		data.TotalMatches = len(s.Pairings(int(round)))
		rounds = [2]int{int(round), int(round)}
	}
	for size, skip, n := 0, q.Offset, rounds[0]; n <= rounds[1]; n++ {
		pairings := s.Pairings(n)
		for i := min(skip, len(pairings)); i < len(pairings); i++ {
			if q.Limit > 0 && len(data.Matches) == q.Limit {
				return &protocol.LeagueQueryResponse{Data: data}, nil
			}
			one := m.scheduledMatch(protocol.MatchID{Round: n, Number: i + 1}, pairings[i])
			encoded, err := json.Marshal(one)
			if err != nil {
				return nil, err
			}
			if size += len(encoded) + len(","); size > protocol.MaxSchedule {
				return &protocol.LeagueQueryResponse{Data: data}, nil
			}
			data.Matches = append(data.Matches, one)
		}
		skip = max(skip-len(pairings), 0)
	}
	return &protocol.LeagueQueryResponse{Data: data}, nil
}

// scheduledMatch describes a match. M.mu is held.
func (m *Manager) scheduledMatch(id protocol.MatchID, pair pairing.Pairing) protocol.ScheduledMatch {
	s := m.state
	scheduled := protocol.ScheduledMatch{
		MatchID: id.String(), RoundID: id.Round,
		PlayerAID: s.Started.Players[pair.A], PlayerBID: s.Started.Players[pair.B], Status: "SCHEDULED",
	}
	if id.Round > s.Round {
		return scheduled
	}
	scheduled.RefereeEndpoint = m.endpointOf(s.Referee(id.Round, id.Number))
	if r := s.Rounds[id.Round-1].Matches[id.Number-1].Report; r != nil {
		scheduled.Status, scheduled.WinnerPlayerID = r.Status, r.WinnerPlayerID
	}
	return scheduled
}

// endpointOf is where an agent is; nil for the id "".
func (m *Manager) endpointOf(id string) *string {
	if id == "" {
		return nil
	}
	return m.agents[id].endpoint.Load()
}

// answerNextMatch is the player's first match without a result.
func (m *Manager) answerNextMatch(p *agent) *protocol.LeagueQueryResponse {
	data := protocol.NextMatchData{}
	place, takesPart := m.state.Place(p.id)
	for round := max(m.state.Round, 1); takesPart && round <= m.state.TotalRounds(); round++ {
		opponent, number, ok := m.state.Opponent(round, place)
		if !ok || round <= m.state.Round && m.state.Rounds[round-1].Matches[number-1].Report != nil {
			continue
		}
		data.NextMatch = &protocol.NextMatch{
			MatchID: protocol.MatchID{Round: round, Number: number}.String(), RoundID: round, OpponentID: m.state.Started.Players[opponent],
		}
		var referee string
		switch {
		case round <= m.state.Round:
			referee = m.state.Referee(round, number)
		case len(m.state.Forfeiting(p.id, data.NextMatch.OpponentID)) == 0:
			referee = m.expectedReferees(round)[number-1]
			fallthrough
		default:
			data.NextMatch.RefereeExpected = true
		}
		data.NextMatch.RefereeEndpoint = m.endpointOf(referee)
		break
	}
	return &protocol.LeagueQueryResponse{Data: data}
}

func (m *Manager) answerPlayerStats(p *agent) *protocol.LeagueQueryResponse {
	data := protocol.PlayerStatsData{StandingRow: protocol.StandingRow{PlayerID: p.id, DisplayName: p.name}, AgentLife: m.lifeOf(p)}
	if m.state.Started != nil {
		for _, r := range m.state.Standings() {
			if r.PlayerID == p.id {
				data.StandingRow, data.TechnicalLosses = r.StandingRow, r.TechnicalLosses
			}
		}
	}
	return &protocol.LeagueQueryResponse{Data: data}
}

// getStandings is the tool of spec 003 §5.5.1: GET_STANDINGS without a query.
func (m *Manager) getStandings(_ context.Context, _ string, q *protocol.ToolRequest) (*protocol.LeagueQueryResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	asker, err := m.authenticate(q.AuthToken)
	if err == nil {
		err = m.allow(asker.throttle.asks)
	}
	if err != nil {
		return nil, err
	}
	response := m.answerStandings(0, 0)
	success := true
	response.Success, response.QueryType = &success, protocol.QueryStandings
	return response, nil
}
