package cmd

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// playedMatch returns a folder with one match: P01 wins after one wrong answer of P02.
func playedMatch(t *testing.T) store.Folder {
	t.Helper()
	dir := unstartedLeague(t)
	nonce := protocol.Secret{7}
	commitment := protocol.DrawCommitment("cup", "R1M1", 1, "REF01", nonce)
	number := evenodd.Number(rules.Chance{Nonce: nonce})
	parity := evenodd.Parity(number)
	other := map[string]string{evenodd.Even: evenodd.Odd, evenodd.Odd: evenodd.Even}[parity]
	result := protocol.GameResult{
		Status: protocol.StatusWin, WinnerPlayerID: new("P01"), DrawnNumber: &number, NumberParity: &parity,
		Choices: protocol.Both("P01", &parity, "P02", &other), Reason: "P01 chose " + parity,
	}
	envelope := func(messageType string) protocol.Envelope {
		return protocol.Envelope{Protocol: protocol.Name, MessageType: messageType, Sender: "referee:REF01", Timestamp: "2026-01-01T12:00:00Z", ConversationID: "conv-r1m1-a1"}
	}
	doc := &store.Match{
		SchemaVersion: store.SchemaVersion, LastUpdated: "2026-01-01T12:00:00Z", LeagueID: "cup", RoundID: 1, MatchID: "R1M1", GameType: evenodd.Type,
		Attempt: 1, ConversationID: "conv-r1m1-a1", RefereeID: "REF01", WrittenBy: store.WrittenByReferee,
		PlayerA: store.MatchPlayer{PlayerID: "P01", DisplayName: "One"}, PlayerB: store.MatchPlayer{PlayerID: "P02", DisplayName: "Two\x1b[2J"},
		Lifecycle: store.Lifecycle{State: store.StateAcknowledged},
		Draw:      &protocol.Draw{Commitment: commitment, Nonce: nonce.Hex()},
		Result:    &store.MatchResult{GameResult: result, Score: protocol.Both("P01", 3, "P02", 0)},
		Scoring:   protocol.Scoring{Win: 3, Draw: 1},
	}
	say := func(at, direction, player, method string, try int, message interface{ Type() string }, fault *store.ExchangeError) {
		raw, err := json.Marshal(message)
		require.NoError(t, err)
		doc.Transcript = append(doc.Transcript, store.Exchange{
			At: "2026-01-01T" + at + "Z", Direction: direction, PlayerID: player, Method: method, Try: try, MessageType: message.Type(), Message: raw, Error: fault,
		})
	}
	for _, id := range []string{"P01", "P02"} {
		say("12:00:00.000", store.Sent, id, "handle_game_invitation", 1, &protocol.GameInvitation{
			Envelope: envelope(protocol.TypeGameInvitation), MatchID: "R1M1", RoleInMatch: "PLAYER_A", OpponentID: "P0X", DrawCommitment: commitment}, nil)
		say("12:00:00.250", store.Received, id, "handle_game_invitation", 1, &protocol.GameJoinAck{
			Envelope: envelope(protocol.TypeGameJoinAck), MatchID: "R1M1", PlayerID: id, Accept: new(true)}, nil)
		for try, choice := range []string{"", parity, other} {
			var fault *store.ExchangeError
			switch {
			case id == "P01" && choice == parity, id == "P02" && choice == other:
			case id == "P02" && choice == "":
				choice, fault = "none", &store.ExchangeError{ErrorCode: "E004", ErrorName: "INVALID_PARITY_CHOICE", Detail: "choice must be \"even\" or \"odd\""}
			default:
				continue
			}
			say("12:00:01.000", store.Sent, id, "choose_parity", try+1, &protocol.ChooseParityCall{
				Envelope: envelope(protocol.TypeChooseParityCall), MatchID: "R1M1", PlayerID: id, Deadline: "2026-01-01T12:00:31Z"}, nil)
			say("12:00:02.500", store.Received, id, "choose_parity", try+1, &protocol.ChooseParityResponse{
				Envelope: envelope(protocol.TypeChooseParityResponse), MatchID: "R1M1", PlayerID: id, ParityChoice: choice}, fault)
		}
		say("12:00:03.000", store.Sent, id, "notify_match_result", 1, &protocol.GameOver{
			Envelope: envelope(protocol.TypeGameOver), MatchID: "R1M1", GameResult: &result}, nil)
		say("12:00:03.100", store.Received, id, "notify_match_result", 1, &protocol.Ack{
			Envelope: envelope(protocol.TypeGameOverAck), MatchID: "R1M1", PlayerID: id, Status: "ACKNOWLEDGED"}, nil)
	}
	require.NoError(t, store.Write(dir.Match("cup", "R1M1"), doc))
	doc.Attempt, doc.Result, doc.Lifecycle.State = 2, nil, store.StateAbandoned
	require.NoError(t, store.Write(dir.Attempt("cup", "R1M1", 2, "REF02"), doc))
	return dir
}

func TestReplayShowsTheConversationOfAMatch(t *testing.T) {
	dir := playedMatch(t)
	out, err := runCommand(t, newReplay, "R1M1", "--data", string(dir))
	require.NoError(t, err)
	for _, want := range []string{
		"R1M1 of league cup: round 1, attempt 1, conducted by REF01 (ACKNOWLEDGED)",
		"12:00:00.000             REF01 → P01  GAME_INVITATION: you are PLAYER_A against P0X; I am bound to a nonce (",
		"12:00:00.250    +0.250s  P01 → REF01  GAME_JOIN_ACK: I accept",
		`P02 → REF01  CHOOSE_PARITY_RESPONSE: "none" [try 1 of 3]`,
		`E004 INVALID_PARITY_CHOICE: choice must be "even" or "odd"`,
		"which matches the commitment",
		"as the result says.",
		"Result: WIN, P01 wins.",
		"Points: P01 3, P02 0.",
	} {
		assert.Contains(t, out, want)
	}
	assert.NotContains(t, out, "\x1b", "names do nothing to a terminal")

	out, err = runCommand(t, newReplay, "R1M1", "--data", string(dir), "--attempt", "2")
	require.NoError(t, err)
	assert.Contains(t, out, "attempt 2")
	assert.Contains(t, out, "Result: none; the attempt was given up.")

	out, err = runCommand(t, newReplay, "R1M1", "--data", string(dir), "--format", "json")
	require.NoError(t, err)
	var told struct {
		Conversation []map[string]any `json:"conversation"`
		Draw         map[string]any   `json:"draw"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &told))
	assert.Len(t, told.Conversation, 14)
	assert.Equal(t, true, told.Draw["commitment_holds"])
}

func TestReplayOfAMissingMatchListsTheFiles(t *testing.T) {
	dir := string(playedMatch(t))
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no such match", []string{"R7M1", "--data", dir}, "has no file of match R7M1; there are those of R1M1"},
		{"no match at all", []string{"../x", "--data", dir}, "matches are called R1M1"},
		{"no such attempt", []string{"R1M1", "--data", dir, "--attempt", "9"}, "no file of attempt 9 at R1M1; of its attempts there are R1M1.a2.REF02"},
		{"no such league", []string{"R1M1", "--data", dir, "--league-id", "x"}, `no league "x"`},
		{"no folder", []string{"R1M1", "--data", dir + "/missing"}, "there is no folder"},
		{"as somebody else", []string{"R1M1", "--data", dir, "--against", "http://localhost:1/mcp", "--as", "P07"}, "P01 or P02 play R1M1"},
		{"as without against", []string{"R1M1", "--data", dir, "--as", "P01"}, "--against"},
		{"no URL", []string{"R1M1", "--data", dir, "--against", "localhost"}, "a URL such as"},
		{"no format", []string{"R1M1", "--data", dir, "--format", "xml"}, "text or json"},
		{"no argument", nil, "one match"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := runCommand(t, newReplay, tt.args...)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// startScriptedAgent answers calls by their method, and unknown methods with an error.
func startScriptedAgent(t *testing.T, answers map[string]string) (url string, heard *[]map[string]any) {
	t.Helper()
	heard = &[]map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     int            `json:"id"`
			Method string         `json:"method"`
			Params map[string]any `json:"params"`
		}
		raw, _ := io.ReadAll(r.Body)
		if json.Unmarshal(raw, &call) != nil {
			return
		}
		*heard = append(*heard, call.Params)
		answer := answers[call.Method]
		if answer == "" {
			answer = `"error":{"code":-32601,"message":"Method not found"}`
		}
		_, _ = io.WriteString(w, strings.ReplaceAll(`{"jsonrpc":"2.0","id":1,`+answer+`}`, `"id":1`, `"id":`+string(rune('0'+call.ID))))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp", heard
}

const sameEnvelope = `"protocol":"league.v2","sender":"player:other","timestamp":"2030-01-01T00:00:00Z","conversation_id":"conv-r1m1-a1","match_id":"R1M1","player_id":"P02",`

func TestReplayAgainstAPlayerShowsDifferentAnswers(t *testing.T) {
	url, heard := startScriptedAgent(t, map[string]string{
		"handle_game_invitation": `"result":{` + sameEnvelope + `"message_type":"GAME_JOIN_ACK","accept":true,"entropy_commitment":"abc"}`,
		"choose_parity":          `"result":{` + sameEnvelope + `"message_type":"CHOOSE_PARITY_RESPONSE","parity_choice":"sideways"}`,
		"notify_match_result":    `"error":{"code":-32602,"message":"MISSING_REQUIRED_FIELD","data":{"message_type":"LEAGUE_ERROR","error_code":"E003","error_name":"MISSING_REQUIRED_FIELD"}}`,
	})
	out, err := runCommand(t, newReplay, "R1M1", "--data", string(playedMatch(t)), "--against", url)
	require.NoError(t, err)
	assert.Contains(t, out, "the requests to P02, sent again to", "the loser's requests by default")
	assert.Contains(t, out, "GAME_JOIN_ACK: I accept")
	assert.Contains(t, out, `differs: parity_choice is "sideways"; then it was "none"`)
	assert.Contains(t, out, "differs: then it was GAME_OVER_ACK, now it is an error: ")
	assert.Contains(t, out, "4 requests, 3 answered differently")
	require.Len(t, *heard, 4)
	for _, params := range *heard {
		assert.Equal(t, "none", params["auth_token"])
		assert.NotEqual(t, "2026-01-01T12:00:00Z", params["timestamp"])
		assert.Equal(t, "conv-r1m1-a1", params["conversation_id"])
	}
	assert.NotEqual(t, "2026-01-01T12:00:31Z", (*heard)[1]["deadline"])

	out, err = runCommand(t, newReplay, "R1M1", "--data", string(playedMatch(t)), "--against", url, "--as", "P01", "--format", "json")
	require.NoError(t, err)
	var r comparison
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	assert.Equal(t, "P01", r.PlayerID)
	assert.Len(t, r.Requests, 3)
}

// A third-party player receives the requests in its own form, as from its referee.
func TestReplayAgainstAThirdPartyPlayer(t *testing.T) {
	url, heard := startScriptedAgent(t, map[string]string{
		"receive_game_invitation": `"result":{` + sameEnvelope + `"message_type":"GAME_JOIN_ACK","accepted":true}`,
		"receive_parity_call":     `"result":{` + sameEnvelope + `"message_type":"CHOOSE_PARITY_RESPONSE","choice":"odd"}`,
		"receive_game_over":       `"result":{"status":"ok"}`,
	})
	out, err := runCommand(t, newReplay, "R1M1", "--data", string(playedMatch(t)), "--against", url, "--as", "P01")
	require.NoError(t, err)
	assert.Contains(t, out, "GAME_JOIN_ACK: I accept")
	assert.Contains(t, out, "CHOOSE_PARITY_RESPONSE: odd")
	assert.NotContains(t, out, "Method not found")
	assert.Greater(t, len(*heard), 3)
}

func TestReplayAgainstAPlayerThatNeedsATokenHasAHint(t *testing.T) {
	refusal := `"error":{"code":4001,"message":"AUTH_TOKEN_INVALID","data":{"message_type":"LEAGUE_ERROR","error_code":"E012","error_name":"AUTH_TOKEN_INVALID"}}`
	url, _ := startScriptedAgent(t, map[string]string{"handle_game_invitation": refusal, "choose_parity": refusal, "notify_match_result": refusal})
	out, err := runCommand(t, newReplay, "R1M1", "--data", string(playedMatch(t)), "--against", url)
	require.NoError(t, err)
	assert.Contains(t, out, "E012")
	assert.Equal(t, 1, strings.Count(out, "The player answers only the referee of its match"))
}

func TestReplayAgainstAnEndpointWithoutServerFails(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	url := "http://" + l.Addr().String() + "/mcp"
	require.NoError(t, l.Close())
	_, err = runCommand(t, newReplay, "R1M1", "--data", string(playedMatch(t)), "--against", url)
	require.ErrorContains(t, err, "nobody listens at")
}

func TestReplayOfAForfeit(t *testing.T) {
	dir := playedMatch(t)
	doc, err := store.Read[store.Match](dir.Match("cup", "R1M1"))
	require.NoError(t, err)
	doc.Attempt, doc.RefereeID, doc.ConversationID, doc.WrittenBy = 0, "", "", store.WrittenByManager
	doc.Transcript, doc.Draw = nil, nil
	doc.Result.GameResult = protocol.GameResult{
		Status: protocol.StatusTechnicalLoss, WinnerPlayerID: new("P01"), Choices: protocol.Both("P01", (*string)(nil), "P02", (*string)(nil)),
		Reason: "P02 is suspended: it did not answer in its last 3 matches - P01 wins by default",
	}
	require.NoError(t, store.Write(dir.Match("cup", "R1M1"), doc))
	out, err := runCommand(t, newReplay, "R1M1", "--data", string(dir))
	require.NoError(t, err)
	assert.Contains(t, out, "R1M1 of league cup: round 1, forfeited before it began (ACKNOWLEDGED)")
	assert.Contains(t, out, "There was no conversation: the match was forfeited without a referee.")
	assert.Contains(t, out, "Result: TECHNICAL_LOSS, P01 wins. P02 is suspended")
}
