package audit_test

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

// TestForgeries makes one forgery at a time. Each has a finding with its file and
// line, and not many further findings.
func TestForgeries(t *testing.T) {
	const report = `"type":"match_reported"`
	for _, tt := range []struct {
		name  string
		forge func(w *savedLeague)
		want  []position
		max   int // findings at most; 0 means as many as places
	}{
		{"a changed digit in a result of the journal", func(w *savedLeague) {
			w.edit(journalFile, `(R1M1".*"drawn_number":)(\d+)`, `${1}1$2`)
		}, []position{
			{audit.RuleDraw, journalFile, `"match_reported","data":{"match_id":"R1M1"`},
			{audit.RuleHashChain, journalFile, `"match_assigned","data":{"match_id":"R1M2"`},
			{audit.RuleMatchFile, r1m1, ""},
			{audit.RuleHistory, historyP01, `"drawn_number"`},
		}, 6},
		{"a changed digit in a match file", edited(r1m1, `(?s)("result": \{.*"drawn_number": )(\d+)`, `${1}1$2`),
			[]position{{audit.RuleMatchFile, r1m1, ""}}, 3},
		{"a swapped choice in journal and match file", func(w *savedLeague) {
			w.edit(r1m1, `(?s)("result": \{.*"choices": \{\s+"P01": )"even"`, `${1}"odd"`)
			w.editLine(`"P01":"even"`, `"P01":"odd"`, report, `"R1M1"`)
		}, []position{
			{audit.RuleVerdict, journalFile, `"match_reported","data":{"match_id":"R1M1"`},
			{audit.RuleTranscript, r1m1, ""}, {audit.RuleHistory, historyP01, `"my_choice"`},
		}, 7},
		{"a better grade of a result", editedLine(`"grade":"recomputed"`, `"grade":"proven"`, report, `"R1M1"`),
			[]position{{audit.RuleEvidence, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 1},
		{"a removed line", func(w *savedLeague) { w.removeLine(`"match_accepted"`, `"R1M1"`) },
			[]position{{audit.RuleHashChain, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 1},
		{"a removed announcement", func(w *savedLeague) { w.removeLine(`"round_announced"`, `"round_id":2`) },
			[]position{
				{audit.RuleHashChain, journalFile, `"match_assigned","data":{"match_id":"R2M1"`}, {audit.RuleEvent, journalFile, `"match_assigned","data":{"match_id":"R2M1"`},
			}, 2},
		{"a removed first line", func(w *savedLeague) { w.setLines(w.lines()[1:]) },
			[]position{{audit.RuleEvent, journalFile, `"registered"`}, {audit.RuleHashChain, journalFile, `"registered"`}}, 2},
		{"a forged nonce", func(w *savedLeague) {
			w.edit(r1m1, `("nonce": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("ab", 32)+`"`)
			w.editLine(secretOf("nonce R1M1").Hex(), strings.Repeat("ab", 32), report, `"R1M1"`)
		}, []position{{audit.RuleCommitment, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 4},
		{"a draw after the match with its commitment", func(w *savedLeague) {
			nonce := secretOf("another")
			was := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", secretOf("nonce R1M1"))
			is := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", nonce)
			w.changeLine(strings.NewReplacer(secretOf("nonce R1M1").Hex(), nonce.Hex(), was, is).Replace, report, `"R1M1"`)
		}, []position{{audit.RuleCommitment, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 9},
		{"a forged nonce with its commitment", func(w *savedLeague) { // the players have seen the old one
			nonce := secretOf("another")
			was := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", secretOf("nonce R1M1"))
			is := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", nonce)
			text := strings.NewReplacer(secretOf("nonce R1M1").Hex(), nonce.Hex(), was, is).Replace(w.read(journalFile))
			w.write(journalFile, text)
			w.rechain(w.lines())
			w.edit(r1m1, `(?s)^(.*"draw": \{\s+"commitment": )"[0-9a-f]{64}"(,\s+"nonce": )"[0-9a-f]{64}"(.*"entropies".*"scoring")`, `${1}"`+is+`"${2}"`+nonce.Hex()+`"$3`)
		}, []position{{audit.RuleCommitment, r1m1, `"draw_commitment"`}}, 9},
		{"forged entropy", func(w *savedLeague) {
			w.editLine(secretOf("R1M1P01").Hex(), strings.Repeat("cd", 32), report, `"R1M1"`)
			w.edit(r1m1, `(?s)^(.*"entropies": \{\s+"P01": )"[0-9a-f]{64}"(.*"result")`, `${1}"`+strings.Repeat("cd", 32)+`"$2`)
		}, []position{{audit.RuleCommitment, r1m1, ""}}, 7},
		{"another commitment of the player", func(w *savedLeague) {
			w.edit(r1m1, `("entropy_commitment": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("ab", 32)+`"`)
		}, []position{{audit.RuleCommitment, r1m1, `"entropy_commitment"`}}, 1},
		{"edited standings", edited(standingsFile, `("points": )\d+`, `${1}99`),
			[]position{{audit.RuleStandings, standingsFile, `99`}}, 1},
		{"a forged head", func(w *savedLeague) {
			w.edit(standingsFile, `("journal_head": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("0a", 32)+`"`)
		},
			[]position{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 1},
		{"standings of a newer program",
			edited(standingsFile, `"schema_version": "1.0.0"`, `"schema_version": "2.0.0"`),
			[]position{{audit.RuleSchema, standingsFile, `"2.0.0"`}}, 1},
		{"an added match", func(w *savedLeague) {
			w.write("data/matches/cup/R4M1.json", strings.ReplaceAll(w.read(r1m1), "R1M1", "R4M1"))
		}, []position{{audit.RuleMatchFile, "data/matches/cup/R4M1.json", ""}}, 1},
		{"an added result", func(w *savedLeague) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines = slices.Insert(lines, i+1, strings.Replace(lines[i], `"R1M1"`, `"R4M1"`, 1))
			w.rechain(lines)
		}, []position{{audit.RuleOneResult, journalFile, `"match_id":"R4M1"`}}, 1},
		{"a second result of a match, rightly chained", func(w *savedLeague) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines = slices.Insert(lines, i+1, strings.Replace(lines[i], `"reason":"`, `"reason":"again: `, 1))
			w.rechain(lines)
		}, []position{{audit.RuleOneResult, journalFile, `again: `}}, 1},
		{"a result of a referee without the match", func(w *savedLeague) {
			w.editLine(`"referee_id":"REF01"`, `"referee_id":"REF02"`, report, `"R1M1"`)
		}, []position{{audit.RuleOneResult, journalFile, `"referee_id":"REF02"`}}, 5},
		{"a journal cut by half", func(w *savedLeague) { lines := w.lines(); w.setLines(lines[:len(lines)/2]) },
			[]position{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 99},
		{"a journal cut by the line of the end and what follows", func(w *savedLeague) {
			lines := w.lines()
			w.setLines(lines[:indexOf(lines, `"type":"completed"`)])
		}, []position{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 3},
		{"a removed end", func(w *savedLeague) { w.removeLine(`"type":"completed"`) },
			[]position{
				{audit.RuleHashChain, journalFile, `"agent_informed"`}, {audit.RuleEvent, journalFile, `"agent_informed"`}, {audit.RuleJournalHead, standingsFile, `"journal_head"`},
				{audit.RuleJournalHead, roundsFile, `"journal_head"`},
			}, 0},
		{"a flipped byte that leaves an event", edited(journalFile, `localhost:8102`, `localhost:8112`),
			[]position{{audit.RuleHashChain, journalFile, `"agent_id":"P03"`}}, 2},
		{"a flipped byte that leaves none", edited(journalFile, `"type":"match_accepted"`, `"type":"match_bccepted"`),
			[]position{{audit.RuleEvent, journalFile, `match_bccepted`}, {audit.RuleHashChain, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 2},
		{"an invalid time", editedLine(`"at":"2026-01-01T`, `"at":"2026-13-01T`, `"seq":9,`),
			[]position{{audit.RuleTime, journalFile, "2026-13-01"}}, 1},
		{"a journal of a newer program", edited(journalFile, `"schema_version":"1.0.0"`, `"schema_version":"2.0.0"`),
			[]position{
				{audit.RuleSchema, journalFile, `"2.0.0"`}, {audit.RuleHashChain, journalFile, `"registered"`},
			}, 2},
		{"an empty journal", func(w *savedLeague) { w.write(journalFile, "") },
			[]position{{audit.RuleEvent, journalFile, ""}, {audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 4},
		{"no journal", func(w *savedLeague) { w.remove(journalFile) }, []position{{audit.RuleSchema, journalFile, ""}}, 1},
		{"a journal of another league", editedLine(`"league_id":"cup"`, `"league_id":"other"`, `"seq":1,`),
			[]position{{audit.RuleEvent, journalFile, `"other"`}}, 99},
		{"another winner", func(w *savedLeague) {
			lines := w.lines()
			i := indexOf(lines, report, `"status":"WIN"`)
			was, is := `"winner_player_id":"P01"`, `"winner_player_id":"P02"`
			if !strings.Contains(lines[i], was) {
				was, is = is, was
			}
			lines[i] = strings.Replace(lines[i], was, is, 1)
			w.rechain(lines)
		}, []position{{audit.RulePoints, journalFile, `"status":"WIN"`}}, 1},
		{"another winner with the points of one", func(w *savedLeague) {
			swap := strings.NewReplacer(`"winner_player_id":"P02"`, `"winner_player_id":"P01"`, `"score":{"P01":0,"P02":3}`, `"score":{"P01":3,"P02":0}`)
			w.changeLine(swap.Replace, report, `"R1M1"`, `"status":"WIN"`)
		}, []position{
			{audit.RuleVerdict, journalFile, `"match_reported","data":{"match_id":"R1M1"`}, {audit.RuleMatchFile, r1m1, ""},
			{audit.RuleHistory, historyP01, `"result"`},
		}, 12},
		{"wrong points in the journal", editedLine(`:3`, `:4`, report, `"status":"WIN"`),
			[]position{{audit.RulePoints, journalFile, `"status":"WIN"`}}, 2},
		{"another scoring in a match file", edited(r1m1, `"win_points": 3`, `"win_points": 4`),
			[]position{{audit.RulePoints, r1m1, `"win_points": 4`}}, 1},
		{"a result of an unknown status", func(w *savedLeague) {
			w.changeLine(strings.NewReplacer(`"status":"WIN"`, `"status":"WON"`, `"status":"DRAW"`, `"status":"WON"`).Replace, report, `"R1M1"`)
		}, []position{{audit.RuleVerdict, journalFile, `"WON"`}}, 99},
		{"a result of other players", func(w *savedLeague) {
			w.changeLine(strings.NewReplacer(`"P01":`, `"P03":`).Replace, report, `"R1M1"`)
		}, []position{{audit.RuleSchedule, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 99},
		{"a reused nonce", func(w *savedLeague) {
			lines := w.lines()
			for _, kind := range []string{`"match_accepted"`, report} {
				i := indexOf(lines, kind, `"R1M2"`)
				lines[i] = strings.NewReplacer(
					secretOf("nonce R1M2").Hex(), secretOf("nonce R1M1").Hex(),
					protocol.DrawCommitment(leagueID, "R1M2", 1, "REF01", secretOf("nonce R1M2")),
					protocol.DrawCommitment(leagueID, "R1M2", 1, "REF01", secretOf("nonce R1M1")),
				).Replace(lines[i])
			}
			w.rechain(lines)
		}, []position{{audit.RuleNonceReused, journalFile, `"match_reported","data":{"match_id":"R1M2"`}}, 99},
		{"a nonce that is no digest", editedLine(secretOf("nonce R1M1").Hex(), "Nonce", report, `"R1M1"`),
			[]position{{audit.RuleCommitment, journalFile, `"Nonce"`}, {audit.RuleMatchFile, r1m1, ""}}, 2},
		{"entropy of a third player", editedLine(`"entropies":{"P01":`, `"entropies":{"P03":`, report, `"R1M1"`),
			[]position{{audit.RuleSchedule, journalFile, `"entropies":{"P03":`}}, 9},
		{"a nonce that is not revealed", func(w *savedLeague) {
			w.changeLine(func(line string) string { return line[:strings.Index(line, `,"draw":{`)] + "}}" }, report, `"R1M1"`)
			w.edit(r1m1, `(?s)^(.*)"draw": \{\s+"commitment".*?\}\s+\},(\s+"result")`, `$1$2`)
		}, []position{{audit.RuleCommitment, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 3},
		{"a contradicting history", edited(historyP01, `"my_choice":"even"`, `"my_choice":"odd"`),
			[]position{{audit.RuleHistory, historyP01, `"my_choice":"odd"`}}, 1},
		{"a history with another result, said to be from the standings", func(w *savedLeague) {
			w.edit(historyP01, `"result":"\w+"`, `"from_standings":true,"result":"LOST"`)
		}, []position{{audit.RuleHistory, historyP01, `"LOST"`}}, 2},
		{"a referee that drew again", edited(historyP01, `"draw_commitment":"\w{8}`, `"draw_commitment":"00000000`),
			[]position{{audit.RuleHistory, historyP01, `"draw_commitment":"00000000`}}, 1},
		{"a part in the draw that was not counted", edited(historyP01, `"entropy":"\w{8}`, `"entropy":"00000000`),
			[]position{{audit.RuleHistory, historyP01, `"entropy":"00000000`}}, 1},
		{"a history of another player", edited(historyP01, `"player_id":"P01"`, `"player_id":"P02"`),
			[]position{{audit.RuleHistory, historyP01, `"player_id"`}}, 1},
		{"a history of an unknown player", func(w *savedLeague) {
			w.write("data/players/P09/history.jsonl", strings.ReplaceAll(w.read(historyP01), `"player_id":"P01"`, `"player_id":"P09"`))
		}, []position{{audit.RuleHistory, "data/players/P09/history.jsonl", `"player_id"`}}, 1},
		{"a history with a match of other players", edited(historyP01, `"match_id":"R1M1"`, `"match_id":"R1M2"`),
			[]position{{audit.RuleHistory, historyP01, `"match_id":"R1M2"`}}, 1},
		{"all match files missing", func(w *savedLeague) { w.remove("data/matches/cup") }, []position{{audit.RuleMatchFile, r1m1, ""}}, 6},
		{"a match file of another match", func(w *savedLeague) { w.write(r1m1, w.read(r2m1)) },
			[]position{{audit.RuleMatchFile, r1m1, `"match_id"`}}, 4},
		{"a match file with another attempt", edited(r1m1, `"attempt": 1`, `"attempt": 2`),
			[]position{{audit.RuleMatchFile, r1m1, `"attempt": 2`}, {audit.RuleMatchFile, r1m1, `"conversation_id"`}}, 4},
		{"a match file of other players", edited(r1m1, `(?s)("player_A": \{\s+"player_id": )"P01"`, `${1}"P04"`),
			[]position{{audit.RuleSchedule, r1m1, `"P04"`}}, 1},
		{"a match file without a result", edited(r1m1, `(?s)"result": \{.*\},(\s+"scoring")`, `"result": null,$1`),
			[]position{{audit.RuleMatchFile, r1m1, `"result": null`}}, 1},
		{"edited rounds", edited(roundsFile, `"referee_id": "REF01"`, `"referee_id": "REF07"`),
			[]position{{audit.RuleRounds, roundsFile, `"REF07"`}}, 1},
		{"a schedule of other pairs", edited(roundsFile, `"player_B_id": "P04"`, `"player_B_id": "P07"`),
			[]position{{audit.RuleSchedule, roundsFile, `"player_B_id": "P07"`}}, 1},
		{"a transcript without the choice", func(w *savedLeague) {
			w.edit(r1m1, `(?s),?\s+\{[^{}]*"received",\s+"player_id": "P01",\s+"method": "choose_parity"[^{}]*\{[^{}]*\}\s+\}`, ``)
		}, []position{{audit.RuleTranscript, r1m1, ""}}, 3},
		{"an empty transcript", edited(r1m1, `(?s)"transcript": \[.*\],(\s+"digested)`, `"transcript": [],$1`),
			[]position{{audit.RuleTranscript, r1m1, `"transcript"`}}, 10},
		{"an illegal choice in the transcript", edited(r1m1, `"parity_choice": "even"`, `"parity_choice": "eleven"`),
			[]position{{audit.RuleTranscript, r1m1, `"eleven"`}}, 3},
		{"a technical loss without a failure", edited(r2m1, `(?s)^(.*),\s+"error": \{[^}]*\}`, `$1`),
			[]position{{audit.RuleTranscript, r2m1, ""}}, 5},
		{"a technical loss of a player that answered", func(w *savedLeague) {
			// The last of the four failures becomes an answer.
			w.edit(r2m1, `(?s)(.*)"error": \{[^}]*\}`, `$1"message": {"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P03", "timestamp": "2026-01-01T12:00:00Z", "conversation_id": "conv-r2m1-a1", "match_id": "R2M1", "player_id": "P03", "parity_choice": "even", "entropy": "`+secretOf("R2M1P03").Hex()+`"}`)
		}, []position{{audit.RuleTranscript, r2m1, ""}}, 5},
		{"a legal answer that was refused", func(w *savedLeague) {
			w.edit(r2m1, `(?s)(.*)"error": \{[^}]*\}`, `$1"message": {"match_id": "R2M1", "parity_choice": "even"}, "error": {"error_code": "E004", "error_name": "INVALID_PARITY_CHOICE", "detail": "no"}`)
		}, []position{{audit.RuleTranscript, r2m1, `"E004"`}}, 3},
		{"a failure of a player that did not lose", func(w *savedLeague) {
			w.edit(r1m1, `(?s)("received",\s+"player_id": "P01",\s+"method": "choose_parity"[^{}]*)"message": \{[^{}]*\}`, `$1"error": {"error_code": "E001", "error_name": "TIMEOUT_ERROR", "detail": "no"}`)
		}, []position{{audit.RuleTranscript, r1m1, ""}}, 3},
		{"an answer without a question", func(w *savedLeague) {
			w.edit(r1m1, `(?s)\s+\{[^{}]*"sent",\s+"player_id": "P01",\s+"method": "handle_game_invitation"[^{}]*\{[^{}]*\}\s+\},`, ``)
		}, []position{{audit.RuleTranscript, r1m1, `"handle_game_invitation"`}}, 1},
		{"a message of a third party", edited(r1m1, `("direction": "sent",\s+"player_id": )"P01"`, `${1}"P03"`),
			[]position{{audit.RuleTranscript, r1m1, `"player_id": "P03"`}}, 2},
		{"players told of another result", edited(r1m1, `(?s)("game_result": \{.*?"drawn_number": )(\d+)`, `${1}1$2`),
			[]position{{audit.RuleTranscript, r1m1, `"drawn_number"`}}, 1},
		{"an attempt that was never assigned", func(w *savedLeague) {
			w.write("data/matches/cup/R1M1-a7.json", strings.Replace(w.read(r1m1), `"attempt": 1`, `"attempt": 7`, 1))
		}, []position{{audit.RuleMatchFile, "data/matches/cup/R1M1-a7.json", `"match_id"`}}, 1},
		{"an attempt under another name", func(w *savedLeague) { w.write("data/matches/cup/R1M1-a7.json", w.read(r1m1)) },
			[]position{{audit.RuleMatchFile, "data/matches/cup/R1M1-a7.json", `"match_id"`}}, 1},
		{"a match file of another league of the same name", func(w *savedLeague) {
			w.edit(r1m1, `"attempt": 1`, `"started": "`+strings.Repeat("0", 64)+`", "attempt": 1`)
		}, []position{{audit.RuleMatchFile, r1m1, `"started"`}}, 1},
		{"a match file of an unknown writer", edited(r1m1, `"written_by": "referee"`, `"written_by": "someone"`),
			[]position{{audit.RuleMatchFile, r1m1, `"someone"`}}, 1},
		{"a referee's match file said to be the manager's", func(w *savedLeague) {
			w.edit(r1m1, `"written_by": "referee"`, `"written_by": "manager"`)
		}, []position{{audit.RuleMatchFile, r1m1, `"transcript"`}, {audit.RuleMatchFile, r1m1, `"conversation_id"`}}, 5},
		{"a transcript that omits exchanges although it is not full", func(w *savedLeague) {
			w.edit(r1m1, `(\s+)"draw": \{\s+"commitment": "[^"]*",\s+"nonce": "[^"]*",\s+"entropies": \{[^}]*\}\s+\},(\s+"result")`, `$1"transcript_omitted": 12,$0`)
		}, []position{{audit.RuleTranscript, r1m1, `"transcript_omitted"`}}, 1},
		{"a forged message in a transcript that omits exchanges", func(w *savedLeague) {
			w.edit(r1m1, `"role_in_match": "PLAYER_A"`, `"role_in_match": "PLAYER_B"`)
			w.edit(r1m1, `(\s+)"draw": \{\s+"commitment": "[^"]*",\s+"nonce": "[^"]*",\s+"entropies": \{[^}]*\}\s+\},(\s+"result")`, `$1"transcript_omitted": 12,$0`)
		}, []position{{audit.RuleTranscript, r1m1, `"transcript_omitted"`}, {audit.RuleTranscript, r1m1, `"role_in_match"`}}, 2},
		{"a player without GAME_OVER", func(w *savedLeague) {
			w.transcript(func(d *store.Match) { d.Transcript = d.Transcript[:len(d.Transcript)-1] })
		}, []position{{audit.RuleTranscript, r1m1, `"transcript"`}}, 1},
		{"a choice after the end", withTranscript(func(d *store.Match) {
			n := len(d.Transcript)
			d.Transcript = slices.Concat(d.Transcript[:n-4], d.Transcript[n-2:], d.Transcript[n-4:n-2])
		}), []position{{audit.RuleTranscript, r1m1, ""}}, 2},
		{"an invitation after a choice", withTranscript(func(d *store.Match) {
			d.Transcript = slices.Concat(d.Transcript[2:6], d.Transcript[:2], d.Transcript[6:])
		}), []position{{audit.RuleTranscript, r1m1, ""}}, 4},
		{"an answer after its deadline", edited(r1m1, `("deadline": "2026-01-01T)12`, `${1}11`),
			[]position{{audit.RuleTranscript, r1m1, ""}}, 1},
		{"a match by unknown rules of the conversation", edited(r1m1, `(?s)("scoring": \{[^}]*\})(,\s*"conduct_version": "[^"]*")?`, `$1, "conduct_version": "v9"`),
			[]position{{audit.RuleSchema, r1m1, `"conduct_version"`}}, 1},
		{"states in another order", edited(r1m1, `"state": "WAITING_FOR_PLAYERS"`, `"state": "FINISHED"`),
			[]position{{audit.RuleMatchFile, r1m1, `"states"`}}, 1},
		{"a state that is not the last", edited(r1m1, `"state": "ACKNOWLEDGED"`, `"state": "FINISHED"`),
			[]position{{audit.RuleMatchFile, r1m1, `"state": "FINISHED"`}}, 1},
		{"no states", edited(r1m1, `(?s)"states": \[[^\]]*\]`, `"states": []`),
			[]position{{audit.RuleMatchFile, r1m1, `"states"`}}, 1},
		{"a result before the end", edited(r1m1, `(?s)\{\s+"state": "FINISHED"[^}]*\},`, ``),
			[]position{{audit.RuleMatchFile, r1m1, `"states"`}}, 1},
		{"an invitation to another match", func(w *savedLeague) {
			w.edit(r1m1, `(?s)("role_in_match".*?|"round_id": 1,\s+)"match_id": "R1M1"(,\s+"game_type": "even_odd",\s+"role_in_match")`, `$1"match_id": "R1M2"$2`)
		}, []position{{audit.RuleTranscript, r1m1, `"R1M2"`}}, 1},
		{"an invitation in another role", edited(r1m1, `"role_in_match": "PLAYER_A"`, `"role_in_match": "PLAYER_B"`),
			[]position{{audit.RuleTranscript, r1m1, `"role_in_match": "PLAYER_B"`}}, 1},
		{"a question of another referee", edited(r1m1, `"sender": "referee:REF01"`, `"sender": "referee:REF09"`),
			[]position{{audit.RuleTranscript, r1m1, `REF09`}}, 1},
		{"an answer about another match", func(w *savedLeague) {
			w.edit(r1m1, `(?s)("CHOOSE_PARITY_RESPONSE",\s+"sender".*?"match_id": )"R1M1"`, `${1}"R9M9"`)
		}, []position{{audit.RuleTranscript, r1m1, `"R9M9"`}}, 1},
		{"another label on a message", edited(r1m1, `"message_type": "GAME_JOIN_ACK"`, `"message_type": "GAME_OVER"`),
			[]position{{audit.RuleTranscript, r1m1, `"message_type": "GAME_OVER"`}}, 1},
		{"an omitted call attempt", func(w *savedLeague) {
			w.transcriptOf("R2M1", func(d *store.Match) {
				i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Try == 2 })
				d.Transcript = slices.Delete(d.Transcript, i, i+3)
			})
		}, []position{{audit.RuleTranscript, r2m1, `"try": 3`}}, 1},
		{"GAME_OVER by a second try", withTranscript(func(d *store.Match) { d.Transcript[len(d.Transcript)-1].Try = 2 }),
			[]position{{audit.RuleTranscript, r1m1, `"try": 2`}}, 1},
		{"a GAME_OVER that the file omits", withTranscript(func(d *store.Match) {
			last := &d.Transcript[len(d.Transcript)-1]
			last.Message, last.MessageOmitted = nil, store.OmittedTooLarge
			last.Error = &store.ExchangeError{ErrorCode: "E017", ErrorName: protocol.Code("E017").Name()}
		}), []position{{audit.RuleTranscript, r1m1, `"transcript"`}}, 1},
		{"an answer with a member that cannot be read", edited(r1m1, `("CHOOSE_PARITY_RESPONSE",\s+"sender": )"player:P01"`, `${1}[1]`),
			[]position{{audit.RuleTranscript, r1m1, ""}}, 3},
		{"an answer to another call attempt", edited(r1m1, `(?s)("received".*?"try": )1`, `${1}5`),
			[]position{{audit.RuleTranscript, r1m1, `"try": 5`}}, 1},
		{"a player that gets no second attempt", func(w *savedLeague) {
			w.transcriptOf("R2M1", func(d *store.Match) {
				i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Try == 2 })
				d.Transcript = slices.Delete(d.Transcript, i, i+9)
			})
		}, []position{{audit.RuleTranscript, r2m1, ""}}, 1},
		{"a player that gets a fifth attempt", func(w *savedLeague) {
			w.transcriptOf("R2M1", func(d *store.Match) {
				i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Try == 4 })
				again := slices.Clone(d.Transcript[i : i+3])
				for k := range again {
					again[k].Try = 5
				}
				d.Transcript = slices.Insert(d.Transcript, i+3, again...)
			})
		}, []position{{audit.RuleTranscript, r2m1, ""}}, 1},
		{"a fifth attempt after timeouts a second after the deadline", func(w *savedLeague) {
			w.transcriptOf("R2M1", func(d *store.Match) {
				i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Try == 4 })
				again := slices.Clone(d.Transcript[i : i+3])
				for k := range again {
					again[k].Try = 5
				}
				d.Transcript = slices.Insert(d.Transcript, i+3, again...)
				for k := range d.Transcript {
					if e := &d.Transcript[k]; e.Error != nil {
						e.At = strings.Replace(e.At, ":00.000", ":31.100", 1)
					}
				}
			})
		}, []position{{audit.RuleTranscript, r2m1, ""}}, 1},
		{"a failure of which the player was not told", func(w *savedLeague) {
			w.transcriptOf("R2M1", func(d *store.Match) {
				i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Method == protocol.NotifyGameError.Name })
				d.Transcript = slices.Delete(d.Transcript, i, i+1)
			})
		}, []position{{audit.RuleTranscript, r2m1, ""}}, 1},
		{"a GAME_ERROR that miscounts the retries", func(w *savedLeague) {
			w.edit(r2m1, `(?s)("GAME_ERROR".*?"affected_player": "P03")`, `$1, "retryable": true, "retry_count": 3, "max_retries": 3`)
		}, []position{{audit.RuleTranscript, r2m1, `"retry_count": 3`}}, 1},
		{"an answer that the file no longer has", edited(r1m1, `(?s)("received",\s+"player_id": "P02",\s+"method": "choose_parity"[^{}]*),\s+"message": \{[^{}]*\}`, `$1`),
			[]position{{audit.RuleTranscript, r1m1, ""}}, 9},
		{"a question with more time than the league gives", edited(r1m1, `("deadline": "2026-01-01T12:\d\d):30Z"`, `${1}:50Z"`),
			[]position{{audit.RuleTranscript, r1m1, `"deadline"`}}, 1},
		{"a question that asks for a signature in a league without", edited(r1m1, `("deadline": "[^"]*")`, `$1, "sign": true`),
			[]position{{audit.RuleTranscript, r1m1, `"sign"`}}, 1},
		{"an exchange that is neither an answer nor a failure", edited(r1m1, `(?s)("received",\s+"player_id": "P01",\s+"method": "handle_game_invitation"[^{}]*),\s+"message": \{[^{}]*\}`, `$1`),
			[]position{{audit.RuleTranscript, r1m1, ""}}, 9},
		{"a second question after a correct answer", withTranscript(func(d *store.Match) {
			again := slices.Clone(d.Transcript[4:6])
			again[0].Try, again[1].Try = 2, 2
			d.Transcript = slices.Insert(d.Transcript, 6, again...)
		}), []position{{audit.RuleTranscript, r1m1, ""}}, 1},
		{"other standings in a question", edited(r2m1, `"wins": \d`, `"wins": 9`),
			[]position{{audit.RuleTranscript, r2m1, `"wins": 9`}}, 1},
		{"a GAME_ERROR without a failure", func(w *savedLeague) {
			w.edit(r1m1, `"transcript": \[`, `"transcript": [{"at": "2026-01-01T12:00:00.000Z", "direction": "sent", "player_id": "P01", "method": "notify_game_error", "message_type": "GAME_ERROR", "try": 1,
				"message": {"message_type": "GAME_ERROR", "sender": "referee:REF01", "conversation_id": "conv-r1m1-a1", "match_id": "R1M1", "player_id": "P01", "affected_player": "P01", "error_code": "E001"}},`)
		}, []position{{audit.RuleTranscript, r1m1, `"notify_game_error"`}}, 1},
		{"a GAME_ERROR of another referee", edited(r2m1, `("GAME_ERROR",\s+"sender": )"referee:REF01"`, `${1}"referee:REF09"`),
			[]position{{audit.RuleTranscript, r2m1, `REF09`}}, 1},
		{"a second answer to an invitation among the choices", withTranscript(func(d *store.Match) {
			d.Transcript = slices.Insert(d.Transcript, 6, d.Transcript[1])
			d.Transcript = slices.Insert(d.Transcript, 1, d.Transcript[0])
		}), []position{{audit.RuleTranscript, r1m1, ""}}, 2},
		{"an error of another kind", edited(r2m1, `(?s)("GAME_ERROR".*?"error_code": )"E001"`, `${1}"E004"`),
			[]position{{audit.RuleTranscript, r2m1, `"E004"`}}, 1},
		{"an exchange of an unknown method", edited(r1m1, `"method": "notify_match_result"`, `"method": "whisper"`),
			[]position{{audit.RuleTranscript, r1m1, `"whisper"`}}, 3},
		{"a token deep in a message", func(w *savedLeague) {
			w.edit(r1m1, `"arrival_timestamp"`, `"a": [{"auth_token": "secret"}], "arrival_timestamp"`)
		},
			[]position{{audit.RuleTranscript, r1m1, `"auth_token"`}}, 1},
		{"a text that looks like a token", func(w *savedLeague) {
			w.edit(r1m1, `"arrival_timestamp": "`, `"arrival_timestamp": "tok-p01-0123456789abcdef01234567`)
		},
			[]position{{audit.RuleTranscript, r1m1, `tok-p01`}}, 1},
		{"a token in an error", edited(r2m1, `"no answer in time"`, `"not adm-0123456789abcdef01234567"`),
			[]position{{audit.RuleTranscript, r2m1, `adm-`}}, 1},
		{"players told of another draw", func(w *savedLeague) {
			w.edit(r1m1, `(?s)("game_result": .*?"nonce": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("ab", 32)+`"`)
		}, []position{{audit.RuleTranscript, r1m1, ""}}, 1},
		{"an attempt that was acknowledged", func(w *savedLeague) { w.write("data/matches/cup/R1M1-a1.json", w.read(r1m1)) },
			[]position{{audit.RuleMatchFile, "data/matches/cup/R1M1-a1.json", `"state"`}}, 1},
		{"an attempt with another result than the match", func(w *savedLeague) {
			d, err := store.Read[store.Match](w.dir.Disk, w.dir.Match(leagueID, "R1M1"))
			require.NoError(w.t, err)
			d.Lifecycle.State, d.Lifecycle.States = "FINISHED", d.Lifecycle.States[:5]
			*d.Result.DrawnNumber += 2
			require.NoError(w.t, store.WriteDerived(disk.Real{}, w.path("data/matches/cup/R1M1-a1.json"), d))
		}, []position{{audit.RuleMatchFile, "data/matches/cup/R1M1-a1.json", ""}}, 3},
		{"a history by another name", edited(historyP01, `"display_name":"Player P01"`, `"display_name":"Nobody"`),
			[]position{{audit.RuleHistory, historyP01, `"Nobody"`}}, 1},
		{"a history of an attempt that never was", edited(historyP01, `"attempt":1`, `"attempt":4`),
			[]position{{audit.RuleHistory, historyP01, `"attempt":4`}}, 1},
		{"standings with an invalid time", edited(standingsFile, `("last_updated": )"[^"]*"`, `$1"noon"`),
			[]position{{audit.RuleStandings, standingsFile, `"noon"`}}, 1},
		{"a void attempt without evidence", withFailure(func(e *store.Exchange) { e.Void = "the referee was slow" }),
			[]position{{audit.RuleTranscript, r2m1, `"void"`}}, 2},
		{"a void attempt with a short queue time", withFailure(func(e *store.Exchange) {
			e.Void, e.Timing = "the referee was slow", &protocol.Timing{Queued: 99 * time.Millisecond}
		}), []position{{audit.RuleTranscript, r2m1, `"void"`}}, 2},
		{"a void attempt that was queued for longer than it took", withFailure(func(e *store.Exchange) {
			e.Void, e.Timing = "the referee was slow", &protocol.Timing{Queued: 3 * time.Second}
		}), []position{{audit.RuleTranscript, r2m1, `"timing"`}}, 2},
		{"a broken connection that is called void", withFailure(func(e *store.Exchange) {
			e.Void, e.Stalled, e.Error.ErrorCode = "the referee was slow", 5000, "E009"
		}), []position{{audit.RuleTranscript, r2m1, `"void"`}}, 2},
		{"a wrong answer that is called void", withFailure(func(e *store.Exchange) {
			e.Void, e.Local, e.Error.ErrorCode = "the referee was slow", true, "E004"
			e.Message = jsontext.Value(`{"message_type": "CHOOSE_PARITY_RESPONSE"}`)
			e.MessageType = "CHOOSE_PARITY_RESPONSE"
		}), []position{{audit.RuleTranscript, r2m1, `"void"`}}, 2},
		{"an answer in time that is called void", func(w *savedLeague) {
			w.transcript(func(d *store.Match) { discardAnswer(d, "31.000", "E001") })
		}, []position{{audit.RuleTranscript, r1m1, `"void"`}}, 1},
		{"a void end", withTranscript(func(d *store.Match) {
			last := d.Transcript[len(d.Transcript)-1]
			last.Direction, last.Message, last.MessageType = store.Received, nil, ""
			last.Error = &store.ExchangeError{ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR"}
			last.Void, last.Stalled = "the referee was slow", 9000
			d.Transcript = append(d.Transcript, last)
		}), []position{{audit.RuleTranscript, r1m1, `"void"`}}, 1},
		{"a stall of an attempt that is not void", withFailure(func(e *store.Exchange) { e.Stalled = 5000 }),
			[]position{{audit.RuleTranscript, r2m1, ""}}, 1},
		{"the time of a call where it is sent", func(w *savedLeague) {
			w.transcript(func(d *store.Match) { d.Transcript[0].Timing = &protocol.Timing{} })
		}, []position{{audit.RuleTranscript, r1m1, ""}}, 1},
		{"another champion", editedLine(`"points":`, `"points":1`, `"type":"completed"`),
			[]position{{audit.RuleStandings, journalFile, `"type":"completed"`}}, 1},
		{"a champion of another name", func(w *savedLeague) {
			w.editLine(`"display_name":"`, `"display_name":"The great `, `"type":"completed"`)
		}, []position{{audit.RuleStandings, journalFile, `"type":"completed"`}}, 1},
		{"a signature of a player without a key", func(w *savedLeague) {
			w.editLine(`"data":{`, `"data":{"manager_key":"`+strings.Repeat("ab", 32)+`",`, `"type":"created"`)
			w.editLine(`"data":{`, `"data":{"signatures":{"P01":{"signature":"ab"}},`, report, `"R1M1"`)
		}, []position{{audit.RuleSignature, journalFile, `"match_reported","data":{"signatures"`}}, 9},
		{"the result of a report that was not recorded", func(w *savedLeague) {
			w.insertAfter("match_accepted", "R1M1",
				`"type":"attempt_lost","data":{"match_id":"R1M1","attempt":1,"referee_id":"REF01","cause":"rejected"}`)
		}, []position{{audit.RuleDoubt, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 1},
		{"a signed head in a league that does not sign", func(w *savedLeague) {
			header := &store.HistoryHeader{PlayerID: "P01", LeagueID: leagueID}
			signed := &store.HistoryHead{Head: store.SignedHead{JournalHead: journal.Origin}}
			require.NoError(w.t, store.AppendHistory(disk.Real{}, w.path(historyP01), header, []any{signed}, new(int64)))
		}, []position{{audit.RuleKeys, historyP01, ""}}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			tt.forge(w)
			l := w.audit()
			for _, p := range tt.want {
				assert.True(t, w.has(l.Findings, p), "no %v among:\n%s", p, listed(l.Findings))
			}
			assert.LessOrEqual(t, len(l.Findings), cmp.Or(tt.max, len(tt.want)), listed(l.Findings))
			assert.Equal(t, l, w.audit(), "the same files have the same findings in the same order")
		})
	}
}

// edited is a forgery by savedLeague.edit.
func edited(file, pattern, by string) func(*savedLeague) {
	return func(w *savedLeague) { w.edit(file, pattern, by) }
}

// editedLine is a forgery by savedLeague.editLine.
func editedLine(old, replacement string, texts ...string) func(*savedLeague) {
	return func(w *savedLeague) { w.editLine(old, replacement, texts...) }
}

// withTranscript is a forgery by savedLeague.transcript.
func withTranscript(change func(d *store.Match)) func(*savedLeague) {
	return func(w *savedLeague) { w.transcript(change) }
}

// withFailure changes the first failure in R2M1, of four that lose the match.
func withFailure(change func(e *store.Exchange)) func(*savedLeague) {
	return func(w *savedLeague) {
		w.transcriptOf("R2M1", func(d *store.Match) {
			i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Error != nil })
			change(&d.Transcript[i])
		})
	}
}

// P01 is asked once more than it was: the first attempt is void, so that it got no
// GAME_ERROR.
func TestVoidAttemptWithEvidenceIsNoFinding(t *testing.T) {
	for name, excuse := range map[string]func(e *store.Exchange){
		"the question waited": func(e *store.Exchange) {
			e.At = "2026-01-01T23:00:08.000Z"
			e.Timing = &protocol.Timing{Queued: 3 * time.Second, Waiting: 5 * time.Second}
		},
		"the question waited hardly longer than it may, and the referee looked up late": func(e *store.Exchange) {
			e.At = "2026-01-01T23:00:05.453Z" // of 5 s
			e.Timing = &protocol.Timing{Queued: 253 * time.Millisecond, Waiting: 5200 * time.Millisecond}
		},
		"the referee stood still": func(e *store.Exchange) { e.Stalled = 1200 },
		"the call failed there": func(e *store.Exchange) {
			e.Local, e.Error.ErrorCode, e.Error.ErrorName = true, "E009", "CONNECTION_ERROR"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			w.transcript(func(d *store.Match) { // P01 is asked once more than it was, in vain
				asked, void := d.Transcript[4], d.Transcript[4]
				asked.At = "2026-01-01T23:00:00.000Z"
				void.At, void.Direction, void.Message, void.MessageType, void.Void = asked.At, store.Received, nil, "", "not its fault"
				void.Error = &store.ExchangeError{ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR", Detail: "no answer in time"}
				excuse(&void)
				d.Transcript[4].Try, d.Transcript[5].Try = 2, 2
				d.Transcript = slices.Insert(d.Transcript, 4, asked, void)
			})
			l := w.audit()
			assert.Empty(t, l.Findings, listed(l.Findings))
		})
	}
}

// The referee read an answer more than the tolerance after its deadline.
func TestAnswerThatTheRefereeReadTooLateMayBeVoid(t *testing.T) {
	for code, at := range map[string]string{"E001": "31.001", "E002": "45.000"} {
		w := newSavedLeague(t, 3)
		w.transcript(func(d *store.Match) { discardAnswer(d, at, code) })
		l := w.audit()
		assert.Empty(t, l.Findings, listed(l.Findings))
	}
}

// discardAnswer asks P01 once more than it was. Its answer to the first attempt is
// void, with an error of a code. The referee read it at a second of the minute whose second
// 30 is the deadline.
func discardAnswer(d *store.Match, second, code string) {
	asked, void := d.Transcript[4], d.Transcript[5]
	void.At, void.Void = strings.Replace(asked.At, ":00.000", ":"+second, 1), "the referee read the response too late"
	void.Error = &store.ExchangeError{ErrorCode: code, ErrorName: protocol.Code(code).Name(), Detail: "too late"}
	d.Transcript[4].Try, d.Transcript[5].Try = 2, 2
	d.Transcript = slices.Insert(d.Transcript, 4, asked, void)
}

// A league that is stopped in a match and started again with other settings has the referee begin the attempt again.
func TestMatchMayHaveEachConfigurationOfItsTime(t *testing.T) {
	for name, tt := range map[string]struct {
		after  string // the event before the new configuration
		move   int    // the new time for a move in seconds; it was 30
		guilty bool
	}{
		"that in the match":             {"match_accepted", 60, false},
		"none of both":                  {"match_accepted", 45, true},
		"one that came with the result": {"match_reported", 60, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			configuration := newCreated().Configuration
			configuration.Timeouts.Move, configuration.Evidence = float64(tt.move), journal.GradeStated
			text, err := json.Marshal(&configuration)
			require.NoError(t, err)
			w.insertAfter(tt.after, "R1M1", `"type":"configured","data":{"configuration":`+string(text)+`}`)
			w.edit(r1m1, `("deadline": "2026-01-01T12:\d\d):30Z"`, `${1}:59Z"`)
			l := w.audit()
			assert.Equal(t, tt.guilty, w.has(l.Findings, position{audit.RuleTranscript, r1m1, `"deadline"`}), listed(l.Findings))
			if !tt.guilty {
				assert.Empty(t, l.Findings, listed(l.Findings))
			}
		})
	}
}

// A strict league refuses an answer for its form, of which the file does not have all: here a player_id without a
// value. It refuses no legal move as illegal.
func TestFormThatAStrictLeagueRefuses(t *testing.T) {
	for code, guilty := range map[string]bool{"E002": false, "E012": false, "E004": true, "E015": true} {
		t.Run(code, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			configuration := newCreated().Configuration
			configuration.Replies, configuration.Evidence = protocol.RepliesStrict, journal.GradeStated
			text, err := json.Marshal(&configuration)
			require.NoError(t, err)
			w.insertAfter("round_completed", "summary", `"type":"configured","data":{"configuration":`+string(text)+`}`)
			w.transcriptOf("R2M1", func(d *store.Match) {
				answer := `{"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P03", "timestamp": ` +
					`"2026-01-01T12:00:00Z", "conversation_id": "conv-r2m1-a1", "match_id": "R2M1", "parity_choice": "even", "entropy": "` +
					secretOf("R2M1P03").Hex() + `"}`
				for i := range d.Transcript {
					e := &d.Transcript[i]
					if e.Method == protocol.NotifyGameError.Name {
						e.Message = jsontext.Value(strings.Replace(string(e.Message), "E001", code, 1))
					} else if e.Error != nil {
						e.Error = &store.ExchangeError{ErrorCode: code, ErrorName: protocol.Code(code).Name(), Detail: "its form"}
						e.Message, e.MessageType = jsontext.Value(answer), "CHOOSE_PARITY_RESPONSE"
					}
				}
			})
			w.editLine(`"faults":{"P03":"E001"}`, `"faults":{"P03":"`+code+`"}`, `"match_reported"`, `"match_id":"R2M1"`)
			w.edit(r2m1, `(?s)(.*)"faults": \{[^}]*\}`, `${1}"faults":{"P03":"`+code+`"}`)
			l := w.audit()
			assert.Equal(t, guilty, w.has(l.Findings, position{audit.RuleTranscript, r2m1, ""}), listed(l.Findings))
			if !guilty {
				assert.Empty(t, l.Findings, listed(l.Findings))
			}
		})
	}
}

// Nobody waits for the acknowledgement of a GAME_ERROR: it may come after a later question with the same try.
func TestLateAcknowledgementOfGameErrorIsNoFinding(t *testing.T) {
	w := newSavedLeague(t, 3)
	w.transcript(func(d *store.Match) { // P01 fails once to join
		asked, failure := d.Transcript[0], d.Transcript[1]
		at := func(second string) string { return strings.Replace(asked.At, ":00.", ":"+second+".", 1) }
		failure.Message, failure.MessageType = nil, ""
		failure.Error = &store.ExchangeError{ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR", Detail: "no answer in time"}
		complaint := store.Exchange{
			At: asked.At, Direction: store.Sent, PlayerID: asked.PlayerID, Method: protocol.NotifyGameError.Name, Try: 1, MessageType: protocol.TypeGameError,
			Message: jsontext.Value(`{"message_type":"GAME_ERROR","sender":"referee:REF01","conversation_id":"` + d.ConversationID + `","match_id":"` +
				d.MatchID + `","player_id":"` + asked.PlayerID + `","affected_player":"` + asked.PlayerID + `","error_code":"E001"}`),
		}
		late := store.Exchange{
			At: at("04"), Direction: store.Received, PlayerID: asked.PlayerID, Method: complaint.Method, Try: 1,
			Error:  &store.ExchangeError{ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR", Detail: "no answer in time"},
			Timing: &protocol.Timing{Waiting: 4 * time.Second},
		}
		d.Transcript[0].Try, d.Transcript[1].Try, d.Transcript[4].At, d.Transcript[5].At = 2, 2, at("03"), at("04")
		d.Transcript = slices.Insert(d.Transcript, 5, late)
		d.Transcript = slices.Insert(d.Transcript, 0, asked, failure, complaint)
	})
	l := w.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
}

// The time that a question was queued at the referee moves the window also for the
// questions after a wrong answer.
func TestQueuedTimeMovesTheDeadline(t *testing.T) {
	for name, tt := range map[string]struct {
		queued time.Duration
		guilty bool
	}{
		"by more than the answer is late": {3 * time.Second, false},
		"by less":                         {time.Second / 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			w.transcript(func(d *store.Match) { // P01 answers wrongly first, and 2 s after its deadline rightly
				asked, wrong, answer := d.Transcript[4], d.Transcript[5], &d.Transcript[5]
				at := func(second string) string { return strings.Replace(asked.At, ":00.", ":"+second+".", 1) }
				wrong.At, wrong.Error = at("04"), &store.ExchangeError{ErrorCode: "E004", ErrorName: "INVALID_PARITY_CHOICE", Detail: "no"}
				wrong.Message = jsontext.Value(strings.Replace(string(wrong.Message), `"even"`, `"Even"`, 1))
				wrong.Timing = &protocol.Timing{Queued: tt.queued, Waiting: time.Second / 2}
				complaint := store.Exchange{
					At: at("04"), Direction: store.Sent, PlayerID: asked.PlayerID, Method: protocol.NotifyGameError.Name, Try: 1, MessageType: protocol.TypeGameError,
					Message: jsontext.Value(`{"message_type":"GAME_ERROR","sender":"referee:REF01","conversation_id":"` + d.ConversationID + `","match_id":"` +
						d.MatchID + `","player_id":"` + asked.PlayerID + `","affected_player":"` + asked.PlayerID + `","error_code":"E004"}`),
				}
				d.Transcript[4].Try, answer.Try, answer.At = 2, 2, at("32")
				d.Transcript[4].At = at("04")
				d.Transcript = slices.Insert(d.Transcript, 4, asked, wrong, complaint)
			})
			l := w.audit()
			assert.Equal(t, tt.guilty, len(l.Findings) > 0, listed(l.Findings))
		})
	}
}

// A player may be suspended for the failure by which it lost. So the journal and the
// match file must agree with the transcript.
func TestFaultOfALoserFollowsFromTheTranscript(t *testing.T) {
	for name, tt := range map[string]struct {
		faults string
		guilty bool
	}{
		"that of the transcript": {`"faults":{"P03":"E001"}`, false},
		"another":                {`"faults":{"P03":"E004"}`, true},
		"none":                   {`"faults":{}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			w.editLine(`"faults":{"P03":"E001"}`, tt.faults, `"match_reported"`, `"match_id":"R2M1"`)
			w.edit(r2m1, `(?s)(.*)"faults": \{[^}]*\}`, `${1}`+tt.faults)
			l := w.audit()
			assert.Equal(t, tt.guilty, w.has(l.Findings, position{audit.RuleTranscript, r2m1, ""}), listed(l.Findings))
			if !tt.guilty {
				assert.Empty(t, l.Findings, listed(l.Findings))
			}
		})
	}
}

// A referee that invents or hides fallbacks contradicts the answers in its transcript.
func TestFallbacksFollowFromTheTranscript(t *testing.T) {
	for name, tt := range map[string]struct {
		said, counted string
		guilty        bool
	}{
		"said and counted":                       {`true`, `{"P01":1}`, false},
		"neither":                                {"", "", false},
		"hidden":                                 {`true`, "", true},
		"invented":                               {"", `{"P01":1}`, true},
		"counted too often":                      {`true`, `{"P01":2}`, true},
		"of the other player":                    {`true`, `{"P02":1}`, true},
		"a member of another type says nothing":  {`"maybe"`, "", false},
		"a member of another type, but counted ": {`"maybe"`, `{"P01":1}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSavedLeague(t, 3)
			w.transcript(func(d *store.Match) {
				for i := range d.Transcript {
					x := &d.Transcript[i]
					edit := func(member, addition string) {
						x.Message = jsontext.Value(regexp.MustCompile(member).ReplaceAllString(string(x.Message), "${0}"+addition+","))
					}
					if x.PlayerID == "P01" && x.Direction == store.Received && x.Method == protocol.ChooseParity.Name && tt.said != "" {
						edit(`^\{`, `"fallback":`+tt.said)
						if tt.said != "true" {
							x.UnreadableMembers = []string{"fallback"}
						}
					}
					if x.Direction == store.Sent && x.Method == protocol.NotifyMatchResult.Name && tt.counted != "" {
						edit(`"game_result": ?\{`, `"fallbacks":`+tt.counted)
					}
				}
			})
			lines := w.lines()
			if tt.counted != "" {
				i := indexOf(lines, `"match_reported"`, `"match_id":"R1M1"`)
				lines[i] = strings.Replace(lines[i], `"reason":"as it is"`, `"reason":"as it is","fallbacks":`+tt.counted, 1)
				w.edit(r1m1, `("result": \{)`, `${1}"fallbacks": `+tt.counted+`,`)
				id, count := tt.counted[2:5], tt.counted[7:8]
				w.edit(standingsFile, `("player_id": "`+id+`",)`, `${1}"fallbacks": `+count+`,`)
			}
			w.rechain(lines)
			l := w.audit()
			assert.Equal(t, tt.guilty, slices.ContainsFunc(l.Findings, func(f audit.Finding) bool {
				return f.Rule == audit.RuleTranscript && f.File == r1m1 && strings.Contains(f.String(), "number of fallbacks")
			}), listed(l.Findings))
			if !tt.guilty {
				assert.Empty(t, l.Findings, listed(l.Findings))
			}
		})
	}
}

func TestHistoryFromTheStandingsIsComparedWithTheJournal(t *testing.T) {
	w := newSavedLeague(t, 3)
	for _, id := range playerIDs {
		h := w.history(id)
		for i := range h.Matches {
			m := &h.Matches[i]
			m.PlayedMatch = protocol.PlayedMatch{
				MatchID: m.MatchID, OpponentID: m.OpponentID, Result: strings.TrimPrefix(m.Result, "TECHNICAL_"), MyChoice: choiceOf(id), FromStandings: true,
			}
			m.DrawCommitment, m.Entropy = "", ""
		}
		w.setHistory(h)
	}
	l := w.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
}
