package audit

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A playerFolder is the folder of a player.
type playerFolder struct {
	id, path string
	history  playerHistory
	err      error                   // why the history cannot be read
	derived  document[store.History] // history.json beside a history of this league
}

// A playerHistory is the history.jsonl of a player.
type playerHistory struct {
	*store.History
	file  string
	lines []int // of the matches
}

func (h *playerHistory) at(line int) Location {
	return Location{File: h.file, Line: line, AgentID: h.PlayerID}
}

// checkHistories compares the histories of the players with the journal. A history
// need not be complete.
func (a *auditor) checkHistories() {
	players := a.players()
	folders, err := a.dir.Disk.ReadDir(players)
	if err != nil && (!errors.Is(err, fs.ErrNotExist) && a.first || a.options.Histories != "") {
		a.find(RuleSchema, Location{File: relative(a.dir, players)}, "the folder cannot be read: %v", err)
	}
	all, found := make([]*playerFolder, 0, len(folders)), map[string]bool{}
	for _, f := range folders {
		if f.IsDir() {
			all = append(all, &playerFolder{id: f.Name(), path: filepath.Join(players, f.Name())})
		}
	}
	inOrder(all, a.readPlayerFolder, func(f *playerFolder) {
		found[f.id] = a.checkPlayerFolder(f)
		*f = playerFolder{} // a league can have many long histories
	})
	if a.state.Started == nil || a.options.Histories == "" && (!a.completed() || !a.signs()) {
		return
	}
	missing := slices.DeleteFunc(slices.Clone(a.state.Started.Players), func(id string) bool { return found[id] })
	if len(missing) > 0 { // only signatures prove what such a player decided
		a.note(RuleHistory, Location{File: relative(a.dir, players)},
			"there is no history of %s: nobody contradicts the journal in the name of these players", listedIDs(missing))
	}
}

// players is the folder of the players' histories: that of the data folder, or the one that
// the auditor names, which may be a data folder itself.
func (a *auditor) players() string {
	named := a.options.Histories
	if named == "" {
		return a.dir.Players()
	}
	whole := store.Folder{Disk: a.dir.Disk, Path: named}.Players()
	if info, err := a.dir.Disk.Stat(whole); err == nil && info.IsDir() {
		return whole
	}
	return named
}

// readPlayerFolder reads the files of a player: history.jsonl, and history.json, which derives from it. It may be
// called by several goroutines.
func (a *auditor) readPlayerFolder(f *playerFolder) {
	path, h := filepath.Join(f.path, "history.json"), &f.history
	h.file = relative(a.dir, store.HistoryLines(path))
	if h.History, h.lines, _, f.err = store.ReadHistoryLines(a.dir.Disk, store.HistoryLines(path)); f.err == nil &&
		h.LeagueID == a.id {
		f.derived = load[store.History](a.dir, path)
	}
}

// checkPlayerFolder checks the files of a player. It returns whether there is a history of this league. A history.jsonl
// without a complete line does not exist: a power cut can leave that.
func (a *auditor) checkPlayerFolder(f *playerFolder) bool {
	h, at := &f.history, Location{File: f.history.file, AgentID: f.id}
	if f.err != nil {
		if a.first && !errors.Is(f.err, fs.ErrNotExist) { // its league is not known
			problem := cause(f.err)
			if wrong, ok := errors.AsType[*store.LineError](f.err); ok {
				at.Line, problem = wrong.Line, Reason(wrong.Err)
			}
			a.find(RuleSchema, at, "it cannot be read: %s", problem)
		}
		return false
	}
	if h.LeagueID != a.id {
		if a.first && !slices.Contains(a.leagues, h.LeagueID) {
			a.note(RuleHistory, at.at(1), "it is the history of %s in league %s, which has no files here", quoted(&h.PlayerID),
				quoted(&h.LeagueID))
		}
		return false
	}
	a.checkHistory(h, f.id)
	a.compareHistories(&f.derived, h)
	return true
}

// compareHistories compares a history.json with the history.jsonl that it derives from. It may be
// older, and that of another league stays.
func (a *auditor) compareHistories(d *document[store.History], h *playerHistory) {
	at := Location{File: d.file, Line: d.problemLine, AgentID: h.PlayerID}
	switch {
	case d.exists && d.value == nil:
		a.note(RuleSchema, at, "%s; the player writes it again", d.problem)
		return
	case d.value == nil || !a.completed():
		return
	case d.value.LeagueID != h.LeagueID:
		if !slices.Contains(a.leagues, d.value.LeagueID) {
			a.note(RuleHistory, at, "it is of league %s, which has no files here; the player writes it again",
				quoted(&d.value.LeagueID))
		}
		return
	}
	checkHeader(a, d, RuleHistory, at)
	want := *h.History
	want.Header, want.Decisions, want.Differences, want.Heads, want.Model = d.value.Header, nil, nil, nil, nil
	want.Earlier, want.Unknown = nil, nil
	if diffs := differences(d.value, &want); len(diffs) > 0 {
		a.note(RuleHistory, at.at(d.line(diffs[0].member)), "%s is %s; by %s, which counts, it is %s", name(diffs[0].member),
			diffs[0].got, h.file, diffs[0].want)
	}
}

func (a *auditor) checkHistory(h *playerHistory, folder string) {
	if h.PlayerID != folder {
		a.find(RuleHistory, h.at(1), "it is the history of %s, but it is in the folder of %s", quoted(&h.PlayerID), folder)
		return
	}
	if agent := a.state.Agents[folder]; agent != nil && agent.DisplayName != h.DisplayName {
		a.find(RuleHistory, h.at(1), "%s is called %s, but registered as %s", folder, quoted(&h.DisplayName),
			quoted(&agent.DisplayName))
	}
	a.noteUnknown(h.at(0), h.Unknown)
	_, takesPart := a.state.PlayerIndex(folder)
	switch {
	case takesPart:
		a.checkSigned(h)
		for i := range h.Matches {
			a.checkPlayedMatch(h, &h.Matches[i], h.lines[i], true)
		}
		for i := range h.Earlier {
			a.checkPlayedMatch(h, &h.Earlier[i].HistoryMatch, h.Earlier[i].Line, false)
		}
		a.noteUnknownMatches(h)
	case a.chain.stopped:
	case a.state.Started != nil:
		a.find(RuleHistory, h.at(1), "%s does not take part in league %s", folder, a.id)
	case len(h.Matches) > 0:
		a.find(RuleHistory, h.at(h.lines[0]), "%s has matches of a league that has not started", folder)
	}
}

// named is a match of an announced round by its id; nil for none.
func (a *auditor) named(matchID string) *scheduledMatch {
	id, _ := league.ParseMatchID(matchID)
	return a.scheduled(id)
}

// checkPlayedMatch compares one entry of a history with the journal. Last tells that it is the last one of its match;
// a result of an earlier one that does not count is usual.
func (a *auditor) checkPlayedMatch(h *playerHistory, got *store.HistoryMatch, line int, last bool) {
	player, m := h.PlayerID, a.named(got.MatchID)
	at := h.at(line).in(got.MatchID)
	switch id, _ := league.ParseMatchID(got.MatchID); {
	case m == nil && (a.chain.stopped || a.toCome(id)):
		return // its round was announced after the journal was read
	case m == nil || !slices.Contains(m.players[:], player):
		a.find(RuleHistory, at, "%s has match %s, which it does not play in this league", player, quoted(&got.MatchID))
		return
	}
	opponent := m.players[1-slices.Index(m.players[:], player)]
	var report *journal.MatchReported
	for _, o := range outcomesOf(m.Match, got.Attempt) { // a player keeps the first forfeit of a match
		if report = o.Report; *got == *expectedHistory(got, report, player, opponent) {
			break
		}
	}
	switch {
	case m.Report == nil && report == nil:
		return // its report is still to come
	case report == nil && !last && got.Attempt == 0:
		return // it was inferred, and the player has learned more since
	case report == nil && m.Forfeited == nil && m.Ruled == nil && len(a.lostHeads) == 0 &&
		!slices.ContainsFunc(m.Attempts, func(a journal.Attempt) bool { return a.Number == got.Attempt }):
		a.find(RuleHistory, at, "%s has attempt %d at %s, which was never assigned", player, got.Attempt, got.MatchID)
		return
	case report == nil || m.LostBy(got.Attempt) == journal.CauseRejected:
		if last {
			a.note(RuleHistory, at, "%s was told a result of attempt %d at %s; the one that counts is not of this attempt", player,
				got.Attempt, got.MatchID)
		}
		return
	}
	if got.ReportedChoice != "" {
		a.note(RuleHistory, at, "%s was told that its choice in %s is %s; by its own history it is %s", player, got.MatchID,
			quoted(&got.ReportedChoice), orNone(got.MyChoice))
	}
	for _, diff := range differences(got, expectedHistory(got, report, player, opponent)) {
		if got.FromStandings && a.changed > 0 {
			a.note(RuleHistory, at,
				"%s of %s: %v; the player inferred it from standings that an organiser has changed", got.MatchID, player, diff)
			continue
		}
		a.find(RuleHistory, at, "%s of %s: %v", got.MatchID, player, diff)
	}
}

// noteUnknownMatches notes the recorded matches of a player of which nothing reached it by a history that somebody
// kept: neither a question nor a result. Its referee may have invented them.
func (a *auditor) noteUnknownMatches(h *playerHistory) {
	if a.options.Histories == "" {
		return // the player may still write the history
	}
	known := map[league.Attempt]bool{} // number 0 stands for any attempt
	last := 0                          // the last round of which the history knows
	add := func(matchID string, attempt int, reached bool) {
		id, _ := league.ParseMatchID(matchID)
		last = max(last, id.Round)
		if reached {
			known[league.Attempt{MatchID: id, Number: attempt}], known[league.Attempt{MatchID: id}] = true, true
		}
	}
	for i := range h.Matches {
		add(h.Matches[i].MatchID, h.Matches[i].Attempt, !h.Matches[i].FromStandings)
	}
	for i := range h.Decisions {
		add(h.Decisions[i].MatchID, h.Decisions[i].Attempt, true)
	}
	for i := range h.Heads {
		if last = max(last, h.Heads[i].Head.Round); h.Heads[i].Head.Round == 0 { // the end of the league
			last = a.state.Round
		}
	}
	unknown := map[string][]string{} // matches by referee
	for id, m := range a.state.MatchesOf(1, min(last, a.state.Round)) {
		_, playerA, playerB, _ := a.state.Find(id)
		if m.Report == nil || m.Report.Number == 0 || h.PlayerID != playerA && h.PlayerID != playerB {
			continue
		}
		at, referee := m.Report.Attempt, a.state.Agents[m.Report.RefereeID]
		if referee == nil || !referee.ShowsAccessTokens() { // it may name no attempt
			at.Number = 0
		}
		if !known[at] {
			unknown[m.Report.RefereeID] = append(unknown[m.Report.RefereeID], id.String())
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(unknown), league.CompareIDs) {
		a.note(RuleHistory, h.at(1), "the history of %s knows nothing of %s, which %s reported", h.PlayerID,
			listedIDs(unknown[id]), clip(id))
	}
}

// expectedHistory is an entry of a player's history as it follows from a report.
// Where the report or the player does not know a member, it stays as it is.
func expectedHistory(got *store.HistoryMatch, r *journal.MatchReported, player, opponent string) *store.HistoryMatch {
	want := *got
	want.OpponentID, want.Result = opponent, store.ResultFor(player, &r.Result)
	if got.FromStandings { // which tell nothing else
		want.Result = strings.TrimPrefix(want.Result, store.Technical)
		return &want
	}
	moves := r.Result.Moves([2]string{player, opponent})
	for i, choice := range []*string{&want.MyChoice, &want.OpponentChoice} {
		if r.Draw != nil || moves[i] != "" { // some third-party referees report no choices
			*choice = moves[i]
		}
	}
	if r.DrawnNumber != nil || r.Draw != nil {
		want.DrawnNumber = protocol.ValueOf(r.DrawnNumber)
	}
	if r.Draw == nil {
		return &want
	}
	if got.DrawCommitment != "" { // another one means that the referee drew again
		want.DrawCommitment = r.Draw.Commitment
	}
	if entropy, revealed := r.Draw.Entropies.Get(player); got.Entropy != "" && r.Status != league.StatusTechnicalLoss &&
		(revealed || moves[0] != "") { // a player that never had to move has revealed none
		want.Entropy = entropy
	}
	return &want
}

// toCome tells whether a match is of a round that was not announced yet.
func (a *auditor) toCome(id league.MatchID) bool {
	return !a.completed() && id.Round > a.state.Round && id.Number > 0 && id.Number <= len(a.state.Pairings(id.Round))
}
