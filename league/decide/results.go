package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
)

// Evidence tells what the results of each referee rest on, in order of ids: those on its word alone, with its
// own reasons if it names no choices; those that it did not show; and those that players dispute. Nil if there is
// nothing to say.
func Evidence(s *journal.State) []string { return allEvidence(s, func(id string) string { return id }) }

// EvidenceInWords is Evidence for people, with the names of agents beside their ids.
func EvidenceInWords(s *journal.State) []string {
	return allEvidence(s, func(id string) string { return s.Ref(id).String() })
}

func allEvidence(s *journal.State, named func(id string) string) (sentences []string) {
	for _, id := range slices.SortedFunc(maps.Keys(s.Doubts), league.CompareIDs) {
		sentences = append(sentences, evidence(s, named(id), s.Doubts[id], named)...)
	}
	return sentences
}

// maxSingle is the number of single matches that a sentence names.
const maxSingle = 3

// evidence is what Evidence tells of one referee.
func evidence(s *journal.State, referee string, d *journal.Doubts, named func(id string) string) (all []string) {
	several := func(n int, one, more string) {
		if n == 1 {
			more = one
		}
		if n > 0 {
			all = append(all, fmt.Sprintf(more, n, referee))
		}
	}
	several(d.Stated-d.NotShown, "%d result rests on the word of referee %s alone.",
		"%d results rest on the word of referee %s alone.")
	if n := len(d.Explained); n > 0 {
		single := lists.Map(d.Explained[:min(n, maxSingle)], func(match league.MatchID) string {
			return match.String() + ": " + strings.Replace(s.Match(match).Doubt(), journal.OnItsWord+", which", "its referee", 1)
		})
		text := strings.Join(single, "; ")
		if n > maxSingle {
			text += fmt.Sprintf("; and %d more", n-maxSingle)
		}
		all = append(all, text+".")
	}
	several(d.NotShown, "%d result is a draw, because referee %s did not show it.",
		"%d results are draws, because referee %s did not show them.")
	several(len(d.Denied), "%d result of referee %s is disputed", "%d results of referee %s are disputed")
	if len(d.Denied) > 0 {
		players := slices.Concat(slices.Collect(maps.Values(d.Denied))...)
		slices.SortFunc(players, league.CompareIDs)
		all[len(all)-1] += " by players that know nothing of the match: " +
			strings.Join(lists.Map(slices.Compact(players), named), ", ") + "."
	}
	return all
}
