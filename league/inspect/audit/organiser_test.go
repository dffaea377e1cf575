package audit_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules/evenodd"
)

// order records the command of an organiser.
func (w *savedLeague) order(name, about, winner string) {
	w.t.Helper()
	c := protocol.OrganiseRequest{Command: name, By: "A. Smith", Reason: "as agreed", AgentID: about, MatchID: about, Winner: winner}
	d, err := decide.Decision(w.state, &c)
	require.NoError(w.t, err)
	w.record(d)
}

// next plays the next round. Matches of absent players are forfeited. The first match is
// ruled while it runs if winner is not "".
func (w *savedLeague) next(winner string) {
	round := w.state.Round + 1
	pairs := w.state.Pairings(round)
	w.record(&journal.RoundAnnounced{RoundID: round, Referees: decide.ChooseReferees(w.state, round)})
	for i, p := range pairs {
		id := league.MatchID{Round: round, Number: i + 1}
		f, err := decide.Forfeit(w.state, id)
		require.NoError(w.t, err)
		switch {
		case f != nil:
			w.record(f)
			w.managersFile(id)
		case i == 0 && winner != "":
			at := league.Attempt{MatchID: id, Number: 1}
			w.record(&journal.MatchAssigned{Attempt: at, RefereeID: "REF01"})
			w.record(&journal.MatchAccepted{Attempt: at, RefereeID: "REF01", DrawCommitment: secretOf("draw").Hex()})
			w.rule(id, winner)
		default:
			w.match(id, playerIDs[p.A], playerIDs[p.B])
		}
	}
	w.record(&journal.RoundCompleted{RoundID: round, Summary: w.state.Summary(round)})
}

func (w *savedLeague) rule(id league.MatchID, winner string) {
	w.order("rule", id.String(), winner)
	w.managersFile(id)
}

// rematch plays the next ordered rematch.
func (w *savedLeague) rematch() {
	d := decide.Reopen(w.state)
	w.record(d)
	_, idA, idB, _ := w.state.Find(d.MatchID)
	w.match(d.MatchID, idA, idB)
}

// managersFile writes the file of a match whose result no referee reported.
func (w *savedLeague) managersFile(id league.MatchID) {
	m, idA, idB, _ := w.state.Find(id)
	doc := managersDocument(id, idA, idB)
	doc.Result = &protocol.MatchResult{Result: m.Report.Result, Score: m.Report.Score}
	require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, id.String()), doc))
}

// managersDocument is such a file without its result.
func managersDocument(id league.MatchID, idA, idB string) *store.Match {
	return &store.Match{
		Header: store.NewHeader("2026-01-01T00:00:00Z"), LeagueID: leagueID, RoundID: id.Round, MatchID: id.String(),
		GameType: evenodd.Type, WrittenBy: store.WrittenByManager, Transcript: []store.Exchange{},
		PlayerA:   store.MatchPlayer{PlayerID: idA, DisplayName: "Player " + idA},
		PlayerB:   store.MatchPlayer{PlayerID: idB, DisplayName: "Player " + idB},
		Lifecycle: store.Lifecycle{State: protocol.StateAcknowledged, States: lifecycle(protocol.StateAcknowledged)},
		Scoring:   league.MatchPoints{Win: 3, Draw: 1},
	}
}

// decidedLeague is a completed league with each kind of decision. R1M1 has two annulled
// results, each with its file.
func decidedLeague(t *testing.T) *savedLeague {
	t.Helper()
	w := startLeague(t)
	w.order("pause", "", "")
	w.order("resume", "", "")
	w.next("")
	w.order("withdraw", "P04", "")
	w.order("rematch", "R1M1", "")
	w.rematch()
	w.next("P01")
	w.rule(league.MatchID{Round: 1, Number: 1}, "P02")
	w.order("suspend", "P03", "")
	w.next("")
	w.order("readmit", "P03", "")
	w.order("rematch", "R3M2", "")
	w.rematch()
	w.complete()
	w.documents()
	w.writeDocs()
	return w
}

// writeDocs writes the files of all attempts.
func (w *savedLeague) writeDocs() {
	for _, d := range w.docs {
		if r := w.state.Match(matchIDOf(d.MatchID)).Report; r != nil && r.Number == d.Attempt {
			require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, d.MatchID), d))
		} else {
			require.NoError(w.t, store.WriteMatch(w.dir.Disk, w.dir.Attempt(leagueID, d.MatchID, d.Attempt), d))
		}
	}
}

func matchIDOf(text string) league.MatchID {
	id, _ := league.ParseMatchID(text)
	return id
}

func TestAuditNotesEachDecision(t *testing.T) {
	w := decidedLeague(t)
	l := w.audit()
	assert.Empty(t, listed(l.Findings))
	var decisions, others []string
	for _, n := range l.Notes {
		if n.Rule == audit.RuleDecision {
			decisions = append(decisions, n.Detail)
			assert.Contains(t, w.lines()[n.Line-1], "A. Smith", n.Detail)
			assert.Contains(t, n.Detail, n.MatchID+n.AgentID)
		} else {
			others = append(others, n.String())
		}
	}
	assert.Equal(t, []string{
		"the league paused by A. Smith: as agreed",
		"the league resumed by A. Smith: as agreed",
		"P04 withdrawn by A. Smith: as agreed; its results are annulled",
		"a rematch of R1M1 ordered by A. Smith: as agreed",
		"the result of R1M1 annulled for the rematch ordered by A. Smith: as agreed",
		"R2M1 ruled a win of P01 by A. Smith: as agreed",
		"R1M1 ruled a win of P02 by A. Smith: as agreed",
		"P03 suspended by A. Smith: as agreed",
		"P03 readmitted by A. Smith: as agreed",
		"a rematch of R3M2 ordered by A. Smith: as agreed",
		"the result of R3M2 annulled for the rematch ordered by A. Smith: as agreed",
	}, decisions)
	require.Len(t, others, 1)
	assert.Contains(t, others[0], "attempt 1 at R2M1 by REF01 was given up after the referee had committed to its draw")
}

// smith is the decision of the events in these tests.
var smith = journal.Decision{By: "A. Smith", Reason: "as agreed"}

func matchID(round int) league.MatchID { return league.MatchID{Round: round, Number: 1} }

func (s events) again(round, attempt int) events {
	return s.and(assigned(round, attempt, "REF01"), reported(round, attempt, "E004"))
}

// Each finding is about the last event of its case.
func TestDecisionsFollowTheRules(t *testing.T) {
	paused, held := &journal.Decided{Command: protocol.CommandPause, Decision: smith}, &journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "P02"}
	withdrawn := func(annulled bool) journal.Data {
		return &journal.Decided{Command: protocol.CommandWithdraw, Decision: smith, AgentID: "P02", Annulled: annulled}
	}
	rematch := func(round int) journal.Data {
		return &journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: matchID(round)}
	}
	reopened := func(round int) journal.Data {
		return &journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: matchID(round)}
	}
	start, once := begun(3, 6), begun(3, 6).lost(1, "E004")
	half := once
	for round := 2; round <= 5; round++ {
		half = half.lost(round, "E004")
	}
	auditEvents(t, []auditedEvents{
		{"a running match finishes during a pause", start.announced(1).and(paused).played(1, "E004").completed(1), ""},
		{"a suspended player that registers again still forfeits", start.and(held).returned("P02").announced(1).forfeited(1).completed(1), ""},
		{"a match finishes that runs when its player is suspended", start.announced(1).
			and(assigned(1, 1, "REF01"), held, reported(1, 1, "E004")).completed(1), ""},
		{"a match is forfeited whose player is suspended after an attempt",
			start.announced(1).and(assigned(1, 1, "REF02"), held).forfeited(1).completed(1), ""},
		{"a player that was shut down is readmitted", begun(-1, 2).lost(1, "E001").lost(2, "E001").shutdown("P02").and(&journal.Decided{Command: protocol.CommandReadmit, Decision: smith, AgentID: "P02"}).lost(3, "E004"), ""},
		{"a player is withdrawn before half of its matches", once.and(withdrawn(true)).announced(2).forfeited(2).completed(2), ""},
		{"a player is withdrawn after half of its matches", half.and(withdrawn(false)).announced(6).forfeited(6).completed(6), ""},
		{"a rematch is forfeited", once.and(rematch(1), reopened(1), held).forfeited(1).announced(2), ""},

		{"a round is announced during a pause", start.and(paused).announced(1), audit.RuleRounds},
		{"a suspended player gets a match",
			start.and(held).announced(1).and(assigned(1, 1, "REF01")), audit.RuleLifecycle},
		{"a match is forfeited by a player that is not suspended", start.announced(1).forfeited(1), audit.RuleLifecycle},
		{"a match is forfeited by a player that was readmitted", start.and(held, &journal.Decided{Command: protocol.CommandReadmit, Decision: smith, AgentID: "P02"}).announced(1).forfeited(1), audit.RuleLifecycle},
		{"a round is given to a suspended referee", start.and(&journal.Decided{Command: protocol.CommandSuspend, Decision: smith, AgentID: "REF01"}).announced(1), audit.RuleLifecycle},
		{"a withdrawal before half of the matches annuls nothing", once.and(withdrawn(false)), audit.RuleDecision},
		{"a withdrawn player returns", once.and(withdrawn(true)).returned("P02"), audit.RuleLifecycle},
		{"a rematch that nobody ordered", once.and(reopened(1)), audit.RuleDecision},
		{"a rematch in the name of another organiser", once.and(rematch(1), &journal.Decided{Command: journal.CommandReopen, Decision: journal.Decision{By: "B. Jones"}, MatchID: matchID(1)}), audit.RuleDecision},
		{"a round begins before an ordered rematch", once.and(rematch(1)).announced(2), audit.RuleRounds},
		{"a rematch begins in an open round", once.announced(2).and(rematch(1), reopened(1)), audit.RuleDecision},
		{"a rematch begins during a pause", once.and(rematch(1), paused, reopened(1)), audit.RuleDecision},
		{"a round begins before the rematch has a result", once.and(rematch(1), reopened(1)).announced(2), audit.RuleRounds},
		{"the result of an annulled attempt counts again", once.and(rematch(1), reopened(1),
			assigned(1, 2, "REF01"), reported(1, 1, "E004")), audit.RuleOneResult},
		{"a second result without a rematch", once.again(1, 2), audit.RuleOneResult},
		{"a result after a ruling", once.announced(2).and(&journal.Decided{Command: protocol.CommandRule, Decision: smith, MatchID: matchID(2), Winner: protocol.WinnerDraw}).played(2, "E004"), audit.RuleOneResult},
	})
}

// loadDecided returns functions that load a copy of decidedLeague.
func loadDecided(t *testing.T) func(t *testing.T) *savedLeague {
	t.Helper()
	files := snapshot(t, decidedLeague(t).dir)
	return func(t *testing.T) *savedLeague {
		t.Helper()
		return restored(t, files)
	}
}

// A forger changes files of a league with decisions. The chain of the journal is valid again
// after it.
func TestForgedDecisionsAreFound(t *testing.T) {
	load := loadDecided(t)
	honest := load(t)
	honest.rechain(honest.lines())
	require.Empty(t, listed(honest.audit().Findings), "a new chain alone is no forgery")
	agentsFile, annulledFile := "data/leagues/cup/agents.json", "data/matches/cup/R1M1-a1.json"
	for _, tt := range []struct {
		name    string
		file    string
		pattern string // is replaced by
		by      string
		rule    string // of the first finding
		where   string // file of the first finding
	}{
		{"the withdrawal hides that it annuls", journalFile, `"annulled":true`, `"annulled":false`, audit.RuleDecision, journalFile},
		{"another author", journalFile, `"by":"A. Smith","reason":"as agreed","match_id":"R2M1"`, `"by":"B. Jones","reason":"as agreed","match_id":"R2M1"`, audit.RuleRounds, roundsFile},
		{"another winner of a ruling", journalFile, `"match_id":"R2M1","winner":"P01"`, `"match_id":"R2M1","winner":"P03"`, audit.RuleStandings, ""},
		{"another choice in an annulled attempt", annulledFile, `"parity_choice":"even"`, `"parity_choice":"odd"`, audit.RuleTranscript, annulledFile},
		{"another result of an annulled attempt", annulledFile, `("result":\{[^{]*"drawn_number":)\d+`, `${1}11`, audit.RuleMatchFile, annulledFile},
		{"the ruled match names a referee", "data/matches/cup/R2M1.json", `"written_by": "manager"`, `"written_by": "referee"`, audit.RuleMatchFile, "data/matches/cup/R2M1.json"},
		{"another winner in the file of a ruled match", "data/matches/cup/R2M1.json", `"winner_player_id": "P01"`, `"winner_player_id": "P03"`, audit.RuleMatchFile, "data/matches/cup/R2M1.json"},
		{"the standings hide the withdrawal", standingsFile, `"withdrawn": true,`, ``, audit.RuleStandings, standingsFile},
		{"the standings hide that results are annulled", standingsFile, `"annulled": true,`, ``, audit.RuleStandings, standingsFile},
		{"the withdrawn player is active", agentsFile, `"SHUTDOWN"`, `"ACTIVE"`, audit.RuleAgents, agentsFile},
		{"another organiser ruled", roundsFile, `"ruled_by": "A. Smith"`, `"ruled_by": "B. Jones"`, audit.RuleRounds, roundsFile},
		{"a result was not annulled", roundsFile, `"annulled_results": 2`, `"annulled_results": 3`, audit.RuleRounds, roundsFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := load(t)
			w.edit(tt.file, tt.pattern, tt.by)
			w.rechain(w.lines())
			findings := w.audit().Findings
			require.NotEmpty(t, findings)
			assert.Contains(t, listed(findings), tt.rule)
			if tt.where != "" {
				assert.Equal(t, []string{tt.rule, tt.where}, []string{findings[0].Rule, findings[0].File}, listed(findings))
			}
		})
	}
}

// notes are the notes of an audit without those that name a decision.
func (w *savedLeague) notes() string {
	l := w.audit()
	require.Empty(w.t, listed(l.Findings))
	return listed(slices.DeleteFunc(l.Notes, func(n audit.Finding) bool { return n.Rule == audit.RuleDecision }))
}

// The manager writes some files without sync, so that a crash can leave them as they were
// before a decision.
func TestFilesFromBeforeADecisionAreNoted(t *testing.T) {
	load := loadDecided(t)
	t.Run("match file", func(t *testing.T) {
		w := load(t)
		first := decidedLeague(t).docs[0]
		require.Equal(t, []any{"R1M1", 1}, []any{first.MatchID, first.Attempt})
		require.NoError(t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, "R1M1"), first))
		assert.Contains(t, w.notes(), "it has a result of R1M1 that an organiser has annulled since")
	})
	t.Run("rounds.json", func(t *testing.T) {
		w := load(t)
		rounds, err := store.Read[store.Rounds](w.dir.Disk, w.dir.Rounds(leagueID))
		require.NoError(t, err)
		lines := w.lines()
		rounds.Rounds, rounds.JournalHead = rounds.Rounds[:1], journal.Hash([]byte(lines[indexOf(lines, `"type":"round_completed"`)]))
		m := &rounds.Rounds[0].Matches[0]
		m.RefereeID, m.Attempt, m.RuledBy, m.AnnulledResults = "REF01", 1, "", 0
		report := decidedLeague(t).state.Match(matchID(1)).Annulled[0].Report
		m.Status, m.WinnerPlayerID = report.Status, report.WinnerPlayerID
		require.NoError(t, store.WriteDerived(w.dir.Disk, w.dir.Rounds(leagueID), rounds))
		assert.Contains(t, w.notes(), "note: rounds: it is older than the journal: ")
		m.Attempt = 3
		require.NoError(t, store.WriteDerived(w.dir.Disk, w.dir.Rounds(leagueID), rounds))
		assert.NotEmpty(t, w.audit().Findings, "the match was never so")
	})
}

// The manager writes the file of a ruled match at the end of the round.
func TestMatchFileWithTheReasonOfAnEarlierRulingIsNoted(t *testing.T) {
	w := startLeague(t)
	w.next("")
	w.rule(matchID(1), "P01")
	w.order("rule", "R1M1", "P02")
	again, err := decide.Decision(w.state, &protocol.OrganiseRequest{Command: "rule", By: "A. Smith", Reason: "for another reason", MatchID: "R1M1", Winner: "P01"})
	require.NoError(t, err)
	w.record(again)
	w.documents()
	w.writeDocs()
	assert.Contains(t, w.notes(), "it has a result of R1M1 that an organiser has annulled since")
	w.edit("data/matches/cup/R1M1.json", "ruled by A. Smith: as agreed", "ruled by A. Smith: for no reason")
	assert.Contains(t, listed(w.audit().Findings), `by the journal it is "ruled by A. Smith: for another reason"`)
}

// A player that gets no GAME_OVER of the rematch of a forfeited match remembers the forfeit.
func TestHistoryOfAForfeitBeforeARematch(t *testing.T) {
	w := decidedLeague(t)
	m, idA, idB, _ := w.state.Find(league.MatchID{Round: 3, Number: 2})
	require.Equal(t, []string{"P03"}, m.Annulled[0].Forfeited)
	winner := *m.Annulled[0].Report.WinnerPlayerID
	w.remember(m.Annulled[0].Report, winner, map[string]string{idA: idB, idB: idA}[winner])
	w.setHistory(w.histories[winner])
	assert.NotContains(t, w.notes(), "never assigned")
}

// A player infers a missing result from the standings, which a ruling changes as well.
func TestWrongInferenceFromChangedStandingsIsNoted(t *testing.T) {
	infer := func(w *savedLeague) {
		h := w.history("P01")
		m := &h.Matches[len(h.Matches)-1]
		m.Result = map[string]string{"WIN": "LOSS", "LOSS": "WIN", "DRAW": "WIN"}[strings.TrimPrefix(m.Result, "TECHNICAL_")]
		m.FromStandings, m.OpponentChoice, m.DrawnNumber, m.DrawCommitment, m.Entropy = true, "", 0, "", ""
		w.setHistory(h)
	}
	w := decidedLeague(t)
	infer(w)
	assert.Contains(t, w.notes(), "the player inferred it from standings that an organiser has changed")
	for name, decided := range map[string]bool{"no decision": false, "a readmission, which changes no result": true} {
		w = newSavedLeague(t, 3)
		if decided {
			for _, command := range []string{"readmit", "suspend"} { // the last one comes first
				w.insertAfter("match_reported", "R1M1",
					`"type":"decided","data":{"command":"`+command+`","by":"A. Smith","agent_id":"P02"}`)
			}
		}
		infer(w)
		findings := w.audit().Findings
		assert.True(t, slices.ContainsFunc(findings, func(f audit.Finding) bool { return f.Rule == audit.RuleHistory }), name)
	}
}

func TestHistoryOfAnAnnulledAttempt(t *testing.T) {
	w := decidedLeague(t)
	first := w.state.Match(matchID(1)).Annulled[0].Report
	h := w.histories["P01"]
	w.remember(first, "P01", "P02")
	w.setHistory(h)
	assert.NotContains(t, w.notes(), audit.RuleHistory, "the player remembers the annulled attempt as it was")
	h.Matches[len(h.Matches)-1].OpponentChoice = "none"
	w.setHistory(h)
	assert.Contains(t, listed(w.audit().Findings), "R1M1 of P01: opponent_choice is \"none\"")

	forged := h.Matches[len(h.Matches)-1]
	w.remember(w.state.Match(matchID(1)).Annulled[1].Report, "P01", "P02")
	h.Matches = slices.Insert(h.Matches, len(h.Matches)-1, forged) // its later line replaces the forged one
	w.setHistory(h)
	require.Len(t, w.history("P01").Earlier, 1)
	assert.Contains(t, listed(w.audit().Findings), "R1M1 of P01: opponent_choice is \"none\"")
}

func TestRematchIsDrawnAnew(t *testing.T) {
	w := startLeague(t)
	w.next("")
	w.order("rematch", "R1M1", "")
	w.record(decide.Reopen(w.state))
	w.sameNonce = true
	w.match(matchID(1), "P01", "P02")
	w.documents()
	w.writeDocs()
	findings := w.audit().Findings
	require.NotEmpty(t, findings)
	assert.Contains(t, listed(findings), "the nonce of R1M1 after 1 annulled result is that of R1M1")
}

func TestQuestionOfARematchShowsTheStandingsOfItsTime(t *testing.T) {
	w := decidedLeague(t)
	second := slices.IndexFunc(w.docs, func(d *store.Match) bool { return d.MatchID == "R1M1" && d.Attempt == 2 })
	rematch := w.docs[second]
	for i := range rematch.Transcript {
		x := &rematch.Transcript[i]
		x.Message = []byte(strings.ReplaceAll(string(x.Message), `"points":0`, `"points":9`))
	}
	w.writeDocs()
	assert.Contains(t, listed(w.audit().Findings), "your_standings")
}

func TestRemovedDecisionIsFound(t *testing.T) {
	load := loadDecided(t)
	removed := 0
	for i, line := range load(t).lines() {
		if !strings.Contains(line, `"by":"A. Smith"`) {
			continue
		}
		removed++
		w := load(t)
		w.rechain(slices.Delete(w.lines(), i, i+1))
		assert.NotEmpty(t, w.audit().Findings, line)
	}
	assert.Equal(t, 11, removed)
}
