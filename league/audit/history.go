package audit

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

type historyFile struct {
	document
	*store.History
}

// checkHistories hears the players: each keeps its own record, and none needs
// to keep all of it.
func (x *examination) checkHistories() {
	folders, err := os.ReadDir(x.dir.Players())
	if err != nil && !errors.Is(err, fs.ErrNotExist) && x.lostAndFound {
		x.find(RuleSchema, spot{file: relative(x.dir, x.dir.Players())}, "the folder cannot be read: %v", err)
	}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		path := x.dir.History(f.Name())
		doc, d, err := load[store.History](x.dir, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			if x.lostAndFound { // nobody knows of which league it is
				x.unreadable(path, err, spot{agentID: f.Name()})
			}
		case doc.LeagueID == x.id:
			x.checkHistory(&historyFile{d, doc}, f.Name())
		case x.lostAndFound && !slices.Contains(x.known, doc.LeagueID):
			x.note(RuleHistory, spot{file: d.file, line: d.line("league_id"), agentID: f.Name()},
				"it is the history of %s in league %s, of which nothing is here", quoted(&doc.PlayerID), quoted(&doc.LeagueID))
		}
	}
}

func (x *examination) checkHistory(d *historyFile, folder string) {
	at := func(path ...any) spot { return spot{file: d.file, line: d.line(path...), agentID: folder} }
	if d.PlayerID != folder {
		x.find(RuleHistory, at("player_id"), "it is the history of %s, but stands in the folder of %s", quoted(&d.PlayerID), folder)
		return
	}
	written[store.History](x, &d.document, RuleHistory, d.LastUpdated, spot{agentID: folder})
	x.checkStats(d)
	if a := x.state.Agents[folder]; a != nil && a.Name != "" && a.Name != d.DisplayName {
		x.find(RuleHistory, at("display_name"), "%s calls itself %s, but registered as %s", folder, quoted(&d.DisplayName), quoted(&a.Name))
	}
	if x.state.Started == nil {
		if len(d.Matches) > 0 && !x.chain.lost {
			x.find(RuleHistory, at("matches"), "%s remembers matches of a league that has not started", folder)
		}
		return
	}
	if _, ok := x.state.PlayerIndex(folder); !ok {
		x.find(RuleHistory, at("player_id"), "%s does not take part in league %s", folder, x.id)
		return
	}
	seen := map[string]int{}
	for i := range d.Matches {
		m := &d.Matches[i]
		if first, again := seen[m.MatchID]; again {
			where := at("matches", i)
			where.matchID = m.MatchID
			x.find(RuleHistory, where, "match %s stands in it twice, first in line %d", quoted(&m.MatchID), d.line("matches", first))
			continue
		}
		seen[m.MatchID] = i
		x.checkMemory(d, i)
	}
}

// checkStats counts the history's own matches.
func (x *examination) checkStats(d *historyFile) {
	var want protocol.PlayerStats
	for i := range d.Matches {
		want.TotalMatches++
		switch d.Matches[i].Result {
		case "WIN", "TECHNICAL_WIN":
			want.Wins++
		case "DRAW":
			want.Draws++
		default:
			want.Losses++
		}
	}
	if d.Stats != want {
		x.find(RuleHistory, spot{file: d.file, line: d.line("stats"), agentID: d.PlayerID},
			"the stats are %s; by the matches listed they are %s", stats(&d.Stats), stats(&want))
	}
}

func stats(s *protocol.PlayerStats) string {
	return counted(s.TotalMatches, "match", "matches") + " with " + counted(s.Wins, "win", "wins") + ", " +
		counted(s.Draws, "draw", "draws") + ", " + counted(s.Losses, "loss", "losses")
}

// checkMemory holds one match as the player saw it against the journal.
func (x *examination) checkMemory(d *historyFile, i int) {
	got := &d.Matches[i]
	wrong := func(member string, format string, args ...any) {
		x.find(RuleHistory, spot{file: d.file, line: d.line("matches", i, member), matchID: got.MatchID, agentID: d.PlayerID}, format, args...)
	}
	id, _ := protocol.ParseMatchID(got.MatchID)
	m, idA, idB, ok := x.state.Find(id)
	switch {
	case !ok && x.toCome(id):
		return // its round was announced after the journal was read
	case !ok:
		wrong("match_id", "%s remembers match %s, which is not of this league", d.PlayerID, quoted(&got.MatchID))
		return
	case d.PlayerID != idA && d.PlayerID != idB:
		wrong("match_id", "%s remembers match %s, but %s and %s play it", d.PlayerID, got.MatchID, idA, idB)
		return
	case m.Report == nil:
		return // its report is still to come, or its absence was named
	case m.Forfeited == nil && len(x.lost) == 0 &&
		!slices.ContainsFunc(m.Attempts, func(a journal.Attempt) bool { return a.Number == got.Attempt }):
		wrong("attempt", "%s remembers attempt %d at %s, which was never assigned", d.PlayerID, got.Attempt, got.MatchID)
		return
	case got.Attempt != m.Report.Number:
		x.note(RuleHistory, spot{file: d.file, line: d.line("matches", i, "attempt"), matchID: got.MatchID, agentID: d.PlayerID},
			"%s remembers attempt %d at %s; the one that counts is %d", d.PlayerID, got.Attempt, got.MatchID, m.Report.Number)
		return
	}
	opponent := idA
	if d.PlayerID == idA {
		opponent = idB
	}
	want := seenBy(m.Report, d.PlayerID, opponent)
	if got.OpponentID != opponent {
		wrong("opponent_id", "the opponent of %s in %s is %s, by the schedule it is %s", d.PlayerID, got.MatchID, quoted(&got.OpponentID), opponent)
	}
	if got.FromStandings { // which say nothing else, and not whether it was technical
		want.Result = strings.TrimPrefix(want.Result, "TECHNICAL_")
	}
	if got.Result != want.Result {
		wrong("result", "%s remembers %s in %s; the journal says %s", d.PlayerID, quoted(&got.Result), got.MatchID, want.Result)
	}
	if got.FromStandings {
		return
	}
	told := func(value string) bool { return m.Report.Draw != nil || value != "" } // some referees report no particulars
	if got.MyChoice != want.MyChoice && told(want.MyChoice) {
		wrong("my_choice", "%s remembers that it chose %s in %s; the journal says %s", d.PlayerID, quoted(&got.MyChoice), got.MatchID, quoted(&want.MyChoice))
	}
	if got.OpponentChoice != want.OpponentChoice && told(want.OpponentChoice) {
		wrong("opponent_choice", "%s remembers that %s chose %s in %s; the journal says %s", d.PlayerID, opponent, quoted(&got.OpponentChoice), got.MatchID, quoted(&want.OpponentChoice))
	}
	x.checkBond(d, i, m.Report, wrong)
	if got.DrawnNumber != want.DrawnNumber && (m.Report.Draw != nil || want.DrawnNumber != 0) {
		wrong("drawn_number", "%s remembers number %d in %s; the journal says %d", d.PlayerID, got.DrawnNumber, got.MatchID, want.DrawnNumber)
	}
}

// checkBond holds what a player knows of the draw against what was reported: the
// referee was bound before it knew the player's part, and has counted that part.
func (x *examination) checkBond(d *historyFile, i int, r *journal.MatchReported, wrong func(member string, format string, args ...any)) {
	got := &d.Matches[i]
	if r.Draw == nil {
		return
	}
	if got.DrawCommitment != "" && got.DrawCommitment != r.Draw.Commitment {
		wrong("draw_commitment", "%s was invited to %s with the commitment %.12s…, but the draw reported is that of %.12s…: the referee has drawn again",
			d.PlayerID, got.MatchID, got.DrawCommitment, r.Draw.Commitment)
	}
	counted, _ := r.Draw.Entropies.Get(d.PlayerID)
	if got.Entropy != "" && counted != got.Entropy && r.Status != protocol.StatusTechnicalLoss {
		wrong("entropy", "%s gave its part in the draw of %s, but the referee has counted %s", d.PlayerID, got.MatchID,
			cmp.Or(strings.TrimSpace(counted), "none"))
	}
}

// toCome tells whether a match is of a round that was not announced yet.
func (x *examination) toCome(id protocol.MatchID) bool {
	return id.Number > 0 && id.Number <= len(x.state.Pairings(id.Round)) && !x.completed() && id.Round > x.state.Round
}

// seenBy is a result as one of its players would write it down.
func seenBy(r *journal.MatchReported, id, opponent string) protocol.PlayedMatch {
	seen := protocol.PlayedMatch{MatchID: r.MatchID.String(), OpponentID: opponent}
	if mine, _ := r.Choices.Get(id); mine != nil {
		seen.MyChoice = *mine
	}
	if other, _ := r.Choices.Get(opponent); other != nil {
		seen.OpponentChoice = *other
	}
	if r.DrawnNumber != nil {
		seen.DrawnNumber = *r.DrawnNumber
	}
	switch {
	case r.Status == protocol.StatusDraw:
		seen.Result = "DRAW"
	case r.WinnerPlayerID != nil && *r.WinnerPlayerID == id:
		seen.Result = "WIN"
	default:
		seen.Result = "LOSS"
	}
	if r.Status == protocol.StatusTechnicalLoss {
		seen.Result = "TECHNICAL_" + seen.Result
	}
	return seen
}
