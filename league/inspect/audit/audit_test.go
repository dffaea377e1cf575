package audit_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

func TestHonestLeagueHasNoFindings(t *testing.T) {
	l := newSavedLeague(t, 3).audit()
	assert.Empty(t, listed(l.Findings))
	assert.Empty(t, listed(l.Notes))
	assert.Equal(t, decide.StateLeagueCompleted, l.State)
	assert.Equal(t, 6, l.Matches)
	assert.Equal(t, 6, l.Recorded)
	assert.Equal(t, "audited 6 matches of league cup: no findings", l.Summary())
}

func TestRunningLeagueHasNoFindings(t *testing.T) {
	for rounds := range 3 {
		l := newSavedLeague(t, rounds).audit()
		require.Empty(t, listed(l.Findings))
		require.Empty(t, listed(l.Notes))
		assert.Equal(t, decide.StateRunningLeague, l.State)
		assert.Contains(t, l.Summary(), "unfinished: ")
	}
}

func TestAuditChangesNoFile(t *testing.T) {
	w := newSavedLeague(t, 3)
	before := snapshot(t, w.dir)
	w.audit()
	assert.Equal(t, before, snapshot(t, w.dir))
}

// snapshot returns the texts of all files of a folder; "" for a folder.
func snapshot(t *testing.T, dir store.Folder) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir.Path, func(path string, d fs.DirEntry, err error) error {
		file, _ := filepath.Rel(dir.Path, path)
		files[file] = ""
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		files[file] = string(raw)
		return err
	}))
	return files
}

func TestPrivateLoggedAndArchivedFilesAreNotRead(t *testing.T) {
	w := newSavedLeague(t, 3)
	for _, file := range []string{"private/cup.key", "logs/manager.log", "archive/cup-1/league/journal.jsonl", "data/leagues/cup/.standings.json.1.tmp", "data/matches/cup/notes.txt"} {
		w.write(file, "no JSON at all")
	}
	assert.Empty(t, listed(w.audit().Findings))
}

func TestNotes(t *testing.T) {
	another := protocol.DrawCommitment(leagueID, "R1M1", 2, "REF01", secretOf("another"))
	for _, tt := range []struct {
		name   string
		rounds int
		do     func(w *savedLeague)
		want   []position
	}{
		{"a history without a match", 3, func(w *savedLeague) {
			h := w.history("P01")
			h.Matches = h.Matches[:2]
			w.setHistory(h)
		}, nil},
		{"no history", 3, func(w *savedLeague) { w.remove("data/players") }, nil},
		{"a history of a league without files", 3, edited(historyP01, `"league_id":"cup"`, `"league_id":"other"`),
			[]position{{audit.RuleHistory, historyP01, `"other"`}}},
		{"a history of another attempt", 3, func(w *savedLeague) {
			w.insertAfter("match_assigned", "R1M1",
				`"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`)
			w.edit(historyP01, `"attempt":1`, `"attempt":2`)
		}, []position{{audit.RuleHistory, historyP01, `"attempt":2`}}},
		{"standings with an unknown member", 3, edited(standingsFile, `"rank": 2`, `"colour": "red", "rank": 2`),
			[]position{{audit.RuleSchema, standingsFile, `"colour"`}}},
		{"settings since the start", 3, func(w *savedLeague) {
			w.write("config/system.json", "{}")
			w.write("config/leagues/other.json", "{}") // of another league
		}, []position{{audit.RuleConfig, "config/system.json", ""}}},
		{"an agent that is informed twice", 3, func(w *savedLeague) {
			w.insertAfter("agent_informed", "P01", `"type":"agent_informed","data":{"agent_id":"P01"}`)
		}, []position{{audit.RuleEvent, journalFile, ""}}},
		{"an incomplete last line", 3, func(w *savedLeague) { w.write(journalFile, w.read(journalFile)+`{"seq":34,"at`) },
			[]position{{audit.RuleEvent, journalFile, `{"seq":34`}}},
		{"a dispute", 3, func(w *savedLeague) {
			w.insertAfter("match_reported", "R1M1",
				`"type":"match_disputed","data":{"match_id":"R1M1","attempt":1,"referee_id":"REF01",`+
					`"status":"DRAW","winner_player_id":null,"drawn_number":null,"number_parity":null,"choices":{}}`)
		}, []position{{audit.RuleDispute, journalFile, `"match_disputed"`}}},
		{"an attempt that was given up after its commitment", 3, func(w *savedLeague) {
			w.insertAfter("match_accepted", "R1M1",
				`"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`,
				`"type":"match_accepted","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01","draw_commitment":"`+another+`"}`)
		}, []position{{audit.RuleAbandoned, journalFile, another}}},
		{"an attempt that was declined", 3, func(w *savedLeague) {
			w.insertAfter("match_accepted", "R1M1",
				`"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`,
				`"type":"match_declined","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01","reason":"busy"}`)
		}, nil},
		{"a remaining file of an attempt", 3, func(w *savedLeague) {
			w.insertAfter("match_accepted", "R1M1",
				`"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`)
			w.write("data/matches/cup/R1M1-a2.json", strings.NewReplacer(`"attempt": 1`, `"attempt": 2`, "conv-r1m1-a1", "conv-r1m1-a2", "ACKNOWLEDGED", "DISPUTED").Replace(w.read(r1m1)))
		}, []position{{audit.RuleDispute, "data/matches/cup/R1M1-a2.json", `"match_id"`}}},
		{"half the file of an attempt, as after a power cut", 3, func(w *savedLeague) {
			w.insertAfter("match_accepted", "R1M1",
				`"type":"match_assigned","data":{"match_id":"R1M1","attempt":2,"referee_id":"REF01"}`)
			w.write("data/matches/cup/R1M1-a2.json", `{"schema_version": "1.0.0", "last_upd`)
		}, []position{{audit.RuleSchema, "data/matches/cup/R1M1-a2.json", `"schema_version"`}}},
		{"a third-party referee without a nonce", 3, func(w *savedLeague) {
			lines := w.lines()
			i := indexOf(lines, `"match_accepted"`, `"R1M1"`)
			at := strings.Index(lines[i], `,"draw_commitment"`)
			lines[i] = lines[i][:at] + "}}"
			i = indexOf(lines, `"match_reported"`, `"R1M1"`)
			at = strings.Index(lines[i], `,"draw":{`)
			lines[i] = lines[i][:at] + "}}"
			w.rechain(lines)
			w.transcript(func(d *store.Match) {
				d.WrittenBy, d.Transcript, d.Draw, d.ConversationID = store.WrittenByManager, nil, nil, ""
				d.PlayerA.EntropyCommitment, d.PlayerB.EntropyCommitment = "", ""
				d.Lifecycle.States = d.Lifecycle.States[5:]
			})
		}, []position{{audit.RuleDraw, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}},
		{"a match file that is still to come", 2, func(w *savedLeague) { w.remove(r1m1) }, []position{{audit.RuleMatchFile, r1m1, ""}}},
		{"standings of the round before", 2, func(w *savedLeague) { w.write(standingsFile, newSavedLeague(w.t, 1).read(standingsFile)) },
			[]position{{audit.RuleStandings, standingsFile, `"journal_head"`}}},
		{"standings that are not there", 3, func(w *savedLeague) { w.remove(standingsFile) },
			[]position{{audit.RuleStandings, standingsFile, ""}}},
		{"truncated standings", 3, func(w *savedLeague) { text := w.read(standingsFile); w.write(standingsFile, text[:len(text)/2]) },
			[]position{{audit.RuleSchema, standingsFile, ""}}},
		{"rounds without the last", 3, func(w *savedLeague) { early := newSavedLeague(w.t, 2); w.write(roundsFile, early.read(roundsFile)) },
			[]position{{audit.RuleRounds, roundsFile, `"journal_head"`}}},
		{"rounds of the time before the start", 1, func(w *savedLeague) {
			w.edit(roundsFile, `"total_rounds": 3`, `"total_rounds": 0`)
			w.edit(roundsFile, `("journal_head": )"[^"]*"`, `${1}"`+journal.Hash([]byte(w.lines()[0]))+`"`)
			w.edit(roundsFile, `(?s)"rounds": .*`, `"rounds": []}`)
		}, nil},
		{"an answer with a local time", 3, func(w *savedLeague) {
			w.edit(r1m1, `(?s)("received".*?"timestamp": )"[^"]*"`, `${1}"2026-01-01 12:00"`)
		}, []position{{audit.RuleConformance, r1m1, ""}}},
		{"an answer with a type of its own", 3, func(w *savedLeague) {
			w.edit(r1m1, `(?s)"message_type": "CHOOSE_PARITY_RESPONSE"(.*?)"message_type": "CHOOSE_PARITY_RESPONSE"`, `"message_type": "MY_CHOICE"$1"message_type": "MY_CHOICE"`)
		}, []position{{audit.RuleConformance, r1m1, ""}}},
		{"an answer that counts although a member cannot be read", 3, func(w *savedLeague) {
			w.edit(r1m1, `(?s)("received",.*?"try": 1,)(\s+"message")`, `$1"error": {"error_code": "E002", "error_name": "INVALID_FIELD_TYPE", "detail": "arrival_timestamp cannot be read: number"},$2`)
		}, nil},
		{"a full transcript that omits exchanges", 3, withTranscript(func(d *store.Match) {
			told := slices.Clone(d.Transcript[len(d.Transcript)-2:])
			d.Transcript = d.Transcript[:len(d.Transcript)-2]
			for len(d.Transcript) < store.MaxExchanges-store.ReservedExchanges {
				d.Transcript = append(d.Transcript, store.Exchange{At: told[0].At, Direction: store.Received, PlayerID: "P01", Method: protocol.NotifyGameError.Name, Try: 1, Error: &store.ExchangeError{}})
			}
			d.Transcript = append(d.Transcript, told...)
			d.Omitted = 12
		}), []position{{audit.RuleTranscript, r1m1, `"transcript_omitted"`}}},
		{"a referee that was restarted before GAME_OVER", 3, withTranscript(func(d *store.Match) {
			d.Transcript = d.Transcript[:len(d.Transcript)-2]
		}), []position{{audit.RuleTranscript, r1m1, `"transcript"`}}},
		{"an exchange at an earlier time", 3, func(w *savedLeague) {
			w.edit(r1m1, `(?s)("at": "2026-01-01T12:)\d\d(:00.000Z",\s+"direction": "received")`, `${1}00$2`)
		},
			[]position{{audit.RuleTime, r1m1, ""}}},
		{"a lost tail that the manager recorded", 2, func(w *savedLeague) {
			lost := strings.Repeat("ab", 32)
			w.insertAfter("round_completed", "summary", `"type":"tail_lost","data":{"head":"`+lost+`"}`)
			w.edit(standingsFile, `"journal_head": "[^"]*"`, `"journal_head": "`+lost+`"`)
		}, []position{{audit.RuleJournalHead, journalFile, `"tail_lost"`}}},
		{"an answer that is omitted for its size", 3, func(w *savedLeague) {
			w.edit(r1m1, `(?s)("received",\s+"player_id": "P01",\s+"method": "choose_parity"[^{}]*)"message": \{[^{}]*\}`, `$1"message_omitted": "too_large", "error": {"error_code": "E023", "error_name": "MESSAGE_TOO_LARGE", "detail": ""}`)
		}, []position{{audit.RuleTranscript, r1m1, ""}}},
		{"a match that was never acknowledged", 3, func(w *savedLeague) {
			w.transcript(func(d *store.Match) {
				d.Lifecycle.State, d.Lifecycle.States = "FINISHED", d.Lifecycle.States[:5]
			})
		}, []position{{audit.RuleAbandoned, r1m1, ""}}},
		{"a clock that was set back by hours", 3, func(w *savedLeague) {
			w.editLine("2026-01-01T12", "2026-01-01T15", `"seq":9,`)
		}, []position{{audit.RuleTime, journalFile, ""}, {audit.RuleTime, journalFile, "\"seq\":10,"}}},
		{"a clock that was set back", 3, editedLine("2026-01-01T12", "2026-01-01T13", `"seq":9,`),
			[]position{{audit.RuleTime, journalFile, ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, tt.rounds)
			tt.do(w)
			l := w.audit()
			assert.Empty(t, listed(l.Findings))
			require.Len(t, l.Notes, len(tt.want), listed(l.Notes))
			for i, p := range tt.want {
				n := l.Notes[i]
				assert.Equal(t, audit.SeverityNote, n.Severity)
				assert.Equal(t, p.rule+" "+p.file, n.Rule+" "+n.File)
				if p.text != "" {
					assert.Equal(t, w.lineOf(p.file, p.text), n.Line, n.String())
				}
			}
		})
	}
}

func TestFolderWithoutLeagueIsAnError(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := audit.Run(store.In(missing), audit.Options{})
	require.EqualError(t, err, "there is no folder "+missing+": name the --data folder of a league; 'evenodd simulate --data DIR' makes one")
	require.NoError(t, os.WriteFile(missing, nil, 0o600))
	_, err = audit.Run(store.In(missing), audit.Options{})
	require.ErrorContains(t, err, "is no folder: name the --data folder")
	_, err = audit.Run(store.In(t.TempDir()), audit.Options{})
	require.ErrorContains(t, err, "no league in")
	_, err = audit.Run(newSavedLeague(t, 0).dir, audit.Options{LeagueID: "other"})
	require.ErrorContains(t, err, `no league "other"`)
	require.ErrorContains(t, err, "there is cup")
}

func TestFindingsAboutUnreadableFilesNameMembersNotGoTypes(t *testing.T) {
	for _, tt := range []struct {
		name, file, pattern, by, want string
	}{
		{"a text for a number", standingsFile, `"version": 6`, `"version": "six"`, `a member has the wrong type: version must be a number, not a string`},
		{"an object for a list", standingsFile, `(?s)"standings": \[.*\]`, `"standings": {}`, "standings must be an array, not an object"},
		{"a number for a list of states", r1m1, `(?s)"states": \[[^\]]*\]`, `"states": 5`, "lifecycle/states must be an array, not a number"},
		{"a number for a winner", roundsFile, `"winner_player_id": ("\w+"|null)`, `"winner_player_id": 5`, "rounds/0/matches/0/winner_player_id must be a string, not a number"},
		{"a list for choices", r1m1, `(?s)("result": .*?"choices": )\{[^}]*\}`, `$1[]`, "result/choices must be an object, not an array"},
		{"a text for a round", journalFile, `"round_id":1`, `"round_id":"one"`, `event round_announced: data/round_id must be a number, not a string`},
		{"a member too many", journalFile, `"round_id":1`, `"round_id":1,"mood":2`, "event round_announced: data/mood is an unknown member"},
		{"a summary", roundsFile, `"technical_losses": 0`, `"technical_losses": 1`, "rounds.0.summary.technical_losses is 1; by the journal it is 0"},
		{"half a file", r1m1, `(?s)"draw".*$`, ``, "it is not a complete JSON document: unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			w.edit(tt.file, tt.pattern, tt.by)
			said := listed(w.audit().Findings)
			assert.Contains(t, said, tt.want)
			for _, internal := range []string{" json:", "jsontext", "Go ", "unmarshal", "{TotalMatches", "TechnicalLosses", "store.", "protocol."} {
				assert.NotContains(t, said, internal)
			}
		})
	}
}

func TestLeaguesOfAFolderAreAuditedSeparately(t *testing.T) {
	w := newSavedLeague(t, 3)
	w.write("data/leagues/another/journal.jsonl", "")
	report, err := audit.Run(w.dir, audit.Options{Games: games()})
	require.NoError(t, err)
	require.Len(t, report.Leagues, 2)
	assert.Equal(t, "another", report.Leagues[0].LeagueID)
	assert.Equal(t, audit.StateUnreadable, report.Leagues[0].State)
	assert.False(t, report.OK)
	assert.Equal(t, 1, report.Findings())
	assert.Empty(t, report.Leagues[1].Findings, "the cup is as good as before")
	raw, err := json.Marshal(report.Leagues[0])
	require.NoError(t, err)
	assert.Contains(t, string(raw), `,"notes":[]`, "empty lists are lists")

	report, err = audit.Run(w.dir, audit.Options{Games: games(), LeagueID: "cup"})
	require.NoError(t, err)
	require.Len(t, report.Leagues, 1)
	assert.True(t, report.OK)
	raw, err = json.Marshal(report)
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"findings":[],`, "empty lists are lists")
}

func TestUnknownGameIsANote(t *testing.T) {
	w := newSavedLeague(t, 3)
	report, err := audit.Run(w.dir, audit.Options{})
	require.NoError(t, err)
	assert.True(t, report.OK, listed(report.Leagues[0].Findings))
	require.Len(t, report.Leagues[0].Notes, 2)
	assert.Equal(t, audit.RuleUnsigned, report.Leagues[0].Notes[0].Rule)
	assert.Equal(t, audit.RuleVerdict, report.Leagues[0].Notes[1].Rule)
}

func TestResultOfAnUnregisteredRefereeIsAFinding(t *testing.T) {
	w := newSavedLeague(t, 3)
	lines := w.lines()
	for i, line := range lines {
		if strings.Contains(line, `"match_id":"R1M1"`) {
			lines[i] = strings.ReplaceAll(line, "REF01", "REF77")
		}
	}
	w.rechain(lines)
	found := listed(w.audit().Findings)
	assert.Contains(t, found, `"REF77" is no referee of this league`)
}

// FuzzAudit damages a file. The audit does not panic, and each finding names a file.
func FuzzAudit(f *testing.F) {
	f.Add(uint8(0), 100, []byte("x"))
	f.Add(uint8(3), 2000, []byte(`"},{`))
	f.Add(uint8(203), 2000, []byte("\n"))
	f.Fuzz(func(t *testing.T, which uint8, at int, by []byte) {
		w, files := newSavedLeague(t, 3), []string{journalFile, standingsFile, roundsFile, r1m1, historyP01}
		if which >= 200 {
			w, files = newLoggedLeague(t, 3), []string{r1m1, r2m1, logFile}
		}
		file := files[int(which)%len(files)]
		text := w.read(file)
		at = max(0, min(at, len(text)))
		end := min(at+len(by), len(text))
		w.write(file, text[:at]+string(by)+text[end:])
		if w.dir.CheckShape(leagueID) != nil {
			return
		}
		for _, found := range w.audit().Findings {
			assert.NotEmpty(t, found.File)
			assert.NotEmpty(t, found.Detail)
		}
	})
}

// A rule without a check finds nothing.
func TestEveryRuleHasACheck(t *testing.T) {
	var checks strings.Builder
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		if name != "rules.go" && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			checks.Write(text)
		}
	}
	rules, err := os.ReadFile("rules.go")
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^\t(Rule\w+) += `).FindAllSubmatch(rules, -1)
	assert.NotEmpty(t, found)
	for _, rule := range found {
		assert.Regexp(t, `\b`+string(rule[1])+`\b`, checks.String())
	}
}
