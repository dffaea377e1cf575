package stats

import (
	"fmt"
	"math"
	"slices"

	"evenodd/league"
	"evenodd/league/words"
)

// A naming is how a sentence names a player.
type naming func(p *Player) string

// byID is the naming of documents for programs, inWords that of people.
func byID(p *Player) string    { return p.PlayerID }
func inWords(p *Player) string { return league.Ref{ID: p.PlayerID, Name: p.ShownName}.String() }

// sentence says what the data show, and what they cannot show.
func (a *Analysis) sentence(o *Options, named naming) string {
	text := a.verdict(o, named)
	if a.Sampled {
		text += fmt.Sprintf(" Ratings and test use a random sample of %d of the %d matches.", a.Used, a.Played)
	}
	return text
}

func (a *Analysis) verdict(o *Options, named naming) string {
	e := &a.Equality
	switch {
	case a.Used == 0:
		return "No match has been decided by play yet: nothing can be said about the players."
	case e.Matches == 0 && a.Used == 1:
		return "The only match is a draw: nothing can be said about the players."
	case e.Matches == 0:
		return fmt.Sprintf("All %d matches are draws: they show no difference between the players.", a.Used)
	case e.Rejected:
		return fmt.Sprintf("The data show differences (%s)%s.", e.shownP(), a.standouts(named))
	case o.PairedByResults:
		return "The order of these players can be luck: where results decide who meets whom, results hardly tell " +
			"players apart."
	case !e.Possible && e.Matches > 1 && !o.SidesAlike && (a.Sides.WinsA == 0 || a.Sides.WinsB == 0):
		return fmt.Sprintf(
			"The same side won all %d matches that have a winner: this can be the advantage of the side, and the "+
				"order of these players can be luck.", e.Matches)
	case !e.Possible:
		matches := fmt.Sprintf("%d matches%s are", a.Used, a.withWinner())
		if a.Used == 1 {
			matches = "1 match is"
		}
		return matches + " too few to tell the players apart: their order can be luck."
	}
	return fmt.Sprintf(
		"The order of these players can be luck: equal players differ at least as much in %.0f%% of such leagues (%s).",
		math.Round(100*e.P), e.shownP())
}

// withWinner tells how many matches have a winner, if not all have.
func (a *Analysis) withWinner() string {
	if a.Equality.Matches == a.Used {
		return ""
	}
	return fmt.Sprintf(" (%d with a winner)", a.Equality.Matches)
}

// standouts names the smallest group of players that is clearly better, or worse, than all
// others. If there is none, it compares the first player with those that are clearly worse.
func (a *Analysis) standouts(named naming) string {
	n, first := len(a.Order), a.Order[0]
	for size := 1; size <= n/2; size++ {
		switch {
		case a.separate(size):
			return ": " + a.group(a.Order[:size], named) + " better than the rest"
		case a.separate(n - size):
			return ": " + a.group(a.Order[n-size:], named) + " worse than the rest"
		}
	}
	below := 0
	for i := range a.Players {
		if a.Players[i].BestRank > a.Players[first].WorstRank {
			below++
		}
	}
	if below > 0 {
		return fmt.Sprintf(": %s is better than %d of the %d others", named(&a.Players[first]), below, n-1)
	}
	return ", but no player is clearly better than another"
}

// separate reports whether the rank intervals of the first players by rating all end, or those
// of the others all begin, between the two groups.
func (a *Analysis) separate(first int) bool {
	endsBelow := func(player int) bool { return a.Players[player].WorstRank > first }
	beginsAbove := func(player int) bool { return a.Players[player].BestRank <= first }
	return !slices.ContainsFunc(a.Order[:first], endsBelow) || !slices.ContainsFunc(a.Order[first:], beginsAbove)
}

// group names players with a verb.
func (a *Analysis) group(players []int, named naming) string {
	const most = 5
	var names []string
	for _, player := range players {
		names = append(names, named(&a.Players[player]))
	}
	switch last := len(names) - 1; {
	case last == 0:
		return names[0] + " is"
	case last < most:
		return words.And(names) + " are"
	default:
		return fmt.Sprintf("%s and %d others are", names[0], last)
	}
}

// shownP is P with as many digits as matter.
func (e *Equality) shownP() string {
	switch {
	case e.P < 0.001:
		return "p < 0.001"
	case e.P < 0.1:
		return fmt.Sprintf("p = %.3f", e.P)
	default:
		return fmt.Sprintf("p = %.2f", e.P)
	}
}
