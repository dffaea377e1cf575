package simulation_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
)

// Each check must detect the change that a test makes to a valid league.
func TestSwarmChecksDetectDoctoredLeagues(t *testing.T) {
	victim := func(l *swarmLeague) *league.MatchRecord { // a match with a technical loss of one player
		i := slices.IndexFunc(l.result.Results, func(m league.MatchRecord) bool { return len(losers(m)) == 1 })
		return &l.result.Results[i]
	}
	honest := func(l *swarmLeague) *league.MatchRecord { // a match without faults
		i := slices.IndexFunc(l.result.Results, func(m league.MatchRecord) bool {
			return m.Status != protocol.StatusTechnicalLoss && l.injected[[2]string{m.MatchID, m.PlayerA}] == nil
		})
		return &l.result.Results[i]
	}
	const table = "the table is that of the results"
	tests := []struct {
		name     string
		doctor   func(l *swarmLeague)
		detected []string
	}{
		{"nothing", func(*swarmLeague) {}, nil},
		{"time passes", func(l *swarmLeague) { l.took = 5 * time.Second }, []string{"no time passes"}},
		{"a result is counted twice", func(l *swarmLeague) {
			l.result.Results = append(l.result.Results, *honest(l))
		}, []string{"one result a match", table}},
		{"a result is missing", func(l *swarmLeague) {
			l.result.Results = l.result.Results[1:]
		}, []string{"one result a match", table}},
		{"a pair meets twice and replaces another pair", func(l *swarmLeague) {
			l.result.Results[0].PlayerA, l.result.Results[0].PlayerB = l.result.Results[1].PlayerA, l.result.Results[1].PlayerB
		}, []string{"one result a match", table}},
		{"one point too many", func(l *swarmLeague) {
			l.result.Standings[0].Points++
		}, []string{table}},
		{"a win counted as a draw", func(l *swarmLeague) {
			l.result.Standings[0].Wins--
			l.result.Standings[0].Draws++
		}, []string{table}},
		{"a technical loss counted as an ordinary loss", func(l *swarmLeague) {
			i := slices.IndexFunc(l.result.Standings, func(s simulation.Standing) bool { return s.TechnicalLosses > 0 })
			l.result.Standings[i].TechnicalLosses--
		}, []string{table}},
		{"a player without a fault loses", func(l *swarmLeague) {
			m := honest(l)
			m.Status, m.Winner, m.Faults = protocol.StatusTechnicalLoss, m.PlayerB, protocol.PerPlayer[string]{{Name: m.PlayerA, Value: "E001"}}
		}, []string{table, "only faulty players lose", "a player loses by its own failure"}},
		{"a player loses by a repeated message", func(l *swarmLeague) {
			m := honest(l)
			m.Status, m.Winner = protocol.StatusTechnicalLoss, m.PlayerB
			l.injected[[2]string{m.MatchID, m.PlayerA}] = []string{"doubled"}
		}, []string{table, "only faulty players lose", "a player loses by its own failure"}},
		{"a forfeit of a player without a fault", func(l *swarmLeague) {
			m := honest(l)
			m.Status, m.Winner, m.RefereeID = protocol.StatusTechnicalLoss, m.PlayerB, ""
		}, []string{table, "only faulty players lose"}},
		{"a player that failed does not lose", func(l *swarmLeague) {
			m := victim(l)
			m.Status, m.Faults = protocol.StatusWin, nil
		}, []string{table, "a player loses by its own failure"}},
		{"a loss by another failure", func(l *swarmLeague) {
			victim(l).Faults[0].Value = "E004"
		}, []string{"a player loses by its own failure"}},
		{"a finding in the files", func(l *swarmLeague) {
			l.report.Leagues[0].Findings = append(l.report.Leagues[0].Findings, audit.Finding{Rule: audit.RuleDraw})
		}, []string{"the audit has no findings"}},
		{"a second result of a match", func(l *swarmLeague) {
			l.report.Leagues[0].Notes = append(l.report.Leagues[0].Notes, audit.Finding{Rule: audit.RuleDispute})
		}, []string{"no match has two results"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(6)
				o.Faults, o.Legs = "drop=0.5,hang=P02@R3-R4", 1
				l := playStored(t, o, t.TempDir())
				tt.doctor(l)
				var detected []string
				for name, check := range swarmChecks {
					if len(check(l)) > 0 {
						detected = append(detected, name)
					}
				}
				assert.ElementsMatch(t, tt.detected, detected)
			})
		})
	}
}

// The same, for leagues whose pairings depend on results.
func TestSwarmChecksDetectDoctoredTournaments(t *testing.T) {
	const table, matches = "the table is that of the results", "one result a match"
	for _, tt := range []struct {
		name, algorithm string
		doctor          func(l *swarmLeague)
		detected        []string
	}{
		{"nothing", pairing.Swiss, func(*swarmLeague) {}, nil},
		{"nothing", pairing.Knockout, func(*swarmLeague) {}, nil},
		{"a bye without points", pairing.Swiss, func(l *swarmLeague) {
			i := slices.IndexFunc(l.result.Standings, func(s simulation.Standing) bool { return *s.Byes > 0 })
			l.result.Standings[i].Points -= 3
		}, []string{table}},
		{"another Buchholz score", pairing.Swiss, func(l *swarmLeague) { *l.result.Standings[3].Buchholz++ }, []string{table}},
		{"another Sonneborn-Berger score", pairing.Swiss, func(l *swarmLeague) { *l.result.Standings[3].SonnebornBerger += 0.5 }, []string{table}},
		{"a pair meets again", pairing.Swiss, func(l *swarmLeague) {
			first, last := l.result.Results[0], &l.result.Results[len(l.result.Results)-1]
			last.PlayerA, last.PlayerB, last.Winner = first.PlayerA, first.PlayerB, first.Winner
		}, []string{matches, table}},
		{"another champion", pairing.Knockout, func(l *swarmLeague) { l.result.Champion.PlayerID = l.result.Standings[1].PlayerID }, []string{matches}},
	} {
		t.Run(tt.algorithm+", "+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options(9)
				o.Tournament, o.Legs = &journal.Tournament{Algorithm: tt.algorithm}, 1
				l := playStored(t, o, t.TempDir())
				tt.doctor(l)
				var detected []string
				for name, check := range swarmChecks {
					if len(check(l)) > 0 {
						detected = append(detected, name)
					}
				}
				assert.Subset(t, detected, tt.detected)
				assert.Equal(t, len(tt.detected) == 0, len(detected) == 0, detected)
			})
		})
	}
}

// The audit reads the files that the league has written.
func TestSwarmAuditReadsTheFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(4)
		folder := t.TempDir()
		require.Empty(t, auditFindsNothing(playStored(t, o, folder)))
		path := store.Folder(folder).Journal(o.LeagueID)
		text, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"drawn_number":`, `"drawn_number":1`, 1)), 0o600))
		report, err := audit.Run(store.Folder(folder), audit.Options{Games: o.Games})
		require.NoError(t, err)
		assert.NotEmpty(t, auditFindsNothing(&swarmLeague{report: report}))
	})
}

// A manager that is killed at the end of a knockout leaves the largest possible number of
// rounds in rounds.json.
func TestAuditAcceptsRoundsOfAKnockoutBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(4)
		o.Legs, o.Tournament = 1, &journal.Tournament{Algorithm: pairing.Knockout}
		folder := t.TempDir()
		l := playStored(t, o, folder)
		path := store.Folder(folder).Rounds(o.LeagueID)
		text, err := os.ReadFile(filepath.Clean(path))
		require.NoError(t, err)
		for _, tt := range []struct {
			total    int
			findings int
		}{{8, 0}, {l.result.Rounds + 1, 1}, {0, 1}} {
			edited := strings.Replace(string(text), fmt.Sprintf(`"total_rounds": %d`, l.result.Rounds), fmt.Sprintf(`"total_rounds": %d`, tt.total), 1)
			require.NotEqual(t, string(text), edited)
			require.NoError(t, os.WriteFile(path, []byte(edited), 0o600))
			report, err := audit.Run(store.Folder(folder), audit.Options{Games: o.Games})
			require.NoError(t, err)
			assert.Len(t, report.Leagues[0].Findings, tt.findings, "total_rounds %d", tt.total)
		}
	})
}

// The command that plays a league again names all its options.
func TestSwarmLeagueIsReproducible(t *testing.T) {
	o := swarmOptions(7)
	assert.Equal(t, o.Faults, swarmOptions(7).Faults)
	text := again(o)
	assert.Contains(t, text, "-run TestSwarm -seed 7\n")
	assert.Contains(t, text, "evenodd simulate --game even_odd --seed 7 ")
	assert.Contains(t, text, "--faults "+o.Faults)
	first := run(t, o)
	second := run(t, swarmOptions(7))
	assert.Equal(t, withoutReferees(first), withoutReferees(second))
}
