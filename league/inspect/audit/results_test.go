package audit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

const (
	resultsFile   = "data/matches/cup/REF01.results.jsonl"
	deliveredFile = "data/matches/cup/REF01.delivered.jsonl"
)

// matchFiles are the match files of a league, decoded. Ok is false if one of them has
// content that no record can have, or that is no forgery in a record: its acknowledgement
// may be missing.
func (w *savedLeague) matchFiles() (docs []*store.Match, ok bool) {
	paths, err := filepath.Glob(w.path("data/matches/cup/*.json"))
	require.NoError(w.t, err)
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(w.t, err)
		d := new(store.Match)
		if json.Unmarshal(raw, d, json.RejectUnknownMembers(true)) != nil || d.LeagueID != leagueID || d.RefereeID != "REF01" ||
			d.WrittenBy != store.WrittenByReferee || !protocol.ValidTimestamp(d.LastUpdated) || d.Lifecycle.State == "FINISHED" && len(d.Lifecycle.States) == 5 || d.ConversationID == "" || filepath.Base(path) != d.MatchID+".json" {
			return nil, false
		}
		for i := range d.Transcript {
			_ = d.Transcript[i].Message.Compact() // as the referee writes it
		}
		docs = append(docs, d)
	}
	return docs, true
}

// split moves the transcripts of match files to a results file, as the referee writes
// them: the attempt until its result, then the rest. The match files keep what else they
// have.
func (w *savedLeague) split(docs []*store.Match) {
	w.writeResults(docs)
	w.writeDerived(docs)
}

func (w *savedLeague) writeDerived(docs []*store.Match) {
	for _, d := range docs {
		w.write("data/matches/cup/"+d.MatchID+".json", w.derived(d))
	}
}

// derived is the match file of a match whose transcript is in the results file.
func (w *savedLeague) derived(d *store.Match) string {
	derived := *d
	derived.Transcript, derived.TranscriptFile = nil, filepath.Base(resultsFile)
	raw, err := json.Marshal(&derived, jsontext.WithIndent("  "))
	require.NoError(w.t, err)
	return string(raw) + "\n"
}

func (w *savedLeague) writeResults(docs []*store.Match) {
	lines := []string{`{"schema_version":"1.0.0","league_id":"cup","referee_id":"REF01"}`}
	add := func(doc *store.Match, earlier store.Recorded) {
		raw, err := json.Marshal(store.RecordOf(doc, earlier))
		require.NoError(w.t, err)
		lines = append(lines, string(raw))
	}
	for _, d := range docs {
		result := store.Recorded{States: len(d.Lifecycle.States) - 1, Exchanges: len(d.Transcript) - 2}
		if result.States < 1 || result.Exchanges < 0 || d.Lifecycle.State != store.StateAcknowledged {
			add(d, store.Recorded{})
			continue
		}
		first := *d
		first.Lifecycle.States, first.Transcript = d.Lifecycle.States[:result.States], d.Transcript[:result.Exchanges]
		first.Lifecycle.State = first.Lifecycle.States[result.States-1].State
		add(&first, store.Recorded{})
		add(d, result)
	}
	w.write(resultsFile, strings.Join(lines, "\n")+"\n")
}

// newSplitLeague is newSavedLeague with a results file.
func newSplitLeague(t *testing.T, rounds int) *savedLeague {
	t.Helper()
	w := newSavedLeague(t, rounds)
	docs, ok := w.matchFiles()
	require.True(t, ok)
	w.split(docs)
	return w
}

func TestHonestResultsFileHasNoFindings(t *testing.T) {
	for rounds := range 4 {
		l := newSplitLeague(t, rounds).audit()
		assert.Empty(t, listed(l.Findings))
		assert.Empty(t, listed(l.Notes))
	}
}

// isMatchFile tells whether the file is one of those that forgeries change.
func isMatchFile(file string) bool { return file == r1m1 || file == r2m1 }

// testForgedResults makes a forgery of match files in the results file, in the match files,
// and in both. Where a transcript is forged, the finding is in the results file.
func testForgedResults(t *testing.T, forge func(*savedLeague), want []position) {
	t.Helper()
	if !slices.ContainsFunc(want, func(p position) bool { return isMatchFile(p.file) }) {
		return
	}
	honest := newSavedLeague(t, 3)
	honestDocs, _ := honest.matchFiles()
	for _, tt := range []struct {
		name                string
		results, matchFiles bool
	}{
		{"in the results file", true, false},
		{"in the match files", false, true},
		{"in the results file and in the match files", true, true},
	} {
		w := newSavedLeague(t, 3)
		forge(w)
		docs, ok := w.matchFiles()
		if !ok {
			return // no record has such content
		}
		t.Run(tt.name, func(t *testing.T) {
			w.t = t
			w.writeResults(docs)
			if !tt.results {
				w.writeResults(honestDocs)
			}
			w.writeDerived(docs)
			changed := false
			for _, d := range honestDocs {
				path := "data/matches/cup/" + d.MatchID + ".json"
				forged := ""
				if _, err := os.Stat(w.path(path)); err == nil {
					forged = w.read(path)
				}
				if !tt.matchFiles || forged == "" {
					w.writeDerived([]*store.Match{d})
				}
				changed = changed || forged != "" && forged != w.derived(d)
			}
			l := w.audit()
			found := func(p position, file string) bool {
				return slices.ContainsFunc(l.Findings, func(f audit.Finding) bool {
					return f.File == file && (f.Rule == p.rule || f.Rule == audit.RuleSchema) && f.Line > 0
				})
			}
			for _, p := range want {
				switch {
				case !isMatchFile(p.file):
					assert.True(t, found(p, p.file), "no %s in %s among:\n%s", p.rule, p.file, listed(l.Findings))
				case tt.results:
					assert.True(t, found(p, resultsFile) || found(p, p.file), "no %s among:\n%s", p.rule, listed(l.Findings))
				case changed:
					assert.True(t, slices.ContainsFunc(l.Findings, func(f audit.Finding) bool { return isMatchFile(f.File) }), listed(l.Findings))
				}
			}
		})
	}
}

// Each of these is made in the results file or in a match file without its transcript.
func TestForgedAndDamagedResultsFiles(t *testing.T) {
	const ownFile = "data/matches/cup/REF02.results.jsonl"
	tests := []struct {
		name  string
		forge func(w *savedLeague)
		want  []position
		notes []position
	}{
		{"a damaged line in the middle", func(w *savedLeague) { w.edit(resultsFile, `\{"match_id":"R2M1"`, `{"match_":"R2M1"`) },
			[]position{{audit.RuleSchema, resultsFile, `{"match_":"R2M1"`}, {audit.RuleSchema, resultsFile, `{"match_id":"R2M1"`}}, nil},
		{"a damaged record", func(w *savedLeague) { w.edit(resultsFile, `"round_id":2`, `"round_id":`) },
			[]position{{audit.RuleSchema, resultsFile, `"round_id":,`}}, nil},
		{"a torn last line", func(w *savedLeague) { w.write(resultsFile, w.read(resultsFile)+`{"match_id":"R3`) },
			nil, []position{{audit.RuleSchema, resultsFile, ""}}},
		{"an incomplete header", func(w *savedLeague) { w.write(ownFile, `{"schema_ver`) }, nil, []position{{audit.RuleSchema, ownFile, ""}}},
		{"an empty file", func(w *savedLeague) { w.write(ownFile, "") }, nil, nil},
		{"a header of a newer program", func(w *savedLeague) { w.edit(resultsFile, `"1.0.0"`, `"2.0.0"`) },
			[]position{{audit.RuleSchema, resultsFile, ""}, {audit.RuleMatchFile, r1m1, `"transcript_file"`}}, nil},
		{"the file of another league", func(w *savedLeague) { w.edit(resultsFile, `"league_id":"cup"`, `"league_id":"cap"`) },
			[]position{{audit.RuleMatchFile, resultsFile, `"cap"`}, {audit.RuleMatchFile, r1m1, `"transcript_file"`}}, nil},
		{"the file of another referee", func(w *savedLeague) { w.write(ownFile, w.read(resultsFile)) },
			[]position{{audit.RuleMatchFile, ownFile, `"REF01"`}}, nil},
		{"a missing file", func(w *savedLeague) { w.remove(resultsFile) },
			[]position{{audit.RuleMatchFile, r1m1, `"transcript_file"`}, {audit.RuleMatchFile, r2m1, `"transcript_file"`}}, nil},
		{"a missing file, and no match files", func(w *savedLeague) { w.remove("data/matches/cup") },
			[]position{{audit.RuleMatchFile, r1m1, ""}, {audit.RuleMatchFile, r2m1, ""}}, nil},
		{"a missing record", func(w *savedLeague) {
			w.edit(resultsFile, `(?m)^\{"match_id":"R1M1".*\n`, "")
			w.edit(resultsFile, `(?m)^\{"match_id":"R1M1".*\n`, "")
		}, []position{{audit.RuleMatchFile, r1m1, `"transcript_file"`}}, nil},
		{"a continuation without its beginning", func(w *savedLeague) { w.edit(resultsFile, `(?m)^\{"match_id":"R1M1".*\n`, "") },
			[]position{{audit.RuleSchema, resultsFile, `"R1M1"`}}, nil},
		{"a missing acknowledgement", func(w *savedLeague) { w.edit(resultsFile, `(?m)^\{"match_id":"R1M1","attempt":1,"state":"ACK.*\n`, "") },
			nil, []position{{audit.RuleAbandoned, resultsFile, `"R1M1"`}}},
		{"a missing match file", func(w *savedLeague) { w.remove(r1m1) }, nil, []position{{audit.RuleMatchFile, "data/matches/cup", ""}}},
		{"a torn match file", func(w *savedLeague) { w.write(r1m1, w.read(r1m1)[:200]) }, nil, []position{{audit.RuleSchema, r1m1, ""}}},
		{"an empty match file", func(w *savedLeague) { w.write(r1m1, "") }, nil, []position{{audit.RuleSchema, r1m1, ""}}},
		{"a match file of a newer program", func(w *savedLeague) { w.edit(r1m1, `"1.0.0"`, `"2.0.0"`) },
			[]position{{audit.RuleSchema, r1m1, `"2.0.0"`}}, nil},
		{"a match file that names another file", func(w *savedLeague) { w.edit(r1m1, `"REF01.results.jsonl"`, `"REF02.results.jsonl"`) },
			[]position{{audit.RuleMatchFile, r1m1, `"REF02`}}, nil},
		{"a match file with a transcript of its own", func(w *savedLeague) {
			w.edit(r1m1, `("transcript_file": [^,]*,)`, `$1"transcript": [{"at": "2026-01-01T12:00:00.000Z", "direction": "sent", "player_id": "P01", "method": "whisper", "try": 1}],`)
		}, []position{{audit.RuleMatchFile, r1m1, `"transcript"`}}, nil},
		{"a match file with an invalid time", func(w *savedLeague) { w.edit(r1m1, `("last_updated": )"[^"]*"`, `$1"noon"`) },
			[]position{{audit.RuleMatchFile, r1m1, `"noon"`}}, nil},
		{"a match file with an unknown member", func(w *savedLeague) { w.edit(r1m1, `"match_id"`, `"color": "red", "match_id"`) },
			nil, []position{{audit.RuleSchema, r1m1, `"color"`}}},
		{"a record with an unknown member", func(w *savedLeague) { w.edit(resultsFile, `"round_id":2`, `"color":"red","round_id":2`) },
			nil, []position{{audit.RuleSchema, resultsFile, `"color"`}}},
		{"a match file said to be the manager's", func(w *savedLeague) { w.edit(r1m1, `"written_by": "referee"`, `"written_by": "manager"`) },
			[]position{{audit.RuleMatchFile, r1m1, `"written_by"`}}, nil},
		{"a match file with a state that no record has", func(w *savedLeague) {
			w.edit(resultsFile, `(?m)^\{"match_id":"R1M1","attempt":1,"state":"ACK.*\n`, "")
			w.edit(r1m1, `"state": "ACKNOWLEDGED"`, `"state": "DISPUTED"`)
			w.edit(r1m1, `(?s)("states".*"state": )"ACKNOWLEDGED"`, `$1"DISPUTED"`)
		}, []position{{audit.RuleMatchFile, r1m1, `"DISPUTED"`}}, nil},
		{"the record of an attempt that was never assigned", func(w *savedLeague) {
			w.edit(resultsFile, `(?m)^(\{"match_id":"R1M1","attempt":)1(.*\n)`, `$1${2}${1}7$2`)
			w.edit(resultsFile, `"attempt":,`, `"attempt":1,`)
		}, []position{{audit.RuleMatchFile, resultsFile, `"attempt":7`}}, nil},
		{"the record of an unknown match", func(w *savedLeague) {
			w.edit(resultsFile, `(?m)^(\{"match_id":")R1M1(".*\n)`, `$1$2${1}R9M9$2`)
			w.edit(resultsFile, `"match_id":"",`, `"match_id":"R1M1",`)
		}, []position{{audit.RuleMatchFile, resultsFile, `"R9M9"`}}, nil},
		{"a second record with another result", func(w *savedLeague) {
			w.edit(resultsFile, `(?m)^(\{"match_id":"R1M1".*"drawn_number":)(\d+)(.*\n)`, `$1${2}$3${1}1$2$3`)
		}, []position{{audit.RuleOneResult, resultsFile, ""}, {audit.RuleMatchFile, resultsFile, ""}}, nil},
		{"a delivered record with another result", func(w *savedLeague) {
			w.write(deliveredFile, w.read(resultsFile))
			w.edit(deliveredFile, `("R1M1".*"drawn_number":)(\d+)`, `${1}1$2`)
		}, []position{{audit.RuleMatchFile, deliveredFile, `"R1M1"`}}, nil},
		{"delivered records", func(w *savedLeague) {
			w.write(deliveredFile, w.read(resultsFile))
			w.remove(resultsFile)
			for file := range snapshot(w.t, w.dir) {
				if strings.HasPrefix(file, "data/matches/cup/R") && strings.HasSuffix(file, ".json") {
					w.edit(file, `"REF01.results.jsonl"`, `"REF01.delivered.jsonl"`)
				}
			}
		}, nil, nil},
		{"a second record with the same result", func(w *savedLeague) { w.edit(resultsFile, `(?m)^(\{"match_id":"R1M1".*\n)`, `$1$1`) }, nil, nil},
		{"a dispute that hides another result", func(w *savedLeague) {
			w.edit(resultsFile, `("R1M1","attempt":1,"state":"FINISHED".*"drawn_number":)(\d+)`, `${1}1$2`)
			w.edit(resultsFile, `("R1M1","attempt":1,"state":)"ACKNOWLEDGED"(,"states":.*"state":)"ACKNOWLEDGED"`, `$1"DISPUTED"$2"DISPUTED"`)
			w.remove(r1m1)
		}, []position{{audit.RuleMatchFile, resultsFile, ""}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSplitLeague(t, 3)
			tt.forge(w)
			l := w.audit()
			for _, c := range []struct {
				want []position
				got  []audit.Finding
			}{{tt.want, l.Findings}, {tt.notes, l.Notes}} {
				for _, p := range c.want {
					line := -1
					if p.text != "" {
						line = w.lineOf(p.file, p.text)
					}
					assert.True(t, slices.ContainsFunc(c.got, func(f audit.Finding) bool {
						return f.Rule == p.rule && f.File == p.file && (line < 0 || f.Line == line)
					}), "no %s in %s line %d among:\n%s", p.rule, p.file, line, listed(c.got))
				}
			}
			if tt.want == nil {
				assert.Empty(t, listed(l.Findings))
			}
			if tt.want == nil && tt.notes == nil {
				assert.Empty(t, listed(l.Notes))
			}
			assert.Equal(t, l, w.audit(), "the same files have the same findings in the same order")
		})
	}
}

// A finding names the record that has the member: the attempt until its result, or the rest.
func TestFindingInARecordNamesItsLine(t *testing.T) {
	for pattern, text := range map[string]string{
		`"role_in_match":"PLAYER_B"`: `"state":"FINISHED"`,
		`"state":"DREAMING"`:         `"state":"FINISHED"`,
		`"player_id":"P09"`:          `"state":"ACKNOWLEDGED"`,
	} {
		w := newSplitLeague(t, 3)
		switch pattern {
		case `"state":"DREAMING"`:
			w.edit(resultsFile, `"state":"DRAWING_NUMBER"`, pattern)
		case `"player_id":"P09"`:
			w.edit(resultsFile, `("state":"ACKNOWLEDGED".*"sent","player_id":)"P01"`, `$1"P09"`)
		default:
			w.edit(resultsFile, `"message":\{`, `"message":{"role_in_match":"PLAYER_B",`)
		}
		l := w.audit()
		line := w.lineOf(resultsFile, text)
		assert.True(t, slices.ContainsFunc(l.Findings, func(f audit.Finding) bool {
			return f.File == resultsFile && f.Line == line && f.MatchID == "R1M1"
		}), listed(l.Findings))
	}
}

// While a league runs, the manager has not yet asked for all, and a match file follows its
// record.
func TestMissingFilesOfARunningLeagueAreNotes(t *testing.T) {
	w := newSplitLeague(t, 2)
	w.remove(resultsFile)
	w.remove(r2m1)
	l := w.audit()
	assert.Empty(t, listed(l.Findings))
	assert.NotEmpty(t, l.Notes)
}
