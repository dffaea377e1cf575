package page

import (
	"html/template"
	"strconv"

	table "evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The standings are the view of the table. Columns that are the same for all players are left
// out.
type standings struct {
	Caption string
	Rows    []standingsRow
	Query   template.URL

	Ranked    bool // the league has begun
	Moves     bool // a round before has standings to compare with
	Form      bool
	Byes      bool
	Technical bool
	Fallbacks bool
	Deciders  bool
	Swiss     bool
	Withdrawn bool

	Evidence []string // see decide.Evidence
}

// A standingsRow is a row of the standings.
type standingsRow struct {
	ref
	Rank  int
	Tied  bool
	Move  int    // places up, negative for down
	Moved string // the same in words

	Played, Wins, Draws, Losses, Points int
	TechnicalLosses, Fallbacks, Byes    int
	Buchholz, SonnebornBerger           string

	Decider   string // the tie-break that separated the player from the row above
	Form      []formMark
	Withdrawn bool
	Annulled  bool
	Inactive  string // why the player gets no matches now; "" if it does
}

// A formMark is a recent result of a player.
type formMark struct {
	Mark  mark
	Match string // its id
}

// The limits of the column of recent results: how many it has, and in how large a league.
const (
	formLength  = 5
	formPlayers = 60
)

// standings are those of the moment, with the movement since the round before.
func (m *moment) standings() *standings {
	rows := m.Standings()
	if m.round != live {
		rows = m.StandingsAfter(m.round)
	}
	s := &standings{
		Caption: "Standings " + m.name(), Query: m.query(), Ranked: m.Started != nil,
		Swiss: m.Format() == "swiss", Rows: make([]standingsRow, len(rows)),
	}
	if m.round == live {
		s.Evidence = decide.Evidence(m.State)
	}
	before, compared := m.ranksBefore()
	s.Moves, s.Form = compared, m.Started != nil && m.last() > 0 && len(rows) <= formPlayers
	fallbacks, form := m.fallbacks(), m.form(s.Form)
	for i := range rows {
		row := m.standingsRow(&rows[i])
		if compared {
			row.Move, row.Moved = move(before[row.ID], row.Rank)
		}
		if player, ok := m.PlayerIndex(row.ID); ok {
			row.Fallbacks, row.Form = fallbacks[player], form[player]
		}
		s.Byes = s.Byes || row.Byes > 0
		s.Technical = s.Technical || row.TechnicalLosses > 0
		s.Fallbacks = s.Fallbacks || row.Fallbacks > 0
		s.Deciders = s.Deciders || row.Decider != ""
		s.Withdrawn = s.Withdrawn || row.Withdrawn
		s.Rows[i] = row
	}
	return s
}

func (m *moment) standingsRow(r *store.StandingRow) standingsRow {
	row := standingsRow{
		ref: m.agent(r.PlayerID), Rank: r.ShownRank(), Tied: r.Tied,
		Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
		TechnicalLosses: r.TechnicalLosses, Withdrawn: r.Withdrawn, Annulled: r.Annulled,
	}
	if r.DecidedBy != "" {
		row.Decider = table.TiebreakLabel(r.DecidedBy)
		if value, ok := r.TiebreakValues[r.DecidedBy]; ok {
			row.Decider += " " + strconv.FormatFloat(value, 'g', 4, 64)
		}
	}
	if r.Byes != nil {
		row.Byes = *r.Byes
	}
	if r.Buchholz != nil {
		row.Buchholz = strconv.Itoa(*r.Buchholz)
	}
	if r.SonnebornBerger != nil {
		row.SonnebornBerger = strconv.FormatFloat(*r.SonnebornBerger, 'f', -1, 64)
	}
	if a := m.Agents[r.PlayerID]; a != nil && a.Inactive() && !r.Withdrawn && m.round == live {
		_, row.Inactive = m.Lifecycle(a)
		row.Inactive = shown(row.Inactive)
	}
	return row
}

// ranksBefore are the ranks to which the standings are compared: those after the last completed
// round while a round is open, else those after the round before it.
func (m *moment) ranksBefore() (ranks map[string]int, ok bool) {
	round := m.last() - 1
	if m.Started == nil || round < 1 {
		return nil, false
	}
	return m.past.ranksAfter(m.League, round), true
}

// move is the movement from a rank to another one, in places and in words.
func move(before, now int) (places int, words string) {
	switch places = before - now; {
	case before == 0 || places == 0:
		return 0, "same rank"
	case places > 0:
		return places, "up " + protocol.Counted(places, "place")
	}
	return places, "down " + protocol.Counted(-places, "place")
}

// fallbacks are the fallbacks of the moment by player.
func (m *moment) fallbacks() []int {
	if m.Started == nil {
		return nil
	}
	sums := append([]int(nil), m.past.fallbacks[min(m.last(), m.past.rounds)]...)
	if m.last() > m.past.rounds {
		m.AddFallbacks(m.last(), sums)
	}
	return sums
}

// form are the last results by player, the latest last. It has no marks unless wanted.
func (m *moment) form(wanted bool) [][]formMark {
	if m.Started == nil {
		return nil
	}
	form := make([][]formMark, len(m.Started.Players))
	if !wanted {
		return form
	}
	for round := max(1, m.last()-formLength+1); round <= m.last(); round++ {
		for i, pair := range m.Rounds[round-1].Pairings {
			id := protocol.MatchID{Round: round, Number: i + 1}
			report := m.Match(id).Report
			if report == nil {
				continue
			}
			for _, player := range [2]int{pair.A, pair.B} {
				form[player] = append(form[player], formMark{markOf(report, m.Started.Players[player]), id.String()})
			}
		}
	}
	return form
}

// Down is the number of places down.
func (r *standingsRow) Down() int { return -r.Move }
