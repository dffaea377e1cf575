package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/view/record"
)

// season is a league whose players are called as their ids.
func season(start string, results *record.Results) record.SeasonLeague {
	l := record.NewLeague()
	l.Created = &journal.Created{LeagueID: "cup"}
	for i := range results.Players {
		results.Players[i].DisplayName = results.Players[i].PlayerID
	}
	return record.NewSeasonLeague(l, "folder", start, results)
}

func byName(p *league.Standing) string { return p.DisplayName }

// differing are legs of two players in which no match repeats another.
func differing(legs int, first uint64) *record.Results {
	return played(legs, func(leg int, m *record.Meeting) { m.Moves = first + uint64(leg) })
}

func TestRatingsCountEachLeagueOnce(t *testing.T) {
	whole, part := season("a", differing(6, 100)), season("a", differing(2, 100))
	other := season("b", differing(4, 200))
	for _, leagues := range [][]record.SeasonLeague{{whole, part, other}, {other, part, whole, whole}} {
		r := record.Rate(leagues, byName)
		require.Len(t, r.Leagues, 2)
		assert.Equal(t, 6, r.Leagues[0].Results, "the copy with most results counts")
		assert.Equal(t, len(leagues)-2, r.Repeated)
		require.Len(t, r.Players, 2)
		assert.Equal(t, []any{"P02", 2, 10, 10}, []any{r.Players[0].Player, r.Players[0].Leagues, r.Players[0].Played, r.Players[0].Wins})
	}
}

// A match of one league can be the copy of a match of another, although both have ids of their own.
func TestRatingsCountCopiesOfMatchesOnce(t *testing.T) {
	same := func(int, *record.Meeting) {}
	one := record.Rate([]record.SeasonLeague{season("a", played(4, same))}, byName)
	several := record.Rate([]record.SeasonLeague{season("a", played(4, same)), season("b", played(6, same))}, byName)
	assert.Equal(t, []int{2, 8}, []int{one.Copies, several.Copies})
	assert.InDelta(t, one.Players[0].Rating, several.Players[0].Rating, 0, "they show nothing new")
	assert.Equal(t, 10, several.Players[0].Played)
	assert.Equal(t, []string{"Counted once: the matches of P01 and P02 are copies of each other, with the same sides and moves (8)."},
		several.Sentences())
	assert.Zero(t, record.Rate([]record.SeasonLeague{season("a", differing(4, 0)), season("b", differing(4, 9))}, byName).Copies)
}

func TestRatingsLeaveOutWhatShowsNoStrength(t *testing.T) {
	key := func(p *league.Standing) string {
		return map[string]string{"P01": "x", "P02": "y", "P03": "y"}[p.PlayerID]
	}
	results := differing(4, 0)
	for i, id := range []string{"P03", "P04"} { // a second y, and a player that is not known
		results.Players = append(results.Players, league.Standing{PlayerID: id})
		results.Meetings = append(results.Meetings, record.Meeting{Played: league.Played{A: 1, B: i + 2, Winner: i + 2}, Moves: 1})
	}
	results.Players = append(results.Players, league.Standing{PlayerID: "P05", StandingDetails: league.StandingDetails{Annulled: true}})
	results.Meetings = append(results.Meetings, meeting(4, 0, 0, false))
	results.Meetings[0].Technical, results.Meetings[1].Stated = true, true
	r := record.Rate([]record.SeasonLeague{season("a", results)}, key)
	assert.Equal(t, []int{1, 1, 1, 1}, []int{r.Stated, r.Technical, r.Unknown, r.Within})
	assert.Equal(t, []string{
		"1 result not rated: on the word of a referee alone.", "1 result not rated: a technical loss.",
		"1 result not rated: of a player whose strategy no record has.", "1 result not rated: between players that count as one.",
	}, r.Sentences())
	assert.Equal(t, []any{"y", 2, 2}, []any{r.Players[0].Player, r.Players[0].Played, r.Players[0].Wins})
}

// Where side A has an advantage, wins on that side show less.
func TestRatingsAllowForTheAdvantageOfASide(t *testing.T) {
	onSideA := func(alike bool) float64 {
		r := differing(12, 0)
		r.SidesAlike = alike
		for i := range r.Meetings {
			m := &r.Meetings[i]
			m.Winner = m.A
		}
		r.Meetings = append(r.Meetings, record.Meeting{Played: league.Played{A: 1, B: 0, Winner: 1}, Moves: 99})
		return record.Rate([]record.SeasonLeague{season("a", r)}, byName).Players[0].Rating
	}
	assert.Less(t, onSideA(false), onSideA(true))
}
