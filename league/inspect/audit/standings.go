package audit

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// writtenAgain ends a note about a file that derives from the journal. The manager writes
// it without sync, so that a crash can leave it older, incomplete or missing.
const writtenAgain = "; a manager that resumes the league writes it again"

// openDerived loads a file that derives from the journal.
func openDerived[T any](a *auditor, path string) document[T] {
	d := load[T](a.dir, path)
	checkDerivedReadable(a, &d, location{})
	return d
}

// checkDerivedReadable notes an incomplete file that derives from others, and finds one that
// cannot be read for another reason.
func checkDerivedReadable[T any](a *auditor, d *document[T], about location) {
	if d.value == nil && d.raw != nil && !jsontext.Value(d.raw).IsValid() {
		about.file, about.line = d.file, d.problemLine
		a.note(RuleSchema, about, "%s%s", d.problem, writtenAgain)
		return
	}
	checkReadable(a, d, about)
}

// checkStandings checks standings.json except its rows: the league, and the event
// of the journal up to which it was made.
func (a *auditor) checkStandings() {
	d := &a.standings
	if d.value == nil {
		a.checkMissing(RuleStandings, a.dir.Standings(a.id), d.exists)
		return
	}
	checkHeader(a, d, RuleStandings, location{})
	at := location{file: d.file, line: d.line("/league_id")}
	if d.value.LeagueID != a.id {
		a.find(RuleStandings, at, "league_id is %s, not %s", quoted(&d.value.LeagueID), a.id)
	}
	at.line = d.line("/journal_head")
	head := a.chain.standings
	switch {
	case a.chain.next == 0: // there is no journal
	case head.hash == journal.Origin && a.chain.head == journal.Origin:
	case head.line == 0 && a.lostHeads[head.hash]: // checkStatement noted it
	case head.line == 0:
		a.find(RuleJournalHead, at, "journal_head %.12q… is the hash of no line of the journal: its tail was cut off, or lines were changed", head.hash)
	case head.recorded < a.state.Recorded || head.rounds < a.state.CompletedRounds() || head.changed < a.changed:
		a.note(RuleStandings, at, "the standings go up to line %d of the journal, but it has results or rounds since%s", head.line, writtenAgain)
	case a.completed() && head.line < a.ended:
		a.note(RuleStandings, at, "the standings go up to line %d of the journal, but the league was completed in line %d%s", head.line, a.ended, writtenAgain)
	}
}

// checkMissing notes a missing document of a completed league.
func (a *auditor) checkMissing(rule, path string, exists bool) {
	if a.completed() && !exists {
		a.note(rule, location{file: relative(a.dir, path)}, "the league is completed, but this file does not exist%s", writtenAgain)
	}
}

// compareStandings compares standings.json with the state, which is that after the
// line of the journal up to which it was made.
func (a *auditor) compareStandings(line int) {
	if a.state.Created == nil {
		return
	}
	got, want := a.standings.value, *a.standings.value
	want.Version, want.RoundsCompleted, want.Standings = a.state.Recorded, a.state.CompletedRounds(), a.state.Standings()
	if !a.state.Created.SharedRanks && haveDistinctRanks(got.Standings) {
		for i := range want.Standings {
			r := &want.Standings[i]
			r.Rank, r.Tied, r.DecidedBy, r.TiebreakValues = i+1, false, "", nil
		}
	}
	for _, diff := range onePerObject(differences(got, &want)) {
		at := location{file: a.standings.file, line: a.standings.line(diff.member)}
		for _, row := range indexes(diff.member) {
			at.agentID = got.Standings[row].PlayerID
		}
		a.find(RuleStandings, at, "%v up to line %d", diff, line)
	}
}

// haveDistinctRanks tells whether rows have the form of earlier versions: distinct ranks, and
// no member about ties.
func haveDistinctRanks(rows []store.StandingRow) bool {
	return !slices.ContainsFunc(rows, func(r store.StandingRow) bool {
		return r.Tied || r.DecidedBy != "" || r.TiebreakValues != nil
	})
}

// indexes are the indexes of array elements in the path of a member.
func indexes(member jsontext.Pointer) (all []int) {
	for token := range member.Tokens() {
		if i, err := strconv.Atoi(token); err == nil {
			all = append(all, i)
		}
	}
	return all
}

// checkRounds compares rounds.json with the completed rounds of the journal. After a crash
// the file can be older: its number of rounds may be that of the time before the start, or
// of a knockout before its end.
func (a *auditor) checkRounds() {
	rounds, s := a.rounds, a.state
	a.rounds = document[store.Rounds]{} // it is large, and nothing else needs it
	d := &rounds
	if d.value == nil {
		a.checkMissing(RuleRounds, a.dir.Rounds(a.id), d.exists)
		return
	}
	checkHeader(a, d, RuleRounds, location{})
	if a.chain.stopped {
		return
	}
	got, want := d.value, *d.value
	want.LeagueID, want.TotalRounds, want.Rounds = a.id, s.TotalRounds(), s.RoundRecords()
	if got.TotalRounds == s.MostRounds() || got.TotalRounds == 0 && len(got.Rounds) == 0 {
		want.TotalRounds = got.TotalRounds
	}
	if n := len(got.Rounds); n < len(want.Rounds) {
		if a.completed() {
			a.note(RuleRounds, location{file: d.file, line: d.line("/rounds")}, "it has %d of %d rounds%s", n, len(want.Rounds), writtenAgain)
		}
		want.Rounds = want.Rounds[:n]
	}
	if n := a.withEarlierResults(got.Rounds, want.Rounds); n > 0 {
		a.note(RuleRounds, location{file: d.file, line: d.line("/rounds")}, "it has earlier results of %s, which an organiser has changed since%s", protocol.Counted(n, "match"), writtenAgain)
	}
	for _, diff := range differences(got, &want) {
		rule, at := RuleRounds, location{file: d.file, line: d.line(diff.member)}
		if i := indexes(diff.member); len(i) == 2 {
			at.matchID = protocol.MatchID{Round: i[0] + 1, Number: i[1] + 1}.String()
		}
		if last := diff.member.LastToken(); last == "player_A_id" || last == "player_B_id" {
			rule = RuleSchedule
		}
		a.find(rule, at, "%v", diff)
	}
}
