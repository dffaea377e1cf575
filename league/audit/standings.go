package audit

import (
	"errors"
	"io/fs"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

type (
	standingsFile struct {
		document
		*store.Standings
	}
	roundsFile struct {
		document
		*store.Rounds
	}
)

// standings loads standings.json; nil when there is none that can be read.
func (x *examination) standings() *standingsFile {
	doc, d, err := load[store.Standings](x.dir, x.dir.Standings(x.id))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			x.unreadable(x.dir.Standings(x.id), err, spot{})
		}
		return nil
	}
	return &standingsFile{d, doc}
}

// rounds loads rounds.json; nil when there is none that can be read.
func (x *examination) rounds() *roundsFile {
	doc, d, err := load[store.Rounds](x.dir, x.dir.Rounds(x.id))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			x.unreadable(x.dir.Rounds(x.id), err, spot{})
		}
		return nil
	}
	return &roundsFile{d, doc}
}

// absent is a document that a league that is over must have.
func (x *examination) absent(rule, path string) {
	if _, _, err := load[struct{}](x.dir, path); x.completed() && errors.Is(err, fs.ErrNotExist) {
		x.find(rule, spot{file: relative(x.dir, path)}, "the league is over, but this file is not there")
	}
}

// compareStandings holds the rows against the table as it was after a line of
// the journal: now.
func (x *examination) compareStandings(d *standingsFile, line int) {
	s := x.state
	if s.Created == nil {
		return
	}
	want := s.Standings()
	at := func(rule string, path []any, format string, args ...any) {
		x.find(rule, spot{file: d.file, line: d.line(path...)}, format, args...)
	}
	if d.Version != s.Recorded {
		at(RuleStandings, []any{"version"}, "version is %d, but %d results were recorded up to line %d of the journal", d.Version, s.Recorded, line)
	}
	if n := completedRounds(s); d.RoundsCompleted != n {
		at(RuleStandings, []any{"rounds_completed"}, "rounds_completed is %d, but up to line %d of the journal it is %d", d.RoundsCompleted, line, n)
	}
	if len(d.Standings.Standings) != len(want) {
		at(RuleStandings, []any{"standings"}, "there are %d rows for %s", len(d.Standings.Standings), counted(len(want), "player", "players"))
	}
	for i := range min(len(want), len(d.Standings.Standings)) {
		got := d.Standings.Standings[i]
		if want[i].DisplayName == "" { // of an agent whose registration is missing
			got.DisplayName = ""
		}
		if got != want[i] {
			x.find(RuleStandings, spot{file: d.file, line: d.line("standings", i, differing(got, want[i])), agentID: got.PlayerID},
				"rank %d is %s, by the results up to line %d of the journal it is %s", i+1, row(got), line, row(want[i]))
		}
	}
}

// differing is the first member in which two rows differ.
func differing(a, b store.StandingRow) string {
	switch {
	case a.Rank != b.Rank:
		return "rank"
	case a.PlayerID != b.PlayerID:
		return "player_id"
	case a.DisplayName != b.DisplayName:
		return "display_name"
	case a.Played != b.Played:
		return "played"
	case a.Wins != b.Wins:
		return "wins"
	case a.Draws != b.Draws:
		return "draws"
	case a.Losses != b.Losses:
		return "losses"
	case a.Points != b.Points:
		return "points"
	}
	return "technical_losses"
}

func row(r store.StandingRow) string {
	return clip(r.PlayerID) + " (" + clip(r.DisplayName) + ") with " +
		counted(r.Points, "point", "points") + " from " + counted(r.Played, "match", "matches") + ": " +
		counted(r.Wins, "win", "wins") + ", " + counted(r.Draws, "draw", "draws") + ", " +
		counted(r.Losses, "loss", "losses") + " (" + counted(r.TechnicalLosses, "technical one", "technical ones") + ")"
}

func summary(s protocol.RoundSummary) string {
	return counted(s.TotalMatches, "match", "matches") + " with " + counted(s.Wins, "win", "wins") + ", " +
		counted(s.Draws, "draw", "draws") + ", " + counted(s.TechnicalLosses, "technical loss", "technical losses")
}

func completedRounds(s *journal.State) int {
	n := 0
	for i := range s.Rounds {
		if s.Rounds[i].CompletedAt != "" {
			n++
		}
	}
	return n
}

// checkStandings looks at what standings.json says beside its rows: of which
// league it is, and up to which event of the journal it goes.
func (x *examination) checkStandings(d *standingsFile) {
	if d == nil {
		x.absent(RuleStandings, x.dir.Standings(x.id))
		return
	}
	written[store.Standings](x, &d.document, RuleStandings, d.LastUpdated, spot{})
	at := spot{file: d.file, line: d.line("league_id")}
	if d.LeagueID != x.id {
		x.find(RuleStandings, at, "league_id is %s, not %s", quoted(&d.LeagueID), x.id)
	}
	at.line = d.line("journal_head")
	head := x.chain.standing
	switch {
	case head == nil: // no journal
	case head.hash == journal.Origin && x.chain.head == journal.Origin:
	case head.line == 0 && x.lost[head.hash]: // it was noted
	case head.line == 0:
		x.find(RuleJournalHead, at, "journal_head %.12q… is the hash of no line of the journal: its tail was cut off, or lines were changed", head.hash)
	case head.stale > 0:
		x.weigh(RuleStandings, at, "the standings go up to line %d of the journal, but line %d has changed the league since", head.line, head.stale)
	case x.completed() && x.ends > 0 && head.line < x.ends:
		x.find(RuleStandings, at, "the standings go up to line %d of the journal, but the league was completed in line %d", head.line, x.ends)
	}
}

// checkRounds holds rounds.json against the rounds that were completed.
func (x *examination) checkRounds(d *roundsFile) {
	if d == nil {
		x.absent(RuleRounds, x.dir.Rounds(x.id))
		return
	}
	written[store.Rounds](x, &d.document, RuleRounds, d.LastUpdated, spot{})
	s := x.state
	at := func(path ...any) spot { return spot{file: d.file, line: d.line(path...)} }
	if d.LeagueID != x.id {
		x.find(RuleRounds, at("league_id"), "league_id is %s, not %s", quoted(&d.LeagueID), x.id)
	}
	if s.Created == nil || x.chain.lost {
		return
	}
	if n := s.TotalRounds(); d.TotalRounds != n && (s.Started != nil || d.TotalRounds != 0) {
		x.find(RuleRounds, at("total_rounds"), "total_rounds is %d, by the schedule it is %d", d.TotalRounds, n)
	}
	done := completedRounds(s)
	if len(d.Rounds.Rounds) > done {
		x.find(RuleRounds, at("rounds", done), "%s listed, but %d completed in the journal", counted(len(d.Rounds.Rounds), "round is", "rounds are"), done)
	} else if len(d.Rounds.Rounds) < done && x.completed() {
		x.find(RuleRounds, at("rounds"), "%s listed, but %d were completed", counted(len(d.Rounds.Rounds), "round is", "rounds are"), done)
	}
	for i := range min(done, len(d.Rounds.Rounds)) {
		x.compareRound(d, i)
	}
}

func (x *examination) compareRound(d *roundsFile, i int) {
	s, got := x.state, &d.Rounds.Rounds[i]
	wrong := func(member string, format string, args ...any) {
		x.find(RuleRounds, spot{file: d.file, line: d.line("rounds", i, member)}, format, args...)
	}
	r := &s.Rounds[i]
	if got.RoundID != i+1 {
		wrong("round_id", "round_id is %d where round %d belongs", got.RoundID, i+1)
		return
	}
	if r.AnnouncedAt != unknownTime && got.AnnouncedAt != r.AnnouncedAt {
		wrong("announced_at", "round %d was announced at %s, not at %.40q", i+1, r.AnnouncedAt, got.AnnouncedAt)
	}
	if r.CompletedAt != unknownTime && got.CompletedAt != r.CompletedAt {
		wrong("completed_at", "round %d was completed at %s, not at %.40q", i+1, r.CompletedAt, got.CompletedAt)
	}
	if want := s.Summary(i + 1); got.Summary != want {
		wrong("summary", "the summary of round %d is %s, by its results it is %s", i+1, summary(got.Summary), summary(want))
	}
	if n := len(r.Matches); len(got.Matches) != n {
		wrong("matches", "round %d lists %s, by the schedule it has %d", i+1, counted(len(got.Matches), "match", "matches"), n)
	}
	for k, pair := range r.Pairings {
		if k >= len(got.Matches) {
			break
		}
		x.compareRoundMatch(d, i, k, s.Started.Players[pair.A], s.Started.Players[pair.B])
	}
}

func (x *examination) compareRoundMatch(d *roundsFile, i, k int, idA, idB string) {
	got := &d.Rounds.Rounds[i].Matches[k]
	id := protocol.MatchID{Round: i + 1, Number: k + 1}.String()
	wrong := func(rule, member string, format string, args ...any) {
		x.find(rule, spot{file: d.file, line: d.line("rounds", i, "matches", k, member), matchID: id}, format, args...)
	}
	if got.MatchID != id {
		wrong(RuleRounds, "match_id", "match_id is %s where %s belongs", quoted(&got.MatchID), id)
		return
	}
	if got.PlayerAID != idA {
		wrong(RuleSchedule, "player_A_id", "player A of %s is %s, by the schedule it is %s", id, quoted(&got.PlayerAID), idA)
	}
	if got.PlayerBID != idB {
		wrong(RuleSchedule, "player_B_id", "player B of %s is %s, by the schedule it is %s", id, quoted(&got.PlayerBID), idB)
	}
	report := x.state.Rounds[i].Matches[k].Report
	if report == nil {
		return // its absence was named
	}
	if got.RefereeID != report.RefereeID {
		wrong(RuleRounds, "referee_id", "the referee of %s is %s, in the journal it is %s", id, quoted(&got.RefereeID), quoted(&report.RefereeID))
	}
	if got.Attempt != report.Number {
		wrong(RuleRounds, "attempt", "the attempt at %s is %d, in the journal it is %d", id, got.Attempt, report.Number)
	}
	if got.Status != report.Status {
		wrong(RuleRounds, "status", "the status of %s is %s, in the journal it is %s", id, quoted(&got.Status), quoted(&report.Status))
	}
	if !same(got.WinnerPlayerID, report.WinnerPlayerID) {
		wrong(RuleRounds, "winner_player_id", "the winner of %s is %s, in the journal it is %s", id, quoted(got.WinnerPlayerID), quoted(report.WinnerPlayerID))
	}
}
