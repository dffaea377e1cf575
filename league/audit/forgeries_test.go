package audit_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/audit"
	"evenodd/league/protocol"
)

// A place is where something must be found: in the first line of the file, as
// it is after the forgery, that has the text; "" for no line.
type place struct{ rule, file, text string }

// TestForgeries changes one thing at a time. Each is found, named with file and
// line, and does not drown in what follows from it.
func TestForgeries(t *testing.T) {
	const report = `"type":"match_reported"`
	tests := []struct {
		name  string
		forge func(w *world)
		want  []place
		max   int // findings at most; 0 means as many as places
	}{
		{"a changed digit in a result of the journal", func(w *world) {
			w.edit(journalFile, `(R1M1".*"drawn_number":)(\d+)`, `${1}1$2`)
		}, []place{
			{audit.RuleDraw, journalFile, `"match_reported","data":{"match_id":"R1M1"`},
			{audit.RuleHashChain, journalFile, `"match_assigned","data":{"match_id":"R1M2"`},
			{audit.RuleMatchFile, r1m1, ""},
			{audit.RuleHistory, historyP01, `"drawn_number"`},
		}, 6},
		{"a changed digit in a match file", func(w *world) {
			w.edit(r1m1, `(?s)("result": \{.*"drawn_number": )(\d+)`, `${1}1$2`)
		}, []place{{audit.RuleMatchFile, r1m1, ""}}, 3},
		{"a swapped choice in a match file", func(w *world) {
			w.edit(r1m1, `(?s)("result": \{.*"choices": \{\s+"P01": )"even"`, `${1}"odd"`)
		}, []place{{audit.RuleMatchFile, r1m1, ""}, {audit.RuleTranscript, r1m1, ""}}, 4},
		{"a swapped choice in journal and match file", func(w *world) {
			w.edit(r1m1, `(?s)("result": \{.*"choices": \{\s+"P01": )"even"`, `${1}"odd"`)
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.Replace(lines[i], `"P01":"even"`, `"P01":"odd"`, 1)
			w.chained(lines)
		}, []place{
			{audit.RuleVerdict, journalFile, `"match_reported","data":{"match_id":"R1M1"`},
			{audit.RuleTranscript, r1m1, ""}, {audit.RuleHistory, historyP01, `"my_choice"`},
		}, 6},
		{"a removed line", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"match_accepted"`, `"R1M1"`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{{audit.RuleHashChain, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 1},
		{"a removed result", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M2"`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{
			{audit.RuleHashChain, journalFile, `"round_completed"`}, {audit.RuleRounds, journalFile, `"round_completed"`},
			{audit.RuleMatchFile, "data/matches/cup/R1M2.json", `"result": {`},
			{audit.RuleStandings, standingsFile, `"version"`},
		}, 9},
		{"a removed announcement", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"round_announced"`, `"round_id":2`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{
			{audit.RuleHashChain, journalFile, `"match_assigned","data":{"match_id":"R2M1"`}, {audit.RuleEvent, journalFile, `"match_assigned","data":{"match_id":"R2M1"`},
		}, 2},
		{"a removed start", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"type":"started"`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{{audit.RuleHashChain, journalFile, `"round_announced"`}, {audit.RuleRounds, journalFile, `"round_announced"`}}, 2},
		{"a removed registration", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"type":"registered"`, `"P03"`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{{audit.RuleHashChain, journalFile, `"agent_id":"P04"`}, {audit.RuleSchedule, journalFile, `"type":"started"`}}, 2},
		{"a removed first line", func(w *world) { w.keep(w.lines()[1:]) },
			[]place{{audit.RuleEvent, journalFile, `"registered"`}, {audit.RuleHashChain, journalFile, `"registered"`}}, 2},
		{"two lines in the other order", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"registered"`, `"P02"`)
			lines[i], lines[i+1] = lines[i+1], lines[i]
			w.keep(lines)
		}, []place{
			{audit.RuleHashChain, journalFile, `"agent_id":"P03"`}, {audit.RuleHashChain, journalFile, `"agent_id":"P02"`}, {audit.RuleHashChain, journalFile, `"agent_id":"P04"`},
		}, 0},
		{"a forged nonce", func(w *world) {
			w.edit(r1m1, `("nonce": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("ab", 32)+`"`)
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.Replace(lines[i], secretOf("nonce R1M1").Hex(), strings.Repeat("ab", 32), 1)
			w.chained(lines)
		}, []place{{audit.RuleCommitment, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 3},
		{"a forged nonce with its commitment", func(w *world) { // the players have seen the old one
			nonce := secretOf("another")
			was := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", secretOf("nonce R1M1"))
			is := protocol.DrawCommitment(leagueID, "R1M1", 1, "REF01", nonce)
			text := strings.NewReplacer(secretOf("nonce R1M1").Hex(), nonce.Hex(), was, is).Replace(w.read(journalFile))
			w.write(journalFile, text)
			w.chained(w.lines())
			w.edit(r1m1, `(?s)^(.*"draw": \{\s+"commitment": )"[0-9a-f]{64}"(,\s+"nonce": )"[0-9a-f]{64}"(.*"entropies".*"scoring")`, `${1}"`+is+`"${2}"`+nonce.Hex()+`"$3`)
		}, []place{{audit.RuleCommitment, r1m1, `"draw_commitment"`}}, 9},
		{"forged entropy", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.Replace(lines[i], secretOf("R1M1P01").Hex(), strings.Repeat("cd", 32), 1)
			w.chained(lines)
			w.edit(r1m1, `(?s)^(.*"entropies": \{\s+"P01": )"[0-9a-f]{64}"(.*"result")`, `${1}"`+strings.Repeat("cd", 32)+`"$2`)
		}, []place{{audit.RuleCommitment, r1m1, ""}}, 5},
		{"another commitment of the player", func(w *world) {
			w.edit(r1m1, `("entropy_commitment": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("ab", 32)+`"`)
		}, []place{{audit.RuleCommitment, r1m1, `"entropy_commitment"`}}, 1},
		{"edited standings", func(w *world) { w.edit(standingsFile, `("points": )\d+`, `${1}99`) },
			[]place{{audit.RuleStandings, standingsFile, `99`}}, 1},
		{"standings with a name of another", func(w *world) { w.edit(standingsFile, `"Player P0\d"`, `"Somebody"`) },
			[]place{{audit.RuleStandings, standingsFile, `"Somebody"`}}, 1},
		{"standings without a row", func(w *world) { w.edit(standingsFile, `(?s)\{\s+"rank": 4[^}]*\}`, `null`) },
			[]place{{audit.RuleStandings, standingsFile, `null`}}, 1},
		{"an edited version", func(w *world) { w.edit(standingsFile, `"version": 6`, `"version": 5`) },
			[]place{{audit.RuleStandings, standingsFile, `"version": 5`}}, 1},
		{"an edited count of rounds", func(w *world) { w.edit(standingsFile, `"rounds_completed": 3`, `"rounds_completed": 2`) },
			[]place{{audit.RuleStandings, standingsFile, `"rounds_completed": 2`}}, 1},
		{"a forged head", func(w *world) {
			w.edit(standingsFile, `("journal_head": )"[0-9a-f]{64}"`, `${1}"`+strings.Repeat("0a", 32)+`"`)
		},
			[]place{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 1},
		{"standings from before the end", func(w *world) {
			early := newWorld(w.t, 2)
			w.write(standingsFile, early.read(standingsFile))
		}, []place{{audit.RuleStandings, standingsFile, `"journal_head"`}}, 1},
		{"standings of another league", func(w *world) { w.edit(standingsFile, `"league_id": "cup"`, `"league_id": "other"`) },
			[]place{{audit.RuleStandings, standingsFile, `"other"`}}, 1},
		{"standings that are not there", func(w *world) { w.remove(standingsFile) },
			[]place{{audit.RuleStandings, standingsFile, ""}}, 1},
		{"truncated standings", func(w *world) { text := w.read(standingsFile); w.write(standingsFile, text[:len(text)/2]) },
			[]place{{audit.RuleSchema, standingsFile, ""}}, 1},
		{"standings of a newer program", func(w *world) { w.edit(standingsFile, `"schema_version": "1.0.0"`, `"schema_version": "2.0.0"`) },
			[]place{{audit.RuleSchema, standingsFile, `"2.0.0"`}}, 1},
		{"standings that are no JSON", func(w *world) { w.write(standingsFile, "rank,player\n1,P01\n") },
			[]place{{audit.RuleSchema, standingsFile, "rank"}}, 1},
		{"a member of the wrong type", func(w *world) { w.edit(standingsFile, `"version": 6`, `"version": "six"`) },
			[]place{{audit.RuleSchema, standingsFile, `"six"`}}, 1},
		{"an added match", func(w *world) {
			w.write("data/matches/cup/R4M1.json", strings.ReplaceAll(w.read(r1m1), "R1M1", "R4M1"))
		}, []place{{audit.RuleMatchFile, "data/matches/cup/R4M1.json", ""}}, 1},
		{"an added result", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines = slices.Insert(lines, i+1, strings.Replace(lines[i], `"R1M1"`, `"R4M1"`, 1))
			w.chained(lines)
		}, []place{{audit.RuleOneResult, journalFile, `"match_id":"R4M1"`}}, 1},
		{"a second result of a match, rightly chained", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines = slices.Insert(lines, i+1, strings.Replace(lines[i], `"reason":"`, `"reason":"again: `, 1))
			w.chained(lines)
		}, []place{{audit.RuleOneResult, journalFile, `again: `}}, 1},
		{"a result of a referee that had not the match", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.Replace(lines[i], `"referee_id":"REF01"`, `"referee_id":"REF02"`, 1)
			w.chained(lines)
		}, []place{{audit.RuleOneResult, journalFile, `"referee_id":"REF02"`}}, 5},
		{"a result of another attempt", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.Replace(lines[i], `"attempt":1`, `"attempt":2`, 1)
			w.chained(lines)
		}, []place{{audit.RuleOneResult, journalFile, `"match_id":"R1M1","attempt":2`}, {audit.RuleMatchFile, r1m1, `"attempt"`}}, 4},
		{"a journal cut by half", func(w *world) { lines := w.lines(); w.keep(lines[:len(lines)/2]) },
			[]place{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 99},
		{"a journal cut by the line of the end and what follows", func(w *world) {
			lines := w.lines()
			w.keep(lines[:indexOf(lines, `"type":"completed"`)])
		}, []place{{audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 1},
		{"a removed end", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"type":"completed"`)
			w.keep(slices.Delete(lines, i, i+1))
		}, []place{
			{audit.RuleHashChain, journalFile, `"agent_informed"`}, {audit.RuleEvent, journalFile, `"agent_informed"`}, {audit.RuleJournalHead, standingsFile, `"journal_head"`},
		}, 0},
		{"a flipped byte that leaves an event", func(w *world) { w.edit(journalFile, `localhost:8102`, `localhost:8112`) },
			[]place{{audit.RuleHashChain, journalFile, `"agent_id":"P03"`}}, 1},
		{"a flipped byte that leaves none", func(w *world) { w.edit(journalFile, `"type":"match_accepted"`, `"type":"match_bccepted"`) },
			[]place{{audit.RuleEvent, journalFile, `match_bccepted`}, {audit.RuleHashChain, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 2},
		{"a line that is no JSON", func(w *world) {
			lines := w.lines()
			lines[3] = "\xff\x00garbage"
			w.keep(lines)
		}, []place{{audit.RuleEvent, journalFile, "garbage"}, {audit.RuleHashChain, journalFile, `"agent_id":"P03"`}}, 4},
		{"a time that is none", func(w *world) {
			lines := w.lines()
			lines[3] = strings.Replace(lines[3], `"at":"2026-01-01T`, `"at":"2026-13-01T`, 1)
			w.chained(lines)
		}, []place{{audit.RuleTime, journalFile, "2026-13-01"}}, 1},
		{"a journal of a newer program", func(w *world) {
			w.edit(journalFile, `"schema_version":"1.0.0"`, `"schema_version":"2.0.0"`)
		}, []place{{audit.RuleSchema, journalFile, `"2.0.0"`}, {audit.RuleHashChain, journalFile, `"registered"`}}, 2},
		{"an empty journal", func(w *world) { w.write(journalFile, "") },
			[]place{{audit.RuleEvent, journalFile, ""}, {audit.RuleJournalHead, standingsFile, `"journal_head"`}}, 2},
		{"no journal", func(w *world) { w.remove(journalFile) }, []place{{audit.RuleSchema, journalFile, ""}}, 1},
		{"a journal that is a folder", func(w *world) { w.remove(journalFile); w.write(journalFile+"/x", "") },
			[]place{{audit.RuleEvent, journalFile, ""}}, 2},
		{"the journal of another league", func(w *world) {
			lines := w.lines()
			lines[0] = strings.Replace(lines[0], `"league_id":"cup"`, `"league_id":"other"`, 1)
			w.chained(lines)
		}, []place{{audit.RuleEvent, journalFile, `"other"`}}, 99},
		{"another winner", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"status":"WIN"`)
			was, is := `"winner_player_id":"P01"`, `"winner_player_id":"P02"`
			if !strings.Contains(lines[i], was) {
				was, is = is, was
			}
			lines[i] = strings.Replace(lines[i], was, is, 1)
			w.chained(lines)
		}, []place{
			{audit.RulePoints, journalFile, `"status":"WIN"`}, {audit.RuleVerdict, journalFile, `"status":"WIN"`},
		}, 12},
		{"wrong points in the journal", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"status":"WIN"`)
			lines[i] = strings.Replace(lines[i], `:3`, `:4`, 1)
			w.chained(lines)
		}, []place{{audit.RulePoints, journalFile, `"status":"WIN"`}}, 2},
		{"wrong points in a match file", func(w *world) { w.edit(r1m1, `(?s)("score": \{\s+"P01": )\d`, `${1}7`) },
			[]place{{audit.RuleMatchFile, r1m1, `: 7`}}, 1},
		{"another scoring in a match file", func(w *world) { w.edit(r1m1, `"win_points": 3`, `"win_points": 4`) },
			[]place{{audit.RulePoints, r1m1, `"scoring"`}}, 1},
		{"a result of an unknown status", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.NewReplacer(`"status":"WIN"`, `"status":"WON"`, `"status":"DRAW"`, `"status":"WON"`).Replace(lines[i])
			w.chained(lines)
		}, []place{{audit.RuleVerdict, journalFile, `"WON"`}}, 99},
		{"a result of other players", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			lines[i] = strings.ReplaceAll(lines[i], `"P01":`, `"P03":`)
			w.chained(lines)
		}, []place{{audit.RuleSchedule, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 99},
		{"a reused nonce", func(w *world) {
			lines := w.lines()
			for _, kind := range []string{`"match_accepted"`, report} {
				i := indexOf(lines, kind, `"R1M2"`)
				lines[i] = strings.NewReplacer(
					secretOf("nonce R1M2").Hex(), secretOf("nonce R1M1").Hex(),
					protocol.DrawCommitment(leagueID, "R1M2", 1, "REF01", secretOf("nonce R1M2")),
					protocol.DrawCommitment(leagueID, "R1M2", 1, "REF01", secretOf("nonce R1M1")),
				).Replace(lines[i])
			}
			w.chained(lines)
		}, []place{{audit.RuleNonceReused, journalFile, `"match_reported","data":{"match_id":"R1M2"`}}, 99},
		{"a nonce that is not revealed", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, report, `"R1M1"`)
			at := strings.Index(lines[i], `,"draw":{`)
			lines[i] = lines[i][:at] + "}}"
			w.chained(lines)
			w.edit(r1m1, `(?s)^(.*)"draw": \{\s+"commitment".*?\}\s+\},(\s+"result")`, `$1$2`)
		}, []place{{audit.RuleCommitment, journalFile, `"match_reported","data":{"match_id":"R1M1"`}}, 1},
		{"a contradicting history", func(w *world) { w.edit(historyP01, `"my_choice": "even"`, `"my_choice": "odd"`) },
			[]place{{audit.RuleHistory, historyP01, `"my_choice": "odd"`}}, 1},
		{"a history with another result", func(w *world) { w.edit(historyP01, `"result": "\w+"`, `"result": "LOST"`) },
			[]place{{audit.RuleHistory, historyP01, `"LOST"`}}, 2},
		{"wrong stats", func(w *world) { w.edit(historyP01, `"total_matches": 3`, `"total_matches": 4`) },
			[]place{{audit.RuleHistory, historyP01, `"stats"`}}, 1},
		{"a history of somebody else", func(w *world) { w.edit(historyP01, `"player_id": "P01"`, `"player_id": "P02"`) },
			[]place{{audit.RuleHistory, historyP01, `"player_id"`}}, 1},
		{"a history of one who is not in the league", func(w *world) {
			w.write("data/players/P09/history.json", strings.ReplaceAll(w.read(historyP01), `"player_id": "P01"`, `"player_id": "P09"`))
		}, []place{{audit.RuleHistory, "data/players/P09/history.json", `"player_id"`}}, 1},
		{"a memory of a match of others", func(w *world) { w.edit(historyP01, `"match_id": "R1M1"`, `"match_id": "R1M2"`) },
			[]place{{audit.RuleHistory, historyP01, `"match_id": "R1M2"`}}, 1},
		{"a memory of a match that is not", func(w *world) { w.edit(historyP01, `"match_id": "R1M1"`, `"match_id": "R9M9"`) },
			[]place{{audit.RuleHistory, historyP01, `"match_id": "R9M9"`}}, 1},
		{"a memory twice", func(w *world) { w.edit(historyP01, `"match_id": "R2M1"`, `"match_id": "R1M1"`) },
			[]place{{audit.RuleHistory, historyP01, ""}}, 1},
		{"a truncated history", func(w *world) { text := w.read(historyP01); w.write(historyP01, text[:len(text)-40]) },
			[]place{{audit.RuleSchema, historyP01, ""}}, 1},
		{"a missing match file", func(w *world) { w.remove(r1m1) }, []place{{audit.RuleMatchFile, r1m1, ""}}, 1},
		{"all match files missing", func(w *world) { w.remove("data/matches/cup") }, []place{{audit.RuleMatchFile, r1m1, ""}}, 6},
		{"a match file of another match", func(w *world) { w.write(r1m1, w.read(r2m1)) },
			[]place{{audit.RuleMatchFile, r1m1, `"match_id"`}}, 4},
		{"a match file of another league", func(w *world) { w.edit(r1m1, `"league_id": "cup"`, `"league_id": "other"`) },
			[]place{{audit.RuleMatchFile, r1m1, `"other"`}}, 1},
		{"a match file with another attempt", func(w *world) { w.edit(r1m1, `"attempt": 1`, `"attempt": 2`) },
			[]place{{audit.RuleMatchFile, r1m1, `"attempt": 2`}, {audit.RuleMatchFile, r1m1, `"conversation_id"`}}, 2},
		{"a match file of other players", func(w *world) { w.edit(r1m1, `(?s)("player_A": \{\s+"player_id": )"P01"`, `${1}"P04"`) },
			[]place{{audit.RuleSchedule, r1m1, `"player_A"`}}, 1},
		{"a match file without a result", func(w *world) { w.edit(r1m1, `(?s)"result": \{.*\},(\s+"scoring")`, `"result": null,$1`) },
			[]place{{audit.RuleMatchFile, r1m1, `"result": null`}}, 1},
		{"a truncated match file", func(w *world) { text := w.read(r1m1); w.write(r1m1, text[:len(text)-100]) },
			[]place{{audit.RuleSchema, r1m1, ""}}, 1},
		{"an edited reason", func(w *world) { w.edit(r1m1, `(?s)(.*"reason": )"as it is"`, `${1}"as it was"`) },
			[]place{{audit.RuleMatchFile, r1m1, `"as it was"`}}, 1},
		{"edited rounds", func(w *world) { w.edit(roundsFile, `"referee_id": "REF01"`, `"referee_id": "REF07"`) },
			[]place{{audit.RuleRounds, roundsFile, `"REF07"`}}, 1},
		{"rounds with another summary", func(w *world) { w.edit(roundsFile, `"technical_losses": 0`, `"technical_losses": 1`) },
			[]place{{audit.RuleRounds, roundsFile, `"summary"`}}, 1},
		{"rounds at another time", func(w *world) { w.edit(roundsFile, `("announced_at": )"[^"]*"`, `${1}"2025-01-01T00:00:00.000Z"`) },
			[]place{{audit.RuleRounds, roundsFile, `"2025-`}}, 1},
		{"a schedule of other pairs", func(w *world) { w.edit(roundsFile, `"player_B_id": "P04"`, `"player_B_id": "P07"`) },
			[]place{{audit.RuleSchedule, roundsFile, `"player_B_id": "P07"`}}, 1},
		{"rounds without the last", func(w *world) { early := newWorld(w.t, 2); w.write(roundsFile, early.read(roundsFile)) },
			[]place{{audit.RuleRounds, roundsFile, `"rounds"`}}, 1},
		{"rounds that are not there", func(w *world) { w.remove(roundsFile) }, []place{{audit.RuleRounds, roundsFile, ""}}, 1},
		{"a transcript without the choice", func(w *world) {
			w.edit(r1m1, `(?s),?\s+\{[^{}]*"received",\s+"player_id": "P01",\s+"method": "choose_parity"[^{}]*\{[^{}]*\}\s+\}`, ``)
		}, []place{{audit.RuleTranscript, r1m1, ""}}, 3},
		{"a transcript with another choice", func(w *world) { w.edit(r1m1, `"parity_choice": "even"`, `"parity_choice": "odd"`) },
			[]place{{audit.RuleTranscript, r1m1, ""}}, 1},
		{"an empty transcript", func(w *world) { w.edit(r1m1, `(?s)"transcript": \[.*\],(\s+"draw")`, `"transcript": [],$1`) },
			[]place{{audit.RuleTranscript, r1m1, `"transcript"`}}, 10},
		{"an illegal choice in the transcript", func(w *world) { w.edit(r1m1, `"parity_choice": "even"`, `"parity_choice": "eleven"`) },
			[]place{{audit.RuleTranscript, r1m1, `"eleven"`}}, 3},
		{"a technical loss without a failure", func(w *world) {
			w.edit(r2m1, `(?s)^(.*),\s+"error": \{[^}]*\}`, `$1`)
		}, []place{{audit.RuleTranscript, r2m1, ""}}, 5},
		{"a technical loss of one who answered", func(w *world) {
			// The last of the four failures becomes an answer.
			w.edit(r2m1, `(?s)(.*)"error": \{[^}]*\}`, `$1"message": {"protocol": "league.v2", "message_type": "CHOOSE_PARITY_RESPONSE", "sender": "player:P03", "timestamp": "2026-01-01T12:00:00Z", "conversation_id": "conv-r2m1-a1", "match_id": "R2M1", "player_id": "P03", "parity_choice": "even", "entropy": "`+secretOf("R2M1P03").Hex()+`"}`)
		}, []place{{audit.RuleTranscript, r2m1, ""}}, 4},
		{"a legal answer that was refused", func(w *world) {
			w.edit(r2m1, `(?s)(.*)"error": \{[^}]*\}`, `$1"message": {"match_id": "R2M1", "parity_choice": "even"}, "error": {"error_code": "E004", "error_name": "INVALID_PARITY_CHOICE", "detail": "no"}`)
		}, []place{{audit.RuleTranscript, r2m1, `"E004"`}}, 1},
		{"a failure of one who did not lose", func(w *world) {
			w.edit(r1m1, `(?s)("received",\s+"player_id": "P01",\s+"method": "choose_parity"[^{}]*)"message": \{[^{}]*\}`, `$1"error": {"error_code": "E001", "error_name": "TIMEOUT_ERROR", "detail": "no"}`)
		}, []place{{audit.RuleTranscript, r1m1, ""}}, 3},
		{"an answer without a question", func(w *world) {
			w.edit(r1m1, `(?s)\s+\{[^{}]*"sent",\s+"player_id": "P01",\s+"method": "handle_game_invitation"[^{}]*\{[^{}]*\}\s+\},`, ``)
		}, []place{{audit.RuleTranscript, r1m1, `"handle_game_invitation"`}}, 1},
		{"a message of a third party", func(w *world) { w.edit(r1m1, `("direction": "sent",\s+"player_id": )"P01"`, `${1}"P03"`) },
			[]place{{audit.RuleTranscript, r1m1, `"player_id": "P03"`}}, 2},
		{"players told of another result", func(w *world) {
			w.edit(r1m1, `(?s)("game_result": \{.*?"drawn_number": )(\d+)`, `${1}1$2`)
		}, []place{{audit.RuleTranscript, r1m1, `"game_result"`}}, 1},
		{"an attempt that was never assigned", func(w *world) {
			w.write("data/matches/cup/attempts/R1M1.a7.REF01.json", strings.Replace(w.read(r1m1), `"attempt": 1`, `"attempt": 7`, 1))
		}, []place{{audit.RuleMatchFile, "data/matches/cup/attempts/R1M1.a7.REF01.json", `"match_id"`}}, 1},
		{"an attempt under another name", func(w *world) {
			w.write("data/matches/cup/attempts/R1M1.a7.REF01.json", w.read(r1m1))
		}, []place{{audit.RuleMatchFile, "data/matches/cup/attempts/R1M1.a7.REF01.json", `"match_id"`}}, 1},
		{"another champion", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"type":"completed"`)
			lines[i] = strings.Replace(lines[i], `"points":`, `"points":1`, 1)
			w.chained(lines)
		}, []place{{audit.RuleStandings, journalFile, `"type":"completed"`}}, 1},
		{"a champion of another name", func(w *world) {
			lines := w.lines()
			i := indexOf(lines, `"type":"completed"`)
			lines[i] = strings.Replace(lines[i], `"display_name":"`, `"display_name":"The great `, 1)
			w.chained(lines)
		}, []place{{audit.RuleStandings, journalFile, `"type":"completed"`}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			tt.forge(w)
			l := w.audited()
			if os.Getenv("SHOW") != "" {
				t.Logf("\n%s%s", told(l.Findings), told(l.Notes))
			}
			for _, p := range tt.want {
				line := -1
				if p.text != "" {
					line = w.lineOf(p.file, p.text)
				}
				found := slices.ContainsFunc(l.Findings, func(f audit.Finding) bool {
					return f.Rule == p.rule && f.File == p.file && (line < 0 || f.Line == line)
				})
				assert.True(t, found, "no %s in %s line %d among:\n%s", p.rule, p.file, line, told(l.Findings))
			}
			limit := tt.max
			if limit == 0 {
				limit = len(tt.want)
			}
			assert.LessOrEqual(t, len(l.Findings), limit, told(l.Findings))
			again := w.audited()
			assert.Equal(t, l, again, "the same files, the same words in the same order")
		})
	}
}
