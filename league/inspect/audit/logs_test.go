package audit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
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
		doc, err := store.Read[store.Match](disk.Real{}, path)
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
		{"another result in a second record", edited(logFile, `"drawn_number":(\d+)`, `"drawn_number":1$1`),
			audit.RuleOneResult, "", logFile},
		{"an unknown member", edited(logFile, `"round_id":2`, `"colour":"red","round_id":2`), "", audit.RuleSchema, logFile},
		{"an unknown member of the header", edited(logFile, `"league_id":"cup"`, `"colour":"red","league_id":"cup"`), "", audit.RuleSchema, logFile},
		{"another code of a refusal", func(w *savedLeague) {
			w.write("data/matches/cup/R1M1-a2.json", strings.NewReplacer(`"attempt": 1`, `"attempt": 2`, "conv-r1m1-a1", "conv-r1m1-a2",
				"ACKNOWLEDGED", "DISPUTED", `"transcript":`, `"refusal": {"error_code": "E004", "error_name": "INVALID_FIELD_TYPE", "detail": "no"}, "transcript":`).
				Replace(w.read(r1m1)))
			w.insertAfter("match_accepted", "R1M1", `"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`)
		}, audit.RuleMatchFile, "", "data/matches/cup/R1M1-a2.json"},
		{"a damaged line", edited(logFile, `"round_id":2`, `"round_id":`), audit.RuleSchema, "", logFile},
		{"a wrong checksum in the last line", func(w *savedLeague) {
			text := w.read(logFile)
			require.NoError(w.t, os.WriteFile(w.path(logFile), []byte(text[:len(text)-5]+"x"+text[len(text)-4:]), 0o600))
		}, audit.RuleSchema, "", logFile},
		{"a continuation without its beginning", edited(logFile, withR1M1, ""), audit.RuleSchema, "", logFile},
		{"a torn last line", func(w *savedLeague) { w.write(logFile, w.read(logFile)+`{"match_id":"R3`) }, "", audit.RuleSchema, logFile},
		{"an incomplete header", func(w *savedLeague) { w.write(ownFile, `{"schema_ver`) }, "", audit.RuleSchema, ownFile},
		{"the log of another league",
			edited(logFile, `"league_id":"cup"`, `"league_id":"cap"`), audit.RuleMatchFile, "", logFile},
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
			if tt.rule == "" {
				assert.Empty(t, listed(l.Findings))
			} else {
				assert.True(t, w.has(l.Findings, position{tt.rule, tt.file, ""}), listed(l.Findings))
			}
			if tt.note != "" {
				assert.True(t, w.has(l.Notes, position{tt.note, tt.file, ""}), listed(l.Notes))
			}
			assert.Equal(t, l, w.audit(), "the same files have the same findings in the same order")
		})
	}
}

// documentP01 derives from historyP01.
const documentP01 = "data/players/P01/history.json"

func TestHistoryLinesAreChecked(t *testing.T) {
	cutDocument := func(w *savedLeague) { require.NoError(w.t, os.Truncate(w.path(documentP01), 200)) }
	for _, tt := range []struct {
		name            string
		do              func(w *savedLeague)
		findings, notes []position
	}{
		{"both files", func(*savedLeague) {}, nil, nil},
		{"an incomplete document", cutDocument, nil, []position{{audit.RuleSchema, documentP01, ""}}},
		{"an incomplete line", func(w *savedLeague) { w.write(historyP01, w.read(historyP01)+`{"match_id":"R1`) }, nil, nil},
		{"fewer lines than the document", func(w *savedLeague) {
			text := strings.TrimSuffix(w.read(historyP01), "\n")
			w.write(historyP01, text[:strings.LastIndex(text, "\n")+1])
		}, nil, []position{{audit.RuleHistory, documentP01, ""}}},
		{"no complete line", func(w *savedLeague) { w.write(historyP01, `{"schema_version":"1.0.0"`) }, nil, nil},
		{"an earlier attempt that was replaced", func(w *savedLeague) {
			lines := strings.SplitAfter(w.read(historyP01), "\n")
			earlier := strings.Replace(strings.Replace(lines[1], `"result":"`, `"result":"TECHNICAL_`, 1), `"attempt":1`, `"attempt":0`, 1)
			w.write(historyP01, lines[0]+earlier+strings.Join(lines[1:], ""))
		}, nil, nil},
		{"a line with another number", edited(historyP01, `"drawn_number":\d+`, `"drawn_number":11`),
			[]position{{audit.RuleHistory, historyP01, `"drawn_number":11`}}, []position{{audit.RuleHistory, documentP01, ""}}},
		{"a line with an unknown member", edited(historyP01, `"drawn_number":`, `"colour":"red","drawn_number":`),
			nil, []position{{audit.RuleSchema, historyP01, `"colour"`}}},
		{"an unknown member of the first line", edited(historyP01, `"display_name":`, `"colour":"red","display_name":`),
			nil, []position{{audit.RuleSchema, historyP01, `"colour"`}}},
		{"a line with a choice that the player did not make", func(w *savedLeague) {
			w.edit(historyP01, `"my_choice":"even"`, `"my_choice":"even","reported_choice":"odd"`)
		}, nil, []position{{audit.RuleHistory, documentP01, ""}, {audit.RuleHistory, historyP01, `"reported_choice"`}}},
		{"a document with another number", edited(documentP01, `"drawn_number": \d+`, `"drawn_number": 11`),
			nil, []position{{audit.RuleHistory, documentP01, `"drawn_number": 11`}}},
		{"a document with other counts", edited(documentP01, `"total_matches": 3`, `"total_matches": 4`),
			nil, []position{{audit.RuleHistory, documentP01, `"total_matches": 4`}}},
		{"a document with an invalid time", edited(documentP01, `("last_updated": ?)"[^"]*"`, `$1"noon"`),
			[]position{{audit.RuleHistory, documentP01, `"noon"`}}, nil},
		{"a damaged line", edited(historyP01, `"match_id":"R2M`, `"match_id":R2M`),
			[]position{{audit.RuleSchema, historyP01, `:R2M`}}, nil},
		{"lines of a newer program", edited(historyP01, `"1.0.0"`, `"2.0.0"`),
			[]position{{audit.RuleSchema, historyP01, `"2.0.0"`}}, nil},
		{"lines of another player", edited(historyP01, `"player_id":"P01"`, `"player_id":"P02"`),
			[]position{{audit.RuleHistory, historyP01, ""}}, []position{{audit.RuleHistory, documentP01, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			require.NoError(t, store.DeriveHistory(disk.Real{}, w.path(documentP01), "2026-01-01T00:00:00Z"))
			tt.do(w)
			l := w.audit()
			for _, list := range []struct {
				want []position
				got  []audit.Finding
			}{{tt.findings, l.Findings}, {tt.notes, l.Notes}} {
				require.Len(t, list.got, len(list.want), listed(list.got))
				for _, p := range list.want {
					assert.True(t, w.has(list.got, p), "%v in %s", p, listed(list.got))
				}
			}
		})
	}
}
