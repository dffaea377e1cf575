package audit_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

const logFile = "data/matches/cup/REF01.wal.jsonl"

// newLoggedLeague is newSavedLeague before the checkpoint of its referee: a log has the matches,
// each until its result and then whole.
func newLoggedLeague(t *testing.T, rounds int) *savedLeague {
	t.Helper()
	w := newSavedLeague(t, rounds)
	paths, err := filepath.Glob(w.path("data/matches/cup/*.json"))
	require.NoError(t, err)
	var docs []*store.Match
	for _, path := range paths {
		doc, err := store.Read[store.Match](path)
		require.NoError(t, err)
		for i := range doc.Transcript {
			_ = doc.Transcript[i].Message.Compact() // as the referee writes it
		}
		docs = append(docs, doc)
	}
	leaguetest.LogWhole(t, w.dir, "REF01", docs)
	return w
}

func TestLogBesideItsFilesHasNoFindings(t *testing.T) {
	for rounds := range 4 {
		l := newLoggedLeague(t, rounds).audit()
		assert.Empty(t, listed(l.Findings))
		assert.Empty(t, listed(l.Notes))
	}
}

// The audit reads the log as the referee does: a crash leaves files missing or incomplete, and
// forgeries and damage are findings.
func TestAuditReadsTheLogOfAReferee(t *testing.T) {
	const ownFile = "data/matches/cup/REF02.wal.jsonl"
	const withR1M1 = `(?m)^[^\n]*"match_id":"R1M1".*\n`
	for _, tt := range []struct {
		name  string
		forge func(w *savedLeague)
		rule  string // of a finding; "" for none
		note  string // the rule of a note; "" for none
		file  string
	}{
		{"a missing match file", func(w *savedLeague) { w.remove(r1m1) }, "", audit.RuleMatchFile, "data/matches/cup"},
		{"a torn match file", func(w *savedLeague) { w.write(r1m1, w.read(r1m1)[:200]) }, "", audit.RuleSchema, r1m1},
		{"no match files", func(w *savedLeague) {
			paths, err := filepath.Glob(w.path("data/matches/cup/*.json"))
			require.NoError(w.t, err)
			for _, path := range paths {
				require.NoError(w.t, os.Remove(path))
			}
		}, "", audit.RuleMatchFile, "data/matches/cup"},
		{"a missing match file and a missing acknowledgement", func(w *savedLeague) {
			w.remove(r1m1)
			w.edit(logFile, `(?m)^\{"after":\d+[^\n]*"match_id":"R1M1".*\n`, "")
		}, "", audit.RuleAbandoned, logFile},
		{"neither file nor record", func(w *savedLeague) {
			w.remove(r1m1)
			w.edit(logFile, withR1M1, "")
			w.edit(logFile, withR1M1, "")
		}, audit.RuleMatchFile, "", r1m1},
		{"a missing match file, and a forged choice in the log", func(w *savedLeague) {
			w.remove(r1m1)
			w.edit(logFile, `"parity_choice":"even"`, `"parity_choice":"odd"`)
		}, audit.RuleTranscript, "", logFile},
		{"another result in the log", func(w *savedLeague) { w.editAll(logFile, `"drawn_number":(\d+)`, `"drawn_number":1$1`) },
			audit.RuleOneResult, "", logFile},
		{"another result in a second record", func(w *savedLeague) { w.edit(logFile, `"drawn_number":(\d+)`, `"drawn_number":1$1`) },
			audit.RuleOneResult, "", logFile},
		{"a damaged line", func(w *savedLeague) {
			w.edit(logFile, `"round_id":2`, `"round_id":`)
		}, audit.RuleSchema, "", logFile},
		{"a wrong checksum in the last line", func(w *savedLeague) {
			text := w.read(logFile)
			require.NoError(w.t, os.WriteFile(w.path(logFile), []byte(text[:len(text)-5]+"x"+text[len(text)-4:]), 0o600))
		}, audit.RuleSchema, "", logFile},
		{"a continuation without its beginning", func(w *savedLeague) { w.edit(logFile, withR1M1, "") }, audit.RuleSchema, "", logFile},
		{"a torn last line", func(w *savedLeague) { w.write(logFile, w.read(logFile)+`{"match_id":"R3`) }, "", audit.RuleSchema, logFile},
		{"an incomplete header", func(w *savedLeague) { w.write(ownFile, `{"schema_ver`) }, "", audit.RuleSchema, ownFile},
		{"the log of another league", func(w *savedLeague) { w.edit(logFile, `"league_id":"cup"`, `"league_id":"cap"`) }, audit.RuleMatchFile, "", logFile},
		{"the log of another referee", func(w *savedLeague) { w.write(ownFile, w.read(logFile)) }, audit.RuleMatchFile, "", ownFile},
		{"an attempt that was never assigned", func(w *savedLeague) {
			w.editAll(logFile, `("match_id":"R1M1","game_type":"even_odd","attempt":)1`, `${1}7`)
		},
			audit.RuleMatchFile, "", logFile},
		{"an unknown match", func(w *savedLeague) {
			w.editAll(logFile, `"match_id":"R1M1","game_type"`, `"match_id":"final","game_type"`)
		},
			audit.RuleMatchFile, "", logFile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newLoggedLeague(t, 3)
			tt.forge(w)
			l := w.audit()
			has := func(found []audit.Finding, rule string) bool {
				return slices.ContainsFunc(found, func(f audit.Finding) bool { return f.Rule == rule && f.File == tt.file })
			}
			if tt.rule == "" {
				assert.Empty(t, listed(l.Findings))
			} else {
				assert.True(t, has(l.Findings, tt.rule), listed(l.Findings))
			}
			if tt.note != "" {
				assert.True(t, has(l.Notes, tt.note), listed(l.Notes))
			}
			assert.Equal(t, l, w.audit(), "the same files have the same findings in the same order")
		})
	}
}
