package page

import (
	"cmp"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/view/record"
)

// A player is the view of one player.
type player struct {
	ref
	State   string        // of its part in the league, in words
	Row     *standingsRow // in the standings; nil before the start
	Players int
	Fails   int // matches without an answer in a row

	Withdrawn *journal.Made
	Held      *journal.Made

	Results []playerResult // the latest first
	Against *ref           // the only opponent of the results; nil for all
	Heads   []head
	Faults  []faultCount
	Next    []nextMatch

	Rating *ratingRow // nil for none
}

// A playerResult is a result as the player sees it.
type playerResult struct {
	result
	Opponent ref
	Mark     mark
	Points   int
}

// A head is what the player did against one opponent.
type head struct {
	ref
	*record.HeadToHead
}

// A faultText explains a technical loss to the owner of an agent.
type faultText struct {
	Code  string
	Short string // follows the name of a player: "did not answer in time"
	Long  string // what it means, and what helps
}

// fault explains an error code.
func fault(code string) faultText {
	return faultText{code, record.FailureInWords(code), cmp.Or(record.ErrorInWords(code),
		"The transcript of the match has the details.")}
}

// A faultCount is how often the player lost technically for one reason.
type faultCount struct {
	faultText
	Matches []string // ids
}

// A nextMatch is a match of the player without a result.
type nextMatch struct {
	Match    string
	Opponent ref
	State    string
}

// playerOf is the view of a player, with its results against one opponent only if against is
// not empty; nil for an unknown player.
func playerOf(l *record.League, id, against string) *player {
	a := l.Agents[id]
	if a == nil || !a.Player {
		return nil
	}
	m := at(l, live)
	v := &player{ref: m.agent(id), Fails: a.Failures, Withdrawn: a.Withdrawn, Held: a.Held}
	v.State = shown(l.StateInWords(a))
	if other := l.Agents[against]; other != nil && other.Player && against != id {
		rival := m.agent(against)
		v.Against = &rival
	}
	if l.Started == nil {
		return v
	}
	rows := m.standings().Rows
	v.Players = len(rows)
	if i := slices.IndexFunc(rows, func(r standingsRow) bool { return r.ID == id }); i >= 0 {
		v.Row = &rows[i]
	}
	v.read(m)
	return v
}

func (v *player) title() string { return v.Name }

// read adds the matches of the player.
func (v *player) read(m *moment) {
	index, ok := m.PlayerIndex(v.ID)
	if !ok {
		return
	}
	for round := m.Round; round >= 1; round-- {
		opponent, number, plays := m.Opponent(round, index)
		if !plays {
			continue
		}
		id := league.MatchID{Round: round, Number: number}
		rival := m.agent(m.Started.Players[opponent])
		match := m.Match(id)
		if match.Report == nil {
			v.Next = append(v.Next, nextMatch{id.String(), rival, m.stateOf(id.String(), len(match.Current()))})
			continue
		}
		one := playerResult{result: m.result(id), Opponent: rival, Mark: markOf(&match.Report.Result, v.ID)}
		one.Points, _ = match.Report.Score.Get(v.ID)
		v.explain(&one, match)
		if v.Against == nil || v.Against.ID == rival.ID {
			v.Results = append(v.Results, one)
		}
	}
	several := false
	for key, sum := range m.Meetings(m.last(), func(player, _ string) bool { return player == v.ID }) {
		v.Heads = append(v.Heads, head{m.agent(key[1]), sum})
		several = several || len(sum.MatchIDs) > 1
	}
	slices.SortFunc(v.Heads, func(a, b head) int { return league.CompareIDs(a.ID, b.ID) })
	if !several {
		v.Heads = nil // the results tell the same
	}
}

// explain adds a technical loss to those for the same reason.
func (v *player) explain(r *playerResult, match *journal.Match) {
	if r.Mark != technical {
		return
	}
	code, _ := match.Report.Faults.Get(v.ID)
	why := fault(code)
	switch {
	case slices.Contains(match.Forfeited, v.ID):
		why = faultText{"", "forfeited",
			"The player was suspended, shut down or withdrawn when the round began, so the match was not played."}
	case match.Ruled != nil:
		why = faultText{"", "lost by a ruling", "The organiser ruled that the player lost."}
	case code == "":
		why = faultText{"", "lost without an error code",
			"The referee named no error. The match page has the reason in words."}
	}
	k := slices.IndexFunc(v.Faults, func(f faultCount) bool { return f.Short == why.Short })
	if k < 0 {
		v.Faults, k = append(v.Faults, faultCount{faultText: why}), len(v.Faults)
	}
	v.Faults[k].Matches = append(v.Faults[k].Matches, r.MatchID)
}
