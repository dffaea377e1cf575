package decide

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A MatchRecord is a recorded result with its match.
type MatchRecord struct {
	MatchID   string
	RoundID   int
	PlayerA   string
	PlayerB   string
	RefereeID string
	Status    string
	Grade     string // as in journal.MatchReported
	Winner    string // "" for a draw and a double loss
	Number    int    // 0 when none was drawn
	ChoiceA   string // "" when none was made
	ChoiceB   string
	Moves     uint64 // as journal.Outcome has them
	Reason    string
	Faults    league.PerPlayer[string] // the failures by which players lost technically
	Fallbacks league.PerPlayer[int]    // as in league.Result
}

// Evidence tells what the results of each referee rest on, in order of ids: those on its word alone, with its
// own reasons if it names no choices; those that it did not show; and those that players dispute. Nil if there is
// nothing to say.
func Evidence(s *journal.State) (sentences []string) {
	doubtful := map[string]*doubts{}
	for id, n := range s.Stated {
		if n > 0 {
			doubtful[id] = &doubts{}
		}
	}
	for id, a := range s.Agents {
		if len(a.DeniedBy) > 0 {
			doubtful[id] = &doubts{}
		}
	}
	if len(doubtful) == 0 {
		return nil // without a look at all matches
	}
	for id, m := range s.Matches() {
		if m.Report == nil {
			continue
		}
		if d := doubtful[m.Report.RefereeID]; d != nil {
			d.add(s, id.String(), m)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(doubtful), league.CompareIDs) {
		sentences = append(sentences, doubtful[id].sentences(id)...)
	}
	return sentences
}

// doubts are what is doubtful about the results of a referee.
type doubts struct {
	stated, unshown, disputed int
	single                    []string // what is to be known of single matches
	deniers                   []string
}

func (d *doubts) add(s *journal.State, matchID string, m *journal.Match) {
	switch doubt := Doubt(m); doubt {
	case "":
	case NotShown:
		d.unshown++
	default:
		d.stated++
		if doubt != OnItsWord {
			d.single = append(d.single, matchID+": "+strings.Replace(doubt, OnItsWord+", which", "its referee", 1))
		}
	}
	denied := protocol.Select(m.Disputed, func(id string) bool { return s.Agents[id].Player })
	if len(denied) > 0 {
		d.disputed++
	}
	for _, id := range denied {
		if !slices.Contains(d.deniers, id) {
			d.deniers = append(d.deniers, id)
		}
	}
}

// maxSingle is the number of single matches that a sentence names.
const maxSingle = 3

func (d *doubts) sentences(id string) (all []string) {
	several := func(n int, one, more string) {
		if n > 0 {
			all = append(all, fmt.Sprintf(map[bool]string{true: one, false: more}[n == 1], n, id))
		}
	}
	several(d.stated, "%d result rests on the word of referee %s alone.", "%d results rest on the word of referee %s alone.")
	if n := len(d.single); n > 0 {
		text := strings.Join(d.single[:min(n, maxSingle)], "; ")
		if n > maxSingle {
			text += fmt.Sprintf("; and %d more", n-maxSingle)
		}
		all = append(all, text+".")
	}
	several(d.unshown, "%d result is a draw, because referee %s did not show it.",
		"%d results are draws, because referee %s did not show them.")
	several(d.disputed, "%d result of referee %s is disputed", "%d results of referee %s are disputed")
	if d.disputed > 0 {
		slices.SortFunc(d.deniers, league.CompareIDs)
		all[len(all)-1] += " by players that know nothing of the match: " + strings.Join(d.deniers, ", ") + "."
	}
	return all
}

// OnItsWord is the Doubt of a result of which nothing else is to be said.
const OnItsWord = "rests on the word of its referee"

// Doubt is what is to be known of a result of journal.GradeStated; "" for any other: that it rests on the word of
// its referee, with the referee's own reason if it names a winner without all choices, or why the manager recorded
// it after it had refused the report.
func Doubt(m *journal.Match) string {
	r := m.Report
	switch {
	case r == nil || r.Grade != journal.GradeStated:
		return ""
	case m.IsLost(r.Number):
		return r.Reason
	case r.WinnerPlayerID == nil || r.Reason == "" || chosen(r) == len(r.Choices) && len(r.Choices) > 0:
		return OnItsWord
	}
	return fmt.Sprintf("%s, which says: %.120q", OnItsWord, r.Reason)
}

// chosen is the number of players whose choice a result has.
func chosen(r *journal.MatchReported) (n int) {
	for _, c := range r.Choices {
		if protocol.ValueOf(c.Value) != "" {
			n++
		}
	}
	return n
}

// Results are all recorded results in schedule order.
func Results(s *journal.State) []MatchRecord {
	records := make([]MatchRecord, 0, s.Recorded)
	for id, m := range s.Matches() {
		r := m.Report
		if r == nil {
			continue
		}
		p := s.Pairings(id.Round)[id.Number-1]
		players := [2]string{s.Started.Players[p.A], s.Started.Players[p.B]}
		moves := r.Result.Moves(players)
		records = append(records, MatchRecord{
			MatchID: id.String(), RoundID: id.Round, PlayerA: players[0], PlayerB: players[1], RefereeID: r.RefereeID,
			Status: r.Status, Grade: r.Grade, Winner: protocol.ValueOf(r.WinnerPlayerID),
			Number: protocol.ValueOf(r.DrawnNumber), ChoiceA: moves[0], ChoiceB: moves[1], Moves: m.Moves, Reason: r.Reason,
			Faults: r.Faults, Fallbacks: r.Fallbacks,
		})
	}
	return records
}
