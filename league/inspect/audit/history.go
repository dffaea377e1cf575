package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkHistories compares the histories of the players with the journal. A history
// need not be complete.
func (a *auditor) checkHistories() {
	players := a.players()
	folders, err := os.ReadDir(players)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) && a.first || a.options.Histories != "") {
		a.find(RuleSchema, location{file: relative(a.dir, players)}, "the folder cannot be read: %v", err)
	}
	found := map[string]bool{}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		found[f.Name()] = a.checkPlayerFolder(players, f.Name())
	}
	if a.completed() && a.signs() || a.options.Histories != "" {
		a.noteMissingHistories(found)
	}
}

// players is the folder of the players' histories: that of the data folder, or the one that
// the auditor names, which may be a data folder itself.
func (a *auditor) players() string {
	named := a.options.Histories
	if named == "" {
		return a.dir.Players()
	}
	if whole := store.Folder(named).Players(); isFolder(whole) {
		return whole
	}
	return named
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// noteMissingHistories names the players without a history of this league. Without it, only
// signatures prove what such a player decided.
func (a *auditor) noteMissingHistories(found map[string]bool) {
	if a.state.Started == nil {
		return
	}
	missing := slices.DeleteFunc(slices.Clone(a.state.Started.Players), func(id string) bool { return found[id] })
	if len(missing) > 0 {
		a.note(RuleHistory, location{file: relative(a.dir, a.players())}, "there is no history of %s: nobody contradicts the journal in the name of these players",
			listedIDs(missing))
	}
}

// checkPlayerFolder checks the files of a player: history.jsonl, and history.json, which
// derives from it. Earlier versions wrote history.json alone. It returns whether there is a
// history of this league.
func (a *auditor) checkPlayerFolder(players, id string) bool {
	path := filepath.Join(players, id, "history.json")
	d := load[store.History](a.dir, path)
	lines := loadLines(a.dir, store.HistoryLines(path))
	if !lines.exists {
		a.checkOwnHistory(&d, id)
		return d.value != nil && d.value.LeagueID == a.id
	}
	a.checkOwnHistory(&lines, id)
	switch h := lines.value; {
	case h == nil || !d.exists: // nothing to compare
	case d.value != nil && d.value.LeagueID != h.LeagueID:
		a.checkOwnHistory(&d, id)
	case h.LeagueID != a.id:
	case d.value == nil:
		a.note(RuleSchema, location{file: d.file, line: d.problemLine, agentID: id}, "%s; the player writes it again", d.problem)
	default:
		a.compareHistories(&d, &lines, id)
	}
	return lines.value != nil && lines.value.LeagueID == a.id
}

// checkOwnHistory checks the history that a player wrote, if it is of this league.
func (a *auditor) checkOwnHistory(d *document[store.History], id string) {
	switch {
	case d.exists && d.value == nil && a.first: // its league is not known
		a.find(RuleSchema, location{file: d.file, line: d.problemLine, agentID: id}, "%s", d.problem)
	case d.value == nil:
	case d.value.LeagueID == a.id:
		a.checkHistory(d, id)
	case a.first && !slices.Contains(a.leagues, d.value.LeagueID):
		a.note(RuleHistory, location{file: d.file, line: d.line("/league_id"), agentID: id},
			"it is the history of %s in league %s, which has no files here", quoted(&d.value.PlayerID), quoted(&d.value.LeagueID))
	}
}

// loadLines reads a history.jsonl. One without a complete line does not exist: a power cut
// can leave that.
func loadLines(dir store.Folder, path string) (d document[store.History]) {
	d = document[store.History]{file: relative(dir, path)}
	h, lines, _, err := store.ReadHistoryLines(path)
	d.exists = !errors.Is(err, fs.ErrNotExist)
	if err == nil {
		d.value, d.matchLines = h, append(make([]int, 0, len(lines)+1), lines...)
	} else if wrong, ok := errors.AsType[*store.LineError](err); ok {
		d.problem, d.problemLine = "it cannot be read: "+Reason(wrong.Err), wrong.Line
	} else {
		d.problem = "it cannot be read: " + cause(err)
	}
	return d
}

// compareHistories compares a history.json with the history.jsonl that it derives from. It may
// be older or, after a power cut, newer.
func (a *auditor) compareHistories(d, lines *document[store.History], id string) {
	at := func(member jsontext.Pointer) location {
		return location{file: d.file, line: d.line(member), agentID: id}
	}
	checkHeader(a, d, RuleHistory, location{agentID: id})
	want := *d.value
	want.PlayerID, want.DisplayName = lines.value.PlayerID, lines.value.DisplayName
	want.Stats, want.Matches = store.StatsOf(d.value.Matches), slices.Clone(d.value.Matches)
	index := map[string]int{}
	for i := range lines.value.Matches {
		index[lines.value.Matches[i].MatchID] = i
	}
	for i := range want.Matches {
		k, known := index[want.Matches[i].MatchID]
		switch {
		case !known:
			a.note(RuleHistory, at(matchPointer(i)), "%s has match %s, which %s lacks", d.file, quoted(&want.Matches[i].MatchID), lines.file)
		case lines.value.Matches[k].Attempt <= want.Matches[i].Attempt && !a.inferred(want.Matches[i], lines.value.Matches[k]):
			want.Matches[i] = lines.value.Matches[k]
		}
	}
	for _, diff := range onePerObject(differences(d.value, &want)) {
		a.find(RuleHistory, at(diff.member), "%s is %s; by %s it is %s", name(diff.member), diff.got, lines.file, diff.want)
	}
}

// inferred tells whether a match of a history is as it was before the player was told its result,
// when the player had inferred the result from the standings.
func (a *auditor) inferred(m, told store.HistoryMatch) bool {
	result := strings.TrimPrefix(told.Result, "TECHNICAL_")
	if a.changed > 0 { // the standings may have counted a ruling
		result = m.Result
	}
	return m == store.HistoryMatch{Attempt: told.Attempt, PlayedMatch: protocol.PlayedMatch{
		MatchID: told.MatchID, OpponentID: told.OpponentID, Result: result, MyChoice: m.MyChoice, FromStandings: true,
	}}
}

func (a *auditor) checkHistory(d *document[store.History], folder string) {
	h := d.value
	at := func(member jsontext.Pointer) location {
		return location{file: d.file, line: d.line(member), agentID: folder}
	}
	if h.PlayerID != folder {
		a.find(RuleHistory, at("/player_id"), "it is the history of %s, but it is in the folder of %s", quoted(&h.PlayerID), folder)
		return
	}
	if d.matchLines == nil {
		checkHeader(a, d, RuleHistory, location{agentID: folder})
	}
	if want := store.StatsOf(h.Matches); h.Stats != want {
		a.find(RuleHistory, at("/stats"), "the stats are %s; by the matches of the history they are %s", jsonText(h.Stats), jsonText(want))
	}
	if agent := a.state.Agents[folder]; agent != nil && agent.DisplayName != h.DisplayName {
		a.find(RuleHistory, at("/display_name"), "%s is called %s, but registered as %s", folder, quoted(&h.DisplayName), quoted(&agent.DisplayName))
	}
	_, takesPart := a.state.PlayerIndex(folder)
	switch {
	case a.chain.stopped && !takesPart:
		return
	case a.state.Started == nil:
		if len(h.Matches) > 0 {
			a.find(RuleHistory, at("/matches"), "%s has matches of a league that has not started", folder)
		}
		return
	case !takesPart:
		a.find(RuleHistory, at("/player_id"), "%s does not take part in league %s", folder, a.id)
		return
	}
	a.checkSigned(d, folder)
	seen := map[string]int{}
	for i := range h.Matches {
		id := h.Matches[i].MatchID
		if first, again := seen[id]; again {
			where := at(matchPointer(i))
			where.matchID = id
			a.find(RuleHistory, where, "match %s is in it twice, first in line %d", quoted(&id), d.line(matchPointer(first)))
			continue
		}
		seen[id] = i
		a.checkPlayedMatch(d, i)
	}
}

func matchPointer(i int) jsontext.Pointer { return jsontext.Pointer(fmt.Sprintf("/matches/%d", i)) }

// checkPlayedMatch compares one match of a history with the journal.
func (a *auditor) checkPlayedMatch(d *document[store.History], i int) {
	player, got := d.value.PlayerID, &d.value.Matches[i]
	at := func(member string) location {
		return location{file: d.file, line: d.line(matchPointer(i).AppendToken(member)), matchID: got.MatchID, agentID: player}
	}
	id, _ := protocol.ParseMatchID(got.MatchID)
	m, players, ok := a.findMatch(id)
	side := slices.Index(players[:], player)
	switch {
	case !ok && (a.chain.stopped || a.toCome(id)):
		return // its round was announced after the journal was read
	case !ok:
		a.find(RuleHistory, at("match_id"), "%s has match %s, which is not of this league", player, quoted(&got.MatchID))
		return
	case side < 0:
		a.find(RuleHistory, at("match_id"), "%s has match %s, but its players are %s and %s", player, got.MatchID, players[0], players[1])
		return
	}
	var report *journal.MatchReported
	for _, o := range outcomesOf(m, got.Attempt) { // a player keeps the first forfeit of a match
		if report = o.Report; *got == *expectedHistory(got, report, player, players[1-side]) {
			break
		}
	}
	switch {
	case m.Report == nil && report == nil:
		return // its report is still to come
	case report == nil && m.Forfeited == nil && m.Ruled == nil && len(a.lostHeads) == 0 &&
		!slices.ContainsFunc(m.Attempts, func(a journal.Attempt) bool { return a.Number == got.Attempt }):
		a.find(RuleHistory, at("attempt"), "%s has attempt %d at %s, which was never assigned", player, got.Attempt, got.MatchID)
		return
	case report != nil && m.LostBy(got.Attempt) == journal.CauseRejected:
		a.note(RuleHistory, at("attempt"), "%s was told a result of attempt %d at %s that the manager did not record", player, got.Attempt, got.MatchID)
		return
	case report == nil && m.Ruled != nil:
		a.note(RuleHistory, at("attempt"), "%s has attempt %d at %s; an organiser decided the result", player, got.Attempt, got.MatchID)
		return
	case report == nil:
		a.note(RuleHistory, at("attempt"), "%s has attempt %d at %s; the result is that of attempt %d", player, got.Attempt, got.MatchID, m.Report.Number)
		return
	}
	if got.ReportedChoice != "" {
		a.note(RuleHistory, at("reported_choice"), "%s was told that its choice in %s is %s; by its own history it is %s",
			player, got.MatchID, quoted(&got.ReportedChoice), orNone(got.MyChoice))
	}
	want := expectedHistory(got, report, player, players[1-side])
	if *got == *want {
		return
	}
	for _, diff := range differences(got, want) {
		if got.FromStandings && a.changed > 0 {
			a.note(RuleHistory, at(diff.member.LastToken()), "%s of %s: %v; the player inferred it from standings that an organiser has changed", got.MatchID, player, diff)
			continue
		}
		a.find(RuleHistory, at(diff.member.LastToken()), "%s of %s: %v", got.MatchID, player, diff)
	}
}

// expectedHistory is an entry of a player's history as it follows from a report.
// Where the report or the player does not know a member, it stays as it is.
func expectedHistory(got *store.HistoryMatch, r *journal.MatchReported, player, opponent string) *store.HistoryMatch {
	want := *got
	want.OpponentID = opponent
	switch {
	case r.Status == protocol.StatusDraw:
		want.Result = "DRAW"
	case r.WinnerPlayerID != nil && *r.WinnerPlayerID == player:
		want.Result = "WIN"
	default:
		want.Result = "LOSS"
	}
	if got.FromStandings { // which tell nothing else
		return &want
	}
	if r.Status == protocol.StatusTechnicalLoss {
		want.Result = "TECHNICAL_" + want.Result
	}
	moves := r.GameResult.Moves([2]string{player, opponent})
	for i, choice := range []*string{&want.MyChoice, &want.OpponentChoice} {
		if r.Draw != nil || moves[i] != "" { // some third-party referees report no choices
			*choice = moves[i]
		}
	}
	switch {
	case r.DrawnNumber != nil:
		want.DrawnNumber = *r.DrawnNumber
	case r.Draw != nil:
		want.DrawnNumber = 0
	}
	if r.Draw == nil {
		return &want
	}
	if got.DrawCommitment != "" { // another one means that the referee drew again
		want.DrawCommitment = r.Draw.Commitment
	}
	if got.Entropy != "" && r.Status != protocol.StatusTechnicalLoss {
		want.Entropy, _ = r.Draw.Entropies.Get(player)
	}
	return &want
}

// toCome tells whether a match is of a round that was not announced yet.
func (a *auditor) toCome(id protocol.MatchID) bool {
	return !a.completed() && id.Round > a.state.Round && id.Number > 0 && id.Number <= len(a.state.Pairings(id.Round))
}
