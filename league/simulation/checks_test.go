package simulation_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules/evenodd"
)

// swarmChecks are the invariants of every league. Each returns the violations.
var swarmChecks = map[string]func(*playedLeague) []string{
	"no time passes":                    noTimePasses,
	"one result a match":                oneResultEach,
	"the table is that of the results":  tableOfResults,
	"only faulty players lose":          onlyFaultyPlayersLose,
	"a player loses by its own failure": lossesFollowFromFaults,
	"the audit has no findings":         auditFindsNothing,
	"no match has two results":          noDisputes,
	"each decision is recorded":         decisionsRecorded,
}

// noTimePasses checks that only the checks for dead referees take time, pauses of the organiser, and referees that decline
// a match because they still conduct one that the organiser has ruled.
func noTimePasses(l *playedLeague) []string {
	const declined = 2 * time.Second // the pause before a referee is asked again
	most := time.Second + time.Duration(len(l.organiser.made))*pauseOfDecision
	for i := range l.organiser.made {
		if l.organiser.decisions[i].rulesEarly() {
			most += declined
		}
	}
	if l.result.Disk == nil && l.took >= most {
		return []string{fmt.Sprintf("the league took %s", l.took)}
	}
	return nil
}

// oneResultEach checks that each match of the schedule has one result, and that no player
// plays twice in a round.
func oneResultEach(l *playedLeague) (problems []string) {
	players, t := l.options.Players, l.options.Tournament
	want, often := players*(players-1)/2*l.options.Legs, l.options.Legs // the matches, and those of each pair
	switch {
	case t.IsSequential():
		want = 0 // it may end early
	case t.IsSwiss():
		want, often = 0, 1
		for round := 1; round <= l.result.State.Round; round++ {
			want += len(l.result.State.Pairings(round))
		}
	case t.IsGauntlet():
		want = t.Gauntlet * (players - t.Gauntlet) * l.options.Legs
	case t.Format() == journal.FormatKnockout:
		want, often = 0, 8 // with replays, and again for the third place
		problems = append(problems, eliminated(l)...)
	case t.HasBracket():
		want, often = 0, 20 // with replays, in both brackets, and twice in the final
	}
	if want > 0 && l.result.State.Recorded != want {
		problems = append(problems, fmt.Sprintf("%d results of %d matches", l.result.State.Recorded, want))
	}
	seen := map[string]bool{}
	met := map[[2]string]int{}
	for _, m := range matchesOf(l.result) {
		pair := []string{m.PlayerAID, m.PlayerBID}
		for _, id := range append(pair, m.MatchID) {
			key := fmt.Sprintf("round %d: %s", m.RoundID, id)
			if seen[key] {
				problems = append(problems, key+" twice")
			}
			seen[key] = true
		}
		slices.Sort(pair)
		met[[2]string(pair)]++
	}
	for pair, times := range met {
		fewLeft := t.IsSwiss() && l.organiser.acted() // then pairs meet again
		if times > often && !fewLeft || t.IsFixed() && times != often {
			problems = append(problems, fmt.Sprintf("%s and %s have %d results", pair[0], pair[1], times))
		}
	}
	return problems
}

// eliminated checks that a player of a knockout that loses plays no more, except for
// third place, and that the champion does not lose.
func eliminated(l *playedLeague) (problems []string) {
	lost, matches := map[string]int{}, matchesOf(l.result)
	if len(matches) == 0 || l.organiser.acted() { // a ruling may let a player play on
		return nil
	}
	for _, m := range matches {
		for _, id := range []string{m.PlayerAID, m.PlayerBID} {
			if lost[id] > 1 || lost[id] == 1 && l.result.State.Round-m.RoundID >= 4 {
				problems = append(problems, fmt.Sprintf("%s plays in %s after it was eliminated", id, m.MatchID))
			}
			if m.Status != league.StatusDraw && m.Winner() != id {
				lost[id]++
			}
		}
	}
	champion, last := l.result.State.Champion().PlayerID, matches[len(matches)-1]
	doubleLoss := slices.ContainsFunc(matches, func(m record.Match) bool {
		return m.RoundID >= last.RoundID-3 && len(losers(m)) == 2
	})
	if lost[champion] > 0 && !doubleLoss {
		problems = append(problems, champion+" is the champion, and lost a match")
	}
	return problems
}

// tableOfResults recomputes the table.
func tableOfResults(l *playedLeague) (problems []string) {
	rows := map[string]*league.Standing{}
	row := func(id string) *league.Standing {
		if rows[id] == nil {
			rows[id] = &league.Standing{}
		}
		return rows[id]
	}
	s := league.DefaultScoring()
	agents := l.result.State.Agents
	for _, m := range matchesOf(l.result) {
		if agents[m.PlayerAID].Annulled || agents[m.PlayerBID].Annulled {
			continue
		}
		for _, id := range []string{m.PlayerAID, m.PlayerBID} {
			r := row(id)
			r.Played++
			switch {
			case m.Status == league.StatusDraw:
				r.Draws++
				r.Points += s.Draw
			case m.Winner() == id:
				r.Wins++
				r.Points += s.Win
			case m.Status == league.StatusTechnicalLoss:
				r.Losses++
				r.TechnicalLosses++
				r.Points += s.TechnicalLoss
			default:
				r.Losses++
				r.Points += s.Loss
			}
		}
	}
	if l.options.Tournament.IsSwiss() {
		swissScores(l, row)
	}
	for _, got := range l.result.Players {
		want := *row(got.PlayerID)
		want.Player, want.Rank, want.PlayerID, want.DisplayName, want.Strategy = got.Player, got.Rank, got.PlayerID, got.DisplayName, got.Strategy
		want.ShownName, want.Withdrawn, want.Annulled = got.ShownName, got.Withdrawn, got.Annulled
		want.Tied, want.DecidedBy, want.ByPoints, want.Fallbacks = got.Tied, got.DecidedBy, got.ByPoints, got.Fallbacks
		want.TiebreakValues = got.TiebreakValues
		if l.organiser.withdrew() { // then opponents are missing
			want.Buchholz, want.SonnebornBerger = got.Buchholz, got.SonnebornBerger
		}
		if !reflect.DeepEqual(got, want) {
			problems = append(problems, fmt.Sprintf("%s: %+v in the table, by the results %+v", got.PlayerID, got, want))
		}
		if got.Wins+got.Draws+got.Losses != got.Played {
			problems = append(problems, got.PlayerID+": won, drawn and lost matches are not those it played")
		}
	}
	return problems
}

// swissScores adds the byes, the points that they give, and the scores of the opponents. A match that neither player
// began, and a bye, count against a dummy.
func swissScores(l *playedLeague, row func(id string) *league.Standing) {
	points, most := league.DefaultScoring().Win, league.DefaultScoring().Win*l.result.State.Round/2
	for _, r := range l.result.Players {
		s := row(r.PlayerID)
		byes := 0
		for _, round := range l.result.State.Rounds {
			if i, _ := l.result.State.PlayerIndex(r.PlayerID); slices.Contains(round.Byes, i) {
				byes++
			}
		}
		s.Byes, s.Buchholz, s.SonnebornBerger = &byes, new(int), new(float64)
		s.Points += byes * points
	}
	for _, r := range l.result.Players {
		s := row(r.PlayerID)
		*s.Buchholz = *s.Byes * min(s.Points, most)
		*s.SonnebornBerger = float64(*s.Buchholz)
	}
	for _, m := range matchesOf(l.result) {
		for _, pair := range [][2]string{{m.PlayerAID, m.PlayerBID}, {m.PlayerBID, m.PlayerAID}} {
			s, score := row(pair[0]), row(pair[1]).Points
			if m.Status == league.StatusTechnicalLoss && m.LastMoves()[0] == "" && m.LastMoves()[1] == "" {
				score = min(score, s.Points)
			}
			*s.Buchholz += score
			switch {
			case m.Winner() == pair[0]:
				*s.SonnebornBerger += float64(score)
			case m.Status == league.StatusDraw:
				*s.SonnebornBerger += float64(score) / 2
			}
		}
	}
}

// losers returns the players that lost a match technically.
func losers(m record.Match) []string {
	var ids []string
	for _, id := range []string{m.PlayerAID, m.PlayerBID} {
		if m.Status == league.StatusTechnicalLoss && m.Winner() != id {
			ids = append(ids, id)
		}
	}
	return ids
}

// onlyFaultyPlayersLose checks that a player with a technical loss had a fault in that
// match, or was suspended for earlier failures. Failures of annulled results suspend as well, and an organiser.
func onlyFaultyPlayersLose(l *playedLeague) (problems []string) {
	lost := map[string]int{}
	for _, m := range matchesOf(l.result) {
		for _, id := range losers(m) {
			fault := slices.ContainsFunc(l.injected[[2]string{m.MatchID, id}], func(f string) bool { return f != faults.Doubled.String() })
			if !fault && !suspended(m, lost[id]) && m.Ruled == nil && (m.RefereeID != "" || !l.organiser.acted()) {
				problems = append(problems, fmt.Sprintf("%s lost %s technically, and nothing was wrong with it: %s", id, m.MatchID, m.Reason))
			}
			lost[id]++
		}
	}
	return problems
}

// suspended tells whether a player was suspended before a match: it has failed often,
// and no referee conducted the match.
func suspended(m record.Match, before int) bool { return m.RefereeID == "" && before >= 3 }

// lossesFollowFromFaults computes the failing players of each match and their failures
// from the plan alone, and compares them with the results.
func lossesFollowFromFaults(l *playedLeague) (problems []string) {
	plan, err := faults.Parse(l.options.Faults)
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range matchesOf(l.result) {
		if m.RefereeID == "" || m.Ruled != nil {
			continue // a forfeit or a ruling: the players were not asked
		}
		want := map[string]string{}
		ask := func(method string) {
			for _, id := range []string{m.PlayerAID, m.PlayerBID} {
				if code, failed := failure(plan, l.options.Seed, m, id, method); failed {
					want[id] = code
				}
			}
		}
		ask(protocol.Invite.Name)
		switch game, _ := l.options.Games.Game(l.options.GameType); {
		case len(want) > 0:
		case game.MaxTurns() > 1 && l.options.Plain(): // a plain report has no moves
			continue
		case game.MaxTurns() > 1:
			report := l.result.State.Match(leagueMatch(m.MatchID)).Report
			problems = append(problems, failuresInTurn(l, plan, m, report)...)
			continue
		case l.options.GameType == evenodd.Type:
			ask(protocol.ChooseParity.Name)
		default:
			ask(protocol.MakeMove.Name)
		}
		got := map[string]string{}
		for _, id := range losers(m) {
			if !forgetful(l, plan, m, id) {
				got[id], _ = m.Faults.Get(id)
			}
		}
		if l.options.Plain() { // a plain report has no codes
			for id := range want {
				want[id] = ""
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) { // fmt sorts the keys of maps
			problems = append(problems, fmt.Sprintf("%s: lost %v, by the plan %v", m.MatchID, got, want))
		}
	}
	return problems
}

// failure returns the failure of a player after all retries; "" for none.
func failure(plan *faults.Plan, seed uint64, m record.Match, id, method string) (code string, failed bool) {
	switch {
	case faults.Active(plan.Crash, id, m.RoundID):
		return string(protocol.ErrConnection), true
	case faults.Active(plan.Hang, id, m.RoundID):
		return string(protocol.ErrTimeout), true
	}
	code, _, failed = asked(plan, seed, m, id, method, 0)
	return code, failed || method == protocol.Invite.Name && faults.Active(plan.Deny, id, m.RoundID)
}

// asked returns the failure of one question to a player. Tries counts the call attempts
// of this method, before and after the question.
func asked(plan *faults.Plan, seed uint64, m record.Match, id, method string, tries int) (
	code string, after int, failed bool,
) {
	for range 1 + protocol.DefaultRetryPolicy().MaxRetries {
		try := tries
		tries++
		switch fate := plan.FaultOf(seed, faults.Message{Caller: "referee", Receiver: id, Method: method, About: m.MatchID, Repetition: try}); fate {
		case faults.LostRequest, faults.LostAnswer, faults.Late:
			code = string(protocol.ErrTimeout)
		case faults.Garbled:
			code = string(protocol.ErrConnection)
		default:
			return "", tries, false
		}
	}
	return code, tries, true
}

// forgetful tells whether a player has lost a rematch because it refused to sign. A crash may have taken the decisions
// that it had signed before, and no result told it that they are of an earlier attempt: see isAnew in package player.
func forgetful(l *playedLeague, plan *faults.Plan, m record.Match, id string) bool {
	code, _ := m.Faults.Get(id)
	return l.result.Disk != nil && len(m.Annulled) > 0 && code == string(protocol.ErrInvalidFieldType) &&
		slices.Contains(losers(m), id) && plan.FaultOf(l.options.Seed, faults.Message{
		Caller: "referee", Receiver: id, Method: protocol.NotifyMatchResult.Name, About: m.MatchID,
	}) == faults.LostRequest
}

func leagueMatch(matchID string) league.MatchID {
	id, _ := league.ParseMatchID(matchID)
	return id
}

// failuresInTurn checks, in a match of several turns, that by the plan each player answers the questions whose answers
// the report has, and that one that loses technically does not answer the next.
func failuresInTurn(l *playedLeague, plan *faults.Plan, m record.Match, r *journal.MatchReported) (problems []string) {
	lost := losers(m)
	for _, id := range []string{m.PlayerAID, m.PlayerBID} {
		tries, code, failed := 0, "", false
		ask := func() { code, tries, failed = asked(plan, l.options.Seed, m, id, protocol.MakeMove.Name, tries) }
		number := 0
		for _, move := range r.Evidence.Moves {
			if move.PlayerID != id {
				continue
			}
			if number++; !failed {
				ask()
			}
		}
		if failed {
			problems = append(problems, fmt.Sprintf("%s: %s made %d moves, by the plan it fails before", m.MatchID, id, number))
			continue
		}
		if !slices.Contains(lost, id) || forgetful(l, plan, m, id) {
			continue
		}
		if ask(); !failed {
			problems = append(problems, fmt.Sprintf("%s: %s lost after %d moves, by the plan it makes more", m.MatchID, id, number))
		} else if got, _ := m.Faults.Get(id); got != code {
			problems = append(problems, fmt.Sprintf("%s: %s lost by %s, by the plan by %s", m.MatchID, id, got, code))
		}
	}
	return problems
}

// auditFindsNothing checks that the audit of the files has no findings.
func auditFindsNothing(l *playedLeague) (problems []string) {
	for _, audited := range l.report.Leagues {
		for _, f := range audited.Findings {
			problems = append(problems, f.String())
		}
	}
	return problems
}

// noDisputes checks that this program's referees report one result for each match, that its
// players conform to the protocol, and that a player denies only a match of which each message to
// it was lost.
func noDisputes(l *playedLeague) (problems []string) {
	plan, err := faults.Parse(l.options.Faults)
	if err != nil {
		return []string{err.Error()}
	}
	for _, audited := range l.report.Leagues {
		for _, f := range audited.Notes {
			var right bool
			switch {
			case f.Rule == audit.RuleConformance:
			case f.Rule != audit.RuleDispute:
				right = true
			case strings.HasPrefix(f.AgentID, "P"):
				right = !reached(plan, l.options.Seed, f.MatchID, f.AgentID)
			default:
				right = mayBeRefused(l, f)
			}
			if !right {
				problems = append(problems, f.String())
			}
		}
	}
	return problems
}

// mayBeRefused tells whether the manager may have refused the report of a match: the organiser ruled or annulled the
// match, or it was the first report that both players failed, although both answer the manager, and each later one said
// the same. The journal has no second result.
func mayBeRefused(l *playedLeague, f audit.Finding) bool {
	m := l.result.State.Match(leagueMatch(f.MatchID))
	if m.Ruled != nil || len(m.Annulled) > 0 {
		return true
	}
	doubted := func(lost journal.AttemptLost) bool {
		return lost.Cause == journal.CauseBothAnswer && lost.Report.Status == m.Report.Status &&
			m.Report.WinnerPlayerID == nil
	}
	if l.result.Disk != nil && len(m.Disputed) == 0 {
		// After a crash another referee, or the same one again, may report it, and the manager has yet to ping the players.
		return slices.ContainsFunc(m.Attempts, func(a journal.Attempt) bool { return a.Referee != f.AgentID }) ||
			sameResult(l, f, m.Report)
	}
	return strings.Contains(f.File, "/matches/") && slices.ContainsFunc(m.LostAttempts, doubted)
}

// sameResult tells whether the file of an attempt has the result that counts.
func sameResult(l *playedLeague, f audit.Finding, counts *journal.MatchReported) bool {
	folder := l.result.Folder()
	doc, err := store.Read[store.Match](folder.Disk, filepath.Join(folder.Path, filepath.FromSlash(f.File)))
	if err != nil || doc.Result == nil {
		return false
	}
	want := counts.Result
	if got := doc.Result; l.options.Plain() { // a plain report lacks these
		want.Reason, want.Faults, want.Fallbacks = got.Reason, got.Faults, got.Fallbacks
	}
	return reflect.DeepEqual(doc.Result.Result, want)
}

// decisionsRecorded checks that the journal has each decision that the manager confirmed, at the place that it named.
func decisionsRecorded(l *playedLeague) (problems []string) {
	noted := map[int]bool{}
	for _, f := range l.report.Leagues[0].Notes {
		if f.Rule == audit.RuleDecision {
			noted[f.Line] = true
		}
	}
	for i, made := range l.organiser.made {
		if !noted[made.Event] {
			problems = append(problems, fmt.Sprintf("decision %d, %s: event %d is not it", i+1, made.About, made.Event))
		}
	}
	return problems
}

// reached tells whether an invitation to a match reaches a player.
func reached(plan *faults.Plan, seed uint64, matchID, id string) bool {
	for try := range 1 + protocol.DefaultRetryPolicy().MaxRetries {
		m := faults.Message{Caller: "referee", Receiver: id, Method: protocol.Invite.Name, About: matchID, Repetition: try}
		if plan.FaultOf(seed, m) != faults.LostRequest {
			return true
		}
	}
	return false
}
