package bridge

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"

	"evenodd/league/dialect"
	"evenodd/league/protocol"
)

// open assigns the given matches to a referee that accepts them: R1M1 of P01 and
// P02, R1M2 of P03 and P04.
func openMatches(t *testing.T) *peers {
	t.Helper()
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	handed(t, p, s.post, theAssignment)
	handed(t, p, s.post, assignmentOf("R1M2", "P03", "P04"))
	return p
}

const complete = `"match_id":"R1M1","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01"`

const flat = `"player_a_id":"P01","player_b_id":"P02",`

func TestReportIsCompleted(t *testing.T) {
	for _, c := range []struct{ name, report, want string }{
		{"as maker A", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"as maker D, without particulars", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"drawn_number":0,"choices":{}}}}`,
			`{` + complete + `,"result":{"winner":null,"score":{"P01":0,"P02":0}}}`},
		{"as maker E, a draw", `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"DRAW","score":{"P01":1,"P02":1},"details":{"choices":{"P01":"even","P02":"even"},"status":"DRAW"}}}`},
		{"as maker E, won", `{"result":{"winner":"P01","score":{"P01":"odd","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"choices":{"P01":"odd","P02":"even"},"status":"WIN"}}}`},
		{"player_choices", `{"match_id":"R1M1","result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"player_choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"the second match, by its players", `{"result":{"winner":"P03","score":{"P03":3,"P04":0}}}`,
			`{"match_id":"R1M2","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01","result":{"winner":"P03","score":{"P03":3,"P04":0}}}`},
		{"a sender that is nobody", `{"sender":"referee:unknown","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1}}}`,
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

		{"of a draw nobody knows the players", `{"result":{"winner":"DRAW"}}`, `{"result":{"winner":"DRAW"}}`},
		{"of players who do not meet", `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`, `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`},
		{"of another referee", `{"sender":"referee:REF09","result":{"winner":"P01"}}`, `{"sender":"referee:REF09","result":{"winner":"P01"}}`},
		{"of a match that was not handed out", `{"match_id":"R7M1","result":{"winner":"P01"}}`, `{"match_id":"R7M1","result":{"winner":"P01"}}`},
		{"a winner who did not play stays wrong", `{"match_id":"R1M1","result":{"winner":"P09","score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"winner":"P09","score":{"P01":3,"P02":0}}}`},
		{"a winner who is not named stays unnamed", `{"match_id":"R1M1","result":{"score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"score":{"P01":3,"P02":0}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.JSONEq(t, c.want, reportOf(t, openMatches(t), c.report))
		})
	}
}

// With two legs a pair meets twice; a report that comes again is of the match that it
// was of.
func TestReportWithoutMatchIsAboutTheOpenMatchOfThePair(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	report := `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`
	matchOf := func() string { return protocol.ParseObject([]byte(reportOf(t, p, report))).Text("match_id") }
	handed(t, p, s.post, theAssignment)
	assert.Equal(t, "R1M1", matchOf())
	assert.Equal(t, "R1M1", matchOf(), "its acknowledgement was lost")
	handed(t, p, s.post, assignmentOf("R4M1", "P02", "P01"))
	assert.Equal(t, "R4M1", matchOf())
	assert.Equal(t, "R4M1", matchOf())
	handed(t, p, s.post, assignmentOf("R5M1", "P02", "P01"))
	handed(t, p, s.post, assignmentOf("R6M1", "P02", "P01"))
	assert.Empty(t, matchOf(), "two are open: nobody guesses")
}

// Reports of our referees, and whatever else comes in, are left as they are.
func TestOtherReportsStayUnchanged(t *testing.T) {
	ours := string(asking("report_match_result", `{"match_id":"R1M1","result":{"winner":"P01"}}`))
	assert.Equal(t, ours, string(newTestPeers(zerolog.Nop()).completed([]byte(ours))), "nothing was handed to others")
	p := openMatches(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"report_match_result"`, `[]`, ``, `{"jsonrpc":"2.0","method":"`,
		string(asking("report_match_result", `[]`)), string(asking("report_match_result", `{"result":`)),
	} {
		assert.Equal(t, body, string(p.completed([]byte(body))))
		p.served([]byte(body), []byte(dialect.ResultHead+`{},"id":1}`))
	}
}

// What another referee reports of a match that was handed on to it is its own, and
// says nothing of how the first one is told to start matches.
func TestReassignedMatchBelongsToTheNewReferee(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return 200, `{"result":{"status":"ok"}}` }}
	handed(t, p, s.post, theAssignment)
	report := `{"sender":"referee:REF02","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1},"details":{"status":"DRAW"}}}`
	assert.Equal(t, report, reportOf(t, p, report), "it is left as it is")

	// The first one acknowledges anything, and has proven nothing.
	s.tries()
	handed(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	handed(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	assert.Contains(t, s.bodies[1], `"assign_match"`)

	// Nor is the match still its own.
	assert.Equal(t, "R2M1", protocol.ParseObject([]byte(reportOf(t, p, `{"sender":"referee:REF01","result":{"winner":"DRAW"}}`))).Text("match_id"))
}
