package audit

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

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
	case head.recorded < a.state.Recorded || head.rounds < completedRounds(a.state):
		a.findIfCompleted(RuleStandings, at, "the standings go up to line %d of the journal, but it has results or rounds since", head.line)
	case a.completed() && head.line < a.ended:
		a.find(RuleStandings, at, "the standings go up to line %d of the journal, but the league was completed in line %d", head.line, a.ended)
	}
}

// checkMissing finds a missing document of a completed league.
func (a *auditor) checkMissing(rule, path string, exists bool) {
	if a.completed() && !exists {
		a.find(rule, location{file: relative(a.dir, path)}, "the league is completed, but this file does not exist")
	}
}

// compareStandings compares standings.json with the state, which is that after the
// line of the journal up to which it was made.
func (a *auditor) compareStandings(line int) {
	if a.state.Created == nil {
		return
	}
	got, want := a.standings.value, *a.standings.value
	want.Version, want.RoundsCompleted, want.Standings = a.state.Recorded, completedRounds(a.state), a.state.Standings()
	for _, diff := range onePerObject(differences(got, &want)) {
		at := location{file: a.standings.file, line: a.standings.line(diff.member)}
		for _, row := range indexes(diff.member) {
			at.agentID = got.Standings[row].PlayerID
		}
		a.find(RuleStandings, at, "%v up to line %d", diff, line)
	}
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

func completedRounds(s *journal.State) int {
	if s.Open() {
		return s.Round - 1
	}
	return s.Round
}

// checkRounds compares rounds.json with the completed rounds of the journal.
func (a *auditor) checkRounds() {
	d, s := &a.rounds, a.state
	if d.value == nil {
		a.checkMissing(RuleRounds, a.dir.Rounds(a.id), d.exists)
		return
	}
	checkHeader(a, d, RuleRounds, location{})
	if a.chain.stopped {
		return
	}
	got, want := d.value, *d.value
	want.LeagueID, want.TotalRounds, want.Rounds = a.id, 0, s.RoundRecords()
	if s.Started != nil {
		want.TotalRounds = s.TotalRounds()
	}
	if n := len(got.Rounds); n < len(want.Rounds) && !a.completed() {
		want.Rounds = want.Rounds[:n] // the file was read before the later rounds ended
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
