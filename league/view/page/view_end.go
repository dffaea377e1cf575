package page

import (
	"fmt"
	"slices"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// An ending is the view of the end of a league.
type ending struct {
	Champions []ref // several share the first rank
	Row       *standingsRow
	Because   string // the tie-break that decided; "" for none
	Podium    []standingsRow
	Climb     *climb
	Longest   *longest
}

// A climb is the largest rise of a player: from a rank by points after a round to its rank at the end.
type climb struct {
	ref
	From, Round, To int
}

// The longest match has the most moves, else took the most time.
type longest struct {
	result
	Took string
}

// podiumRanks is the number of ranks that the end shows.
const podiumRanks = 3

// ending is the end of a league that is over.
func (m *moment) ending(rows []standingsRow) *ending {
	e := &ending{Row: &rows[0], Because: shown(record.Because(m.Champion())), Climb: m.climb(rows)}
	for i := range rows {
		if rows[i].Rank == rows[0].Rank {
			e.Champions = append(e.Champions, rows[i].ref)
		}
		if rows[i].Rank <= podiumRanks && len(e.Podium) < podiumRanks {
			e.Podium = append(e.Podium, rows[i])
		}
	}
	if l := m.Longest; l.MatchID.Round > 0 && m.Match(l.MatchID).Report != nil {
		e.Longest = &longest{m.result(l.MatchID), record.Milliseconds(protocol.Milliseconds(l.Took))}
		if l.Moves > 0 {
			e.Longest.Took = words.Counted(l.Moves, "move")
		}
	}
	return e
}

// Title names the champion, or says that several share the first rank.
func (e *ending) Title() string {
	if len(e.Champions) > 1 {
		return fmt.Sprintf("%s and %d more share rank 1", e.Champions[0].Name, len(e.Champions)-1)
	}
	return "Champion: " + e.Champions[0].Name
}

// climb is the largest rise of any player; nil for none, and if the points do not rank the players: in a bracket or
// gauntlet.
func (m *moment) climb(rows []standingsRow) (best *climb) {
	if m.Created.Tournament.HasBracket() || m.Created.Tournament.IsGauntlet() {
		return nil
	}
	points := m.Points()
	for round := 1; round < len(points)-1; round++ {
		sorted := slices.Sorted(slices.Values(points[round]))
		for i := range rows {
			player, _ := m.PlayerIndex(rows[i].ID)
			after, _ := slices.BinarySearch(sorted, points[round][player]+1)
			from := 1 + len(sorted) - after // players with more points come first
			if rise := from - rows[i].Rank; rise > 0 && (best == nil || rise > best.From-best.To) {
				best = &climb{rows[i].ref, from, round, rows[i].Rank}
			}
		}
	}
	return best
}

// expected is the time at which the league ends if it goes on as so far, and that time from now in
// words; "" if that is not known.
func (m *moment) expected(p *progress) (at, left string) {
	if p.State != "running" || p.Recorded == 0 || m.Created.Tournament.HasBracket() {
		return "", ""
	}
	start, problem := protocol.ParseTimestamp(m.Rounds[0].AnnouncedAt)
	now, failed := protocol.ParseTimestamp(m.At)
	if problem != nil || failed != nil {
		return "", ""
	}
	rest := now.Sub(start) * time.Duration(p.Matches-p.Recorded) / time.Duration(p.Recorded)
	return now.Add(rest).UTC().Format(time.RFC3339), timeLeft(rest)
}

// timeLeft is a time in words, as page.js has it too.
func timeLeft(d time.Duration) string {
	switch minutes := int(d.Minutes() + 0.5); {
	case minutes < 1:
		return "less than a minute"
	case minutes < 60:
		return fmt.Sprintf("about %d min", minutes)
	default:
		return fmt.Sprintf("about %d h %d min", minutes/60, minutes%60)
	}
}
