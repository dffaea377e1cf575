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
		{"a line with another number", func(w *savedLeague) { w.edit(historyP01, `"drawn_number":\d+`, `"drawn_number":11`) },
			[]position{{audit.RuleHistory, historyP01, `"drawn_number":11`}}, []position{{audit.RuleHistory, documentP01, ""}}},
		{"a line with a choice that the player did not make", func(w *savedLeague) {
			w.edit(historyP01, `"my_choice":"even"`, `"my_choice":"even","reported_choice":"odd"`)
		}, nil, []position{{audit.RuleHistory, documentP01, ""}, {audit.RuleHistory, historyP01, `"reported_choice"`}}},
		{"a document with another number", func(w *savedLeague) { w.edit(documentP01, `"drawn_number": \d+`, `"drawn_number": 11`) },
			nil, []position{{audit.RuleHistory, documentP01, `"drawn_number": 11`}}},
		{"a document with other counts", func(w *savedLeague) { w.edit(documentP01, `"total_matches": 3`, `"total_matches": 4`) },
			nil, []position{{audit.RuleHistory, documentP01, `"total_matches": 4`}}},
		{"a document with an invalid time", func(w *savedLeague) { w.edit(documentP01, `("last_updated": ?)"[^"]*"`, `$1"noon"`) },
			[]position{{audit.RuleHistory, documentP01, `"noon"`}}, nil},
		{"a damaged line", func(w *savedLeague) { w.edit(historyP01, `"match_id":"R2M`, `"match_id":R2M`) },
			[]position{{audit.RuleSchema, historyP01, `:R2M`}}, nil},
		{"lines of a newer program", func(w *savedLeague) { w.edit(historyP01, `"1.0.0"`, `"2.0.0"`) },
			[]position{{audit.RuleSchema, historyP01, `"2.0.0"`}}, nil},
		{"lines of another player", func(w *savedLeague) { w.edit(historyP01, `"player_id":"P01"`, `"player_id":"P02"`) },
			[]position{{audit.RuleHistory, historyP01, ""}}, []position{{audit.RuleHistory, documentP01, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			require.NoError(t, store.DeriveHistory(w.path(documentP01), "2026-01-01T00:00:00Z"))
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
