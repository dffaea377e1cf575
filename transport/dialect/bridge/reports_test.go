package bridge

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

// openMatches assigns two matches to a referee that accepts them: R1M1 of P01 and P02, R1M2
// of P03 and P04.
func openMatches(t *testing.T) *Bridge {
	t.Helper()
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	assigned(t, p, s.post, theAssignment)
	assigned(t, p, s.post, assignmentOf("R1M2", "P03", "P04"))
	return p
}

const complete = `"match_id":"R1M1","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01"`

const flat = `"player_a_id":"P01","player_b_id":"P02",`

func TestReportIsCompleted(t *testing.T) {
	for _, c := range []struct{ name, report, want string }{
		{"agent A", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"agent D, without particulars", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"drawn_number":0,"choices":{}}}}`,
			`{` + complete + `,"result":{"winner":null,"score":{"P01":0,"P02":0}}}`},
		{"agent E, a draw", `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"DRAW","score":{"P01":1,"P02":1},"details":{"choices":{"P01":"even","P02":"even"},"status":"DRAW"}}}`},
		{"agent E, won", `{"result":{"winner":"P01","score":{"P01":"odd","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"choices":{"P01":"odd","P02":"even"},"status":"WIN"}}}`},
		{"player_choices", `{"match_id":"R1M1","result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"player_choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"the second match, by its players", `{"result":{"winner":"P03","score":{"P03":3,"P04":0}}}`,
			`{"match_id":"R1M2","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01","result":{"winner":"P03","score":{"P03":3,"P04":0}}}`},
		{"an unknown sender", `{"sender":"referee:unknown","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1}}}`,
			`{` + complete + `,"result":{"winner":null,"score":{"P01":1,"P02":1}}}`},
		{"flat, a draw", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_choice":"even","player_b_choice":"even","drawn_number":3,"winner_id":null,"player_a_result":"DRAW","player_b_result":"DRAW"}`,
			`{` + complete + `,` + flat + `"player_a_choice":"even","player_b_choice":"even","drawn_number":3,"winner_id":null,"player_a_result":"DRAW","player_b_result":"DRAW",` +
				`"result":{"winner":"DRAW","score":{"P01":1,"P02":1},"details":{"drawn_number":3,"choices":{"P01":"even","P02":"even"},"status":"DRAW"}}}`},
		{"flat, a double loss", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","error":"join_timeout","player_a_result":"TECHNICAL_LOSS","player_b_result":"TECHNICAL_LOSS"}`,
			`{` + complete + `,` + flat + `"error":"join_timeout","player_a_result":"TECHNICAL_LOSS","player_b_result":"TECHNICAL_LOSS",` +
				`"result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"status":"TECHNICAL_LOSS"}}}`},
		{"flat, won", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_choice":"odd","player_b_choice":"even","drawn_number":8,"winner_id":"P02","player_a_result":"LOSS","player_b_result":"WIN"}`,
			`{` + complete + `,` + flat + `"player_a_choice":"odd","player_b_choice":"even","drawn_number":8,"winner_id":"P02","player_a_result":"LOSS","player_b_result":"WIN",` +
				`"result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":8,"choices":{"P01":"odd","P02":"even"},"status":"WIN"}}}`},
		{"a winner that is null", `{"match_id":"R1M1","winner_id":null,"score":{"P01":1,"P02":1}}`,
			`{` + complete + `,"winner_id":null,"score":{"P01":1,"P02":1},"result":{"winner":null,"score":{"P01":1,"P02":1}}}`},

		{"a draw without players", `{"result":{"winner":"DRAW"}}`, `{"result":{"winner":"DRAW"}}`},
		{"players that do not meet", `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`, `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`},
		{"another referee", `{"sender":"referee:REF09","result":{"winner":"P01"}}`, `{"sender":"referee:REF09","result":{"winner":"P01"}}`},
		{"a match that was not assigned", `{"match_id":"R7M1","result":{"winner":"P01"}}`, `{"match_id":"R7M1","result":{"winner":"P01"}}`},
		{"a winner that did not play stays wrong", `{"match_id":"R1M1","result":{"winner":"P09","score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"winner":"P09","score":{"P01":3,"P02":0}}}`},
		{"a missing winner stays missing", `{"match_id":"R1M1","result":{"score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"score":{"P01":3,"P02":0}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.JSONEq(t, c.want, reportOf(t, openMatches(t), c.report))
		})
	}
}

// With two legs a pair meets twice. A repeated report is about the same match as before.
func TestReportWithoutMatchIsAboutTheOpenMatchOfThePair(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	report := `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`
	matchOf := func() string { return protocol.ParseObject([]byte(reportOf(t, p, report))).Text("match_id") }
	assigned(t, p, s.post, theAssignment)
	assert.Equal(t, "R1M1", matchOf())
	assert.Equal(t, "R1M1", matchOf(), "its acknowledgement was lost")
	assigned(t, p, s.post, assignmentOf("R4M1", "P02", "P01"))
	assert.Equal(t, "R4M1", matchOf())
	assert.Equal(t, "R4M1", matchOf())
	assigned(t, p, s.post, assignmentOf("R5M1", "P02", "P01"))
	assigned(t, p, s.post, assignmentOf("R6M1", "P02", "P01"))
	assert.Empty(t, matchOf(), "two are open: the bridge does not guess")
}

// Reports of our referees and broken requests stay unchanged.
func TestOtherReportsStayUnchanged(t *testing.T) {
	ours := string(asking("report_match_result", `{"match_id":"R1M1","result":{"winner":"P01"}}`))
	assert.Equal(t, ours, string(newTestPeers(zerolog.Nop()).completed([]byte(ours))), "no match was assigned to a third-party referee")
	p := openMatches(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"report_match_result"`, `[]`, ``, `{"jsonrpc":"2.0","method":"`,
		string(asking("report_match_result", `[]`)), string(asking("report_match_result", `{"result":`)),
	} {
		assert.Equal(t, body, string(p.completed([]byte(body))))
		p.served([]byte(body), []byte(resultHead+`{},"id":1}`))
	}
}

// After a match was assigned to another referee, its report proves no form of the first
// referee.
func TestReassignedMatchBelongsToTheNewReferee(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	assigned(t, p, s.post, theAssignment)
	report := `{"sender":"referee:REF02","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1},"details":{"status":"DRAW"}}}`
	assert.Equal(t, report, reportOf(t, p, report), "it stays unchanged")

	// The first referee acknowledges anything, so its form is not proven.
	s.tries()
	assigned(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	assigned(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	assert.Contains(t, s.bodies[1], `"assign_match"`)

	// A report without match is about another match.
	assert.Equal(t, "R2M1", protocol.ParseObject([]byte(reportOf(t, p, `{"sender":"referee:REF01","result":{"winner":"DRAW"}}`))).Text("match_id"))
}
