package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// The states of a manager (004 §9.2).
const (
	StateWaitingForRegistrations = "WAITING_FOR_REGISTRATIONS"
	StateCreatingSchedule        = "CREATING_SCHEDULE"
	StateRunningLeague           = "RUNNING_LEAGUE"
	StateLeagueCompleted         = protocol.StateLeagueCompleted
)

// Phase is the state of the manager of a league. Closed tells that the start is
// decided.
func Phase(s *journal.State, closed bool) string {
	switch {
	case s.Completed != nil:
		return StateLeagueCompleted
	case s.Started != nil:
		return StateRunningLeague
	case closed:
		return StateCreatingSchedule
	}
	return StateWaitingForRegistrations
}

// Counts say how many rounds, matches and agents a league has.
type Counts struct {
	Round    int `json:"round"`    // the last one announced; 0 before the first
	Rounds   int `json:"rounds"`   // in a bracket that goes on: the largest possible number
	Matches  int `json:"matches"`  // the same
	Recorded int `json:"recorded"` // matches with a result
	Players  int `json:"players"`
	Referees int `json:"referees"`
}

// CountsOf counts the rounds, matches and agents of a league.
func CountsOf(s *journal.State) Counts {
	players, _ := s.Registered(true)
	referees, _ := s.Registered(false)
	return Counts{s.Round, s.TotalRounds(), s.TotalMatches(), s.Recorded, players, referees}
}

// A Status is how far a league is.
type Status struct {
	State      string `json:"state"`               // of the manager
	Tournament string `json:"tournament,omitzero"` // as journal.Formats has them; "" for a round-robin
	AtMost     bool   `json:"-"`                   // as journal.State.AtMost
	Paused     bool   `json:"paused,omitzero"`     // the organiser holds back the next round
	Counts
	Agents  protocol.AgentStates `json:"agent_states"` // players and referees together
	Awaited []string             `json:"awaited"`      // ids of agents that have not answered yet, before the start

	StartAt           string          `json:"start_at,omitzero"`           // when the league starts, before the start; "" for no time
	RegistrationUntil string          `json:"registration_until,omitzero"` // when registration ends, before the start; "" for no time
	Roster            *journal.Roster `json:"roster,omitzero"`             // the number of listed agents; nil without a roster

	Announced int             `json:"-"` // matches of the announced rounds
	Outcomes  league.Outcomes `json:"-"` // of the results that count
}

// A View answers queries about a league (spec 003 §4.9).
type View struct {
	State  *journal.State
	Games  []string // that the manager knows, the league's own first
	Phase  string   // see Phase
	Silent []string // ids of agents that have not answered

	// Obstacle says what the pings to an agent that has not answered met; "" for nothing yet.
	Obstacle func(agentID string) string

	// Recorded returns a result as its event has it, because the state of old matches lacks the draw.
	Recorded func(r *journal.MatchReported, event int) *journal.MatchReported
}

// Status is how far the league is.
func (v *View) Status() Status {
	s := v.State
	status := Status{
		State: v.Phase, Tournament: s.Format(), AtMost: s.AtMost(), Paused: s.Paused != nil, Counts: CountsOf(s),
		Awaited: v.Silent, Roster: s.Configuration.Roster,
	}
	if s.Started == nil {
		status.StartAt, status.RegistrationUntil = startAt(s), s.Configuration.RegistrationUntil
	}
	for i := range s.Rounds {
		status.Announced += len(s.Rounds[i].Pairings)
	}
	if s.Table != nil {
		status.Outcomes = s.Table.Outcomes()
	}
	for _, a := range s.Agents {
		switch state, _ := s.Lifecycle(a); state {
		case journal.LifecycleRegistered:
			status.Agents.Registered++
		case journal.LifecycleActive:
			status.Agents.Active++
		case journal.LifecycleSuspended:
			status.Agents.Suspended++
		default:
			status.Agents.Shutdown++
		}
	}
	return status
}

// A query is a query that agents may send.
type query struct {
	name   string
	answer func(v *View, q *protocol.LeagueQuery, askerID string) (*protocol.LeagueQueryResponse, error)
}

// queries are protocol.Queries.
var queries = [...]query{
	{protocol.QueryStandings, (*View).standings},
	{protocol.QuerySchedule, (*View).schedule},
	{protocol.QueryNextMatch, (*View).nextMatchOf},
	{protocol.QueryPlayerStats, (*View).stats},
	{protocol.QueryStatus, (*View).status},
}

// Answer answers a query of an agent, or of the organiser if askerID is "". The error of a
// query without an answer is a *protocol.Error.
func (v *View) Answer(q *protocol.LeagueQuery, askerID string) (*protocol.LeagueQueryResponse, error) {
	if own := v.State.Created.LeagueID; q.LeagueID != own {
		return nil, OtherLeague(own, q.LeagueID)
	}
	for _, row := range queries {
		if row.name == q.QueryType {
			return row.answer(v, q, askerID)
		}
	}
	return nil, protocol.Fault(protocol.ErrInvalidQueryType, "query_type %.60q: one of %s", q.QueryType,
		strings.Join(protocol.Queries[:], ", "))
}

// OtherLeague is the error of a message about a league that this manager does not run.
func OtherLeague(own, other string) *protocol.Error {
	return protocol.Fault(protocol.ErrLeagueNotFound, "this manager runs league %s, not %.60q", own, other)
}

// standings answers GET_STANDINGS: limit rows from offset.
func (v *View) standings(q *protocol.LeagueQuery, _ string) (*protocol.LeagueQueryResponse, error) {
	offset, limit := q.QueryParams.Offset, q.QueryParams.Limit
	if limit <= 0 || limit > protocol.MaxStandings {
		limit = protocol.MaxStandings
	}
	players, _ := v.State.Registered(true)
	round := v.State.Round
	data := protocol.StandingsData{Standings: StandingRows(v.State, offset, limit), TotalPlayers: players, Offset: offset}
	type standings struct {
		CurrentRound int `json:"current_round"`
		protocol.StandingsData
	}
	return &protocol.LeagueQueryResponse{Data: standings{round, data}, CurrentRound: &round, StandingsData: data}, nil
}

// StandingRows are limit rows of the table from offset, in the form of messages.
func StandingRows(s *journal.State, offset, limit int) []protocol.StandingRow {
	all := s.Standings()
	all = all[min(offset, len(all)):min(offset+limit, len(all))]
	rows := make([]protocol.StandingRow, len(all))
	for i := range all {
		rows[i] = protocol.RowOf(&all[i], offset+i+1)
	}
	return rows
}

// status answers GET_STATUS.
func (v *View) status(_ *protocol.LeagueQuery, askerID string) (*protocol.LeagueQueryResponse, error) {
	s := v.Status()
	data := protocol.StatusData{
		State: s.State, Rounds: &s.Rounds, Matches: &s.Matches, Recorded: &s.Recorded,
		Players: &s.Players, Referees: &s.Referees, Games: v.Games,
		AgentStates: &s.Agents, Inactive: v.inactive(askerID), Awaited: v.Silent[:min(len(v.Silent), protocol.MaxInactive)],
		Tournament: s.Tournament, Paused: s.Paused, StartAt: s.StartAt, RegistrationUntil: s.RegistrationUntil,
		Roster: s.Roster,
	}
	if a := v.State.Agents[askerID]; a != nil && !a.Answered && v.State.Started == nil && v.Obstacle != nil {
		data.Unreachable = v.Obstacle(askerID)
	}
	type status struct {
		CurrentRound int `json:"current_round"`
		protocol.StatusData
	}
	return &protocol.LeagueQueryResponse{Data: status{s.Round, data}, CurrentRound: &s.Round, StatusData: data}, nil
}

// inactive are the first agents of a started league that are suspended or shut down,
// players before referees, each in order of ids. Before the start they are, for the organiser alone, those that
// pings have not reached.
func (v *View) inactive(askerID string) (list []protocol.InactiveAgent) {
	if v.State.Started == nil {
		for _, id := range v.Silent {
			if askerID == "" && v.Obstacle != nil && v.Obstacle(id) != "" && len(list) < protocol.MaxInactive {
				list = append(list, protocol.InactiveAgent{AgentID: id, State: journal.LifecycleRegistered,
					Reason: words.Clip(v.Obstacle(id), 490)})
			}
		}
		return list
	}
	for _, id := range slices.Concat(v.State.Started.Players, v.State.Started.Referees) {
		a := v.State.Agents[id]
		if !a.Inactive() {
			continue
		}
		if len(list) == protocol.MaxInactive {
			break
		}
		state, reason := v.State.Lifecycle(a)
		list = append(list, protocol.InactiveAgent{AgentID: id, State: state, Reason: reason, Failures: a.Failures})
	}
	return list
}

// schedule answers GET_SCHEDULE. It lists the matches of one round, or of all rounds if the query names none
// (002 §8.1.2): from the offset on, as many as the limit and protocol.MaxSchedule admit.
func (v *View) schedule(query *protocol.LeagueQuery, _ string) (*protocol.LeagueQueryResponse, error) {
	s, q := v.State, &query.QueryParams
	round := cmp.Or(q.RoundID, protocol.AllRounds)
	data := protocol.ScheduleData{
		RoundID: round, Rounds: s.TotalRounds(), Matches: []protocol.ScheduledMatch{},
		TotalMatches: s.TotalMatches(), Offset: q.Offset,
	}
	known := s.KnownRounds()
	if known < data.Rounds {
		data.KnownRounds, data.TotalMatches = &known, 0
		for n := range known {
			data.TotalMatches += len(s.Pairings(n + 1))
		}
	}
	first, last := 1, known
	if round != protocol.AllRounds {
		if s.Started != nil && int(round) > data.Rounds {
			return nil, protocol.Fault(protocol.ErrMatchNotFound, "round_id %d: the league has %d rounds", round, data.Rounds)
		}
		first, last = int(round), int(round)
		data.TotalMatches = len(s.Pairings(first))
	}
	skip, size := q.Offset, 0
	for n := first; n <= last; n++ {
		pairings := s.Pairings(n)
		for i := min(skip, len(pairings)); i < len(pairings); i++ {
			one := v.scheduledMatch(league.MatchID{Round: n, Number: i + 1}, pairings[i])
			encoded, err := json.Marshal(one)
			if err != nil {
				return nil, err
			}
			size += len(encoded) + len(",")
			if size > protocol.MaxSchedule || q.Limit > 0 && len(data.Matches) == q.Limit {
				return &protocol.LeagueQueryResponse{Data: data}, nil
			}
			data.Matches = append(data.Matches, one)
		}
		skip = max(skip-len(pairings), 0)
	}
	return &protocol.LeagueQueryResponse{Data: data}, nil
}

// scheduledMatch describes a match.
func (v *View) scheduledMatch(id league.MatchID, pair pairing.Pairing) protocol.ScheduledMatch {
	s := v.State
	scheduled := protocol.ScheduledMatch{
		MatchID: id.String(), RoundID: id.Round,
		PlayerAID: s.Started.Players[pair.A], PlayerBID: s.Started.Players[pair.B], Status: "SCHEDULED",
	}
	if id.Round > s.Round {
		return scheduled
	}
	scheduled.RefereeEndpoint = v.endpoint(s.Referee(id.Round, id.Number))
	if r := s.Match(id).Report; r != nil {
		scheduled.Status, scheduled.WinnerPlayerID = r.Status, r.WinnerPlayerID
	}
	return scheduled
}

// endpoint is the endpoint of an agent; nil for the id "".
func (v *View) endpoint(id string) *string {
	if id == "" {
		return nil
	}
	return new(v.State.Agents[id].Endpoint)
}

// agentOf is the agent that a query names by its id or its name, else the player that asks. The error of the organiser
// lists similar names.
func (v *View) agentOf(q *protocol.LeagueQuery, askerID string,
	find func(text string) (id string, err error)) (*journal.Agent, error) {
	text := q.QueryParams.PlayerID
	if asker := v.State.Agents[askerID]; text == "" && asker != nil && asker.Player {
		return asker, nil
	}
	id, err := find(text)
	switch {
	case err == nil:
		return v.State.Agents[id], nil
	case askerID == "":
		return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "%v", err)
	}
	return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "Player ID %.60s not found in registry", text)
}

// nextMatchOf answers GET_NEXT_MATCH.
func (v *View) nextMatchOf(q *protocol.LeagueQuery, askerID string) (*protocol.LeagueQueryResponse, error) {
	a, err := v.agentOf(q, askerID, func(text string) (string, error) { return v.State.FindPlayer(text) })
	if err != nil {
		return nil, err
	}
	next := v.nextMatch(a.AgentID)
	_, takesPart := v.State.PlayerIndex(a.AgentID)
	undecided := next == nil && takesPart && v.State.KnownRounds() < v.State.TotalRounds()
	return &protocol.LeagueQueryResponse{Data: protocol.NextMatchData{NextMatch: next, Undecided: undecided}}, nil
}

// stats answers GET_PLAYER_STATS.
func (v *View) stats(q *protocol.LeagueQuery, askerID string) (*protocol.LeagueQueryResponse, error) {
	a, err := v.agentOf(q, askerID, v.State.FindAgent)
	switch {
	case err != nil:
		return nil, err
	case !a.Player:
		data := protocol.RefereeStatsData{RefereeID: a.AgentID, DisplayName: a.DisplayName, AgentLife: v.life(a)}
		return &protocol.LeagueQueryResponse{Data: data}, nil
	}
	data := protocol.PlayerStatsData{
		StandingRow: protocol.StandingRow{PlayerID: a.AgentID, DisplayName: a.DisplayName}, AgentLife: v.life(a),
	}
	if v.State.Started != nil {
		for i, r := range v.State.Standings() {
			if r.PlayerID == a.AgentID {
				data.StandingRow, data.TechnicalLosses = protocol.RowOf(&r, i+1), r.TechnicalLosses
			}
		}
	}
	return &protocol.LeagueQueryResponse{Data: data}, nil
}

func (v *View) life(a *journal.Agent) (life protocol.AgentLife) {
	life.State, life.StateReason = v.State.Lifecycle(a)
	life.Failures = a.Failures
	return life
}

// nextMatch is a player's first match without a result, rematches first; nil for none. The referee of a
// match of a later round is the one that the manager would choose now.
func (v *View) nextMatch(playerID string) *protocol.NextMatch {
	s := v.State
	index, takesPart := s.PlayerIndex(playerID)
	for _, id := range s.Rematches {
		if opponent, number, _ := s.Opponent(id.Round, index); takesPart && number == id.Number && s.Match(id).Reopened() {
			return &protocol.NextMatch{MatchID: id.String(), RoundID: id.Round, OpponentID: s.Started.Players[opponent],
				RefereeEndpoint: v.endpoint(s.Referee(id.Round, id.Number))}
		}
	}
	for round := max(s.Round, 1); takesPart && round <= s.KnownRounds(); round++ {
		opponent, number, ok := s.Opponent(round, index)
		id := league.MatchID{Round: round, Number: number}
		if !ok || round <= s.Round && s.Match(id).Report != nil {
			continue
		}
		next := &protocol.NextMatch{
			MatchID: id.String(), RoundID: round, OpponentID: s.Started.Players[opponent],
			RefereeExpected: round > s.Round,
		}
		switch {
		case !next.RefereeExpected:
			next.RefereeEndpoint = v.endpoint(s.Referee(round, number))
		case len(s.InactivePlayers(playerID, next.OpponentID)) == 0:
			next.RefereeEndpoint = v.endpoint(ChooseReferees(s, round)[number-1])
		}
		return next
	}
	return nil
}

// The bounds of CreateSchedule: players, and matches of an answer.
const maxScheduled, maxDrafted = 1000, 400

// CreateSchedule pairs players as a league would, in the given order (spec 003 §5.5.3): a page of
// 400 matches from an offset, from 0. The algorithm is that of a round-robin; of other formats, only the first
// round is known. The error is E002 for fewer than 2 or more than 1,000 players, for repeated ids and
// ids that are none, and for a negative offset.
func CreateSchedule(created *journal.Created, algorithm string, players []string, offset int) (
	*protocol.ScheduleData, error) {
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
	format := created.Tournament.For(len(players), created.Legs)
	format.Name = cmp.Or(format.Name, algorithm)
	pairer, err := pairing.New(format)
	if err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "players: %v", err)
	}
	each, last := len(pairer.Round(1, nil, nil)), pairer.Rounds() // each round has as many matches, if all are known
	data := &protocol.ScheduleData{RoundID: protocol.AllRounds, Rounds: last, TotalMatches: pairer.Matches(),
		Offset: offset, Matches: []protocol.ScheduledMatch{}}
	if !created.Tournament.IsFixed() {
		last = 1
		data.KnownRounds, data.TotalMatches = &last, each
	}
	skip := offset % each
	for n := 1 + offset/each; n <= last; n++ {
		for i, p := range pairer.Round(n, nil, nil)[skip:] {
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
