package audit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/store"
)

// linesP01 is the file of the player P01.
const linesP01 = historyP01 + "l"

func TestHistoryLinesAreChecked(t *testing.T) {
	cutDocument := func(w *savedLeague) { require.NoError(w.t, os.Truncate(w.path(historyP01), 200)) }
	tests := []struct {
		name            string
		do              func(w *savedLeague)
		findings, notes []position
	}{
		{"both files", func(*savedLeague) {}, nil, nil},
		{"no document", func(w *savedLeague) { w.remove(historyP01) }, nil, nil},
		{"an incomplete document", cutDocument, nil, []position{{audit.RuleSchema, historyP01, ""}}},
		{"an empty document", func(w *savedLeague) { w.write(historyP01, "") }, nil, []position{{audit.RuleSchema, historyP01, ""}}},
		{"an incomplete line", func(w *savedLeague) { w.write(linesP01, w.read(linesP01)+`{"match_id":"R1`) }, nil, nil},
		{"fewer lines than the document", func(w *savedLeague) {
			text := strings.TrimSuffix(w.read(linesP01), "\n")
			w.write(linesP01, text[:strings.LastIndex(text, "\n")+1])
		}, nil, []position{{audit.RuleHistory, historyP01, ""}}},
		{"no complete line", func(w *savedLeague) { w.write(linesP01, `{"schema_version":"1.0.0"`) }, nil, nil},
		{"an earlier attempt that was replaced", func(w *savedLeague) {
			lines := strings.SplitAfter(w.read(linesP01), "\n")
			earlier := strings.Replace(strings.Replace(lines[1], `"result":"`, `"result":"TECHNICAL_`, 1), `"attempt":1`, `"attempt":0`, 1)
			w.write(linesP01, lines[0]+earlier+strings.Join(lines[1:], ""))
		}, nil, nil},
		{"a line with another number", func(w *savedLeague) { w.edit(linesP01, `"drawn_number":\d+`, `"drawn_number":11`) },
			[]position{{audit.RuleHistory, linesP01, `"drawn_number":11`}, {audit.RuleHistory, historyP01, ""}}, nil},
		{"a line with a choice that the player did not make", func(w *savedLeague) {
			w.edit(linesP01, `"my_choice":"even"`, `"my_choice":"even","reported_choice":"odd"`)
		}, []position{{audit.RuleHistory, historyP01, ""}}, []position{{audit.RuleHistory, linesP01, `"reported_choice"`}}},
		{"a document with another number", func(w *savedLeague) { w.edit(historyP01, `"drawn_number": \d+`, `"drawn_number": 11`) },
			[]position{{audit.RuleHistory, historyP01, `"drawn_number": 11`}}, nil},
		{"a document with other counts", func(w *savedLeague) { w.edit(historyP01, `"total_matches": 3`, `"total_matches": 4`) },
			[]position{{audit.RuleHistory, historyP01, `"total_matches": 4`}}, nil},
		{"a document from before a GAME_OVER", func(w *savedLeague) { writeInferred(w, "") }, nil, nil},
		{"a document with an inferred result and a choice", func(w *savedLeague) { writeInferred(w, "odd") },
			[]position{{audit.RuleHistory, historyP01, ""}}, nil},
		{"a damaged line", func(w *savedLeague) { w.edit(linesP01, `"match_id":"R2M`, `"match_id":R2M`) },
			[]position{{audit.RuleSchema, linesP01, `:R2M`}}, nil},
		{"lines of a newer program", func(w *savedLeague) { w.edit(linesP01, `"1.0.0"`, `"2.0.0"`) },
			[]position{{audit.RuleSchema, linesP01, `"2.0.0"`}}, nil},
		{"lines of another player", func(w *savedLeague) { w.edit(linesP01, `"player_id":"P01"`, `"player_id":"P02"`) },
			[]position{{audit.RuleHistory, linesP01, ""}, {audit.RuleHistory, historyP01, ""}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			writeLines(w)
			tt.do(w)
			l := w.audit()
			for _, list := range []struct {
				want []position
				got  []audit.Finding
			}{{tt.findings, l.Findings}, {tt.notes, l.Notes}} {
				require.Len(t, list.got, len(list.want), listed(list.got))
				for _, p := range list.want {
					found := false
					for _, f := range list.got {
						found = found || f.Rule == p.rule && f.File == p.file && (p.text == "" || f.Line == w.lineOf(p.file, p.text))
					}
					assert.True(t, found, "%v in %s", p, listed(list.got))
				}
			}
		})
	}
}

// writeLines writes the history of P01 as history.jsonl too.
func writeLines(w *savedLeague) {
	h, err := store.Read[store.History](w.path(historyP01))
	require.NoError(w.t, err)
	lines := make([]any, len(h.Matches))
	for i := range h.Matches {
		lines[i] = &h.Matches[i]
	}
	err = store.AppendHistory(w.path(linesP01), &store.HistoryHeader{
		SchemaVersion: store.SchemaVersion, PlayerID: "P01", DisplayName: h.DisplayName, LeagueID: leagueID,
	}, lines, &store.HistoryTail{})
	require.NoError(w.t, err)
}

// writeInferred writes the document of P01 as it was when the player had inferred the result of
// its first match from the standings.
func writeInferred(w *savedLeague, opponentChoice string) {
	h, err := store.Read[store.History](w.path(historyP01))
	require.NoError(w.t, err)
	m := &h.Matches[0]
	m.FromStandings, m.OpponentChoice, m.DrawnNumber, m.DrawCommitment, m.Entropy = true, opponentChoice, 0, "", ""
	require.NoError(w.t, store.Write(w.path(historyP01), h))
}
