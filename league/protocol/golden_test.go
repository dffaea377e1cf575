package protocol_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

const goldenFolder = "../../testdata/messages"

// A golden is one example of the specification's documents.
type golden struct {
	File string `json:"file"`
	Kind string `json:"kind"` // message, request, response, error or registry
	Type string `json:"type"` // message type; "" when there is none
	Mark string `json:"mark"` // whole, envelope-omitted or round-trip

	raw     jsontext.Value // the file
	message jsontext.Value // the message inside
}

// goldens reads the manifest and every file it lists.
func goldens(t require.TestingT) []golden {
	manifest, err := os.ReadFile(filepath.Join(goldenFolder, "manifest.json"))
	require.NoError(t, err)
	var all []golden
	require.NoError(t, json.Unmarshal(manifest, &all))
	for i := range all {
		g := &all[i]
		g.raw, err = os.ReadFile(filepath.Join(goldenFolder, g.File))
		require.NoError(t, err)
		rpc := protocol.ParseObject(g.raw)
		inside := map[string]jsontext.Value{"message": g.raw, "registry": g.raw,
			"request": rpc.Raw("params"), "response": rpc.Raw("result"), "error": rpc.Object("error").Raw("data")}
		g.message = inside[g.Kind]
		require.NotNil(t, g.message, g.File)
	}
	return all
}

// strictGoldens returns the goldens that a strict receiver accepts, completed where their
// document leaves out the envelope.
func strictGoldens(t require.TestingT) (all []golden) {
	for _, g := range goldens(t) {
		if g.Mark == "envelope-omitted" {
			message := protocol.ParseObject(g.message)
			for name, value := range map[string]string{"protocol": "league.v2", "sender": "league_manager",
				"timestamp": "2025-01-15T10:30:00Z", "conversation_id": "conv-golden"} {
				message.Add(name, protocol.Quote(value))
			}
			g.message = message.Append(nil)
		}
		if g.Mark != "round-trip" {
			all = append(all, g)
		}
	}
	return all
}

// newMessage makes a value of the Go type of a message type.
func newMessage(messageType string) any {
	return reflect.New(reflect.TypeOf(samples()[messageType]).Elem()).Interface()
}

func TestManifestListsEveryFile(t *testing.T) {
	listed := []string{filepath.Join(goldenFolder, "manifest.json")}
	for _, g := range goldens(t) {
		listed = append(listed, filepath.Join(goldenFolder, g.File))
	}
	found, err := filepath.Glob(filepath.Join(goldenFolder, "*.json"))
	require.NoError(t, err)
	assert.ElementsMatch(t, found, listed)
}

func TestGoldensSurviveDecodingAndEncoding(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Type == "" {
			continue
		}
		t.Run(g.File, func(t *testing.T) {
			message := newMessage(g.Type)
			require.NoError(t, json.Unmarshal(g.message, message))
			encoded, err := json.Marshal(message)
			require.NoError(t, err)
			assertContains(t, "", decode(t, g.message), decode(t, encoded))
		})
	}
}

// assertContains expects that the copy has all that the original has.
func assertContains(t *testing.T, path string, original, copied any) {
	t.Helper()
	switch a := original.(type) {
	case map[string]any:
		b, _ := copied.(map[string]any)
		for name, inner := range a {
			if assert.Contains(t, b, name, path) {
				assertContains(t, join(path, name), inner, b[name])
			}
		}
	case []any:
		b, _ := copied.([]any)
		if assert.Len(t, b, len(a), path) {
			for i := range a {
				assertContains(t, path+"["+strconv.Itoa(i)+"]", a[i], b[i])
			}
		}
	default:
		assert.Equal(t, original, copied, path)
	}
}

// TestErrorsOf004NameNoError covers the examples of 004 whose error is not a LEAGUE_ERROR.
func TestErrorsOf004NameNoError(t *testing.T) {
	for _, g := range goldens(t) {
		if g.Type != "" || g.Kind == "registry" {
			continue
		}
		failed := protocol.ParseObject(g.raw).Object("error")
		e := protocol.AsError(rpcError(failed.Integer("code"), failed.Text("message"), g.message))
		assert.Equal(t, []any{failed.Integer("code"), failed.Text("message"), protocol.Code(""), true},
			[]any{e.RPC, e.Detail, e.Code, e.Remote}, g.File)
	}
}

const (
	aDigest    = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	aSignature = aDigest + aDigest
	aTime      = "2026-02-28T23:59:59Z"
	aURL       = "http://localhost:8101/mcp"
)

// samples has one message of every type with all members, as this program's agents may
// send it.
func samples() map[string]any {
	envelope := func(messageType, sender string) protocol.Envelope {
		return protocol.Envelope{
			Protocol: protocol.Name, MessageType: messageType, Sender: sender, Timestamp: aTime,
			ConversationID: "conv-r1m1-a1", AuthToken: "tok-p01-abc",
		}
	}
	record := protocol.Record{Wins: 2, Losses: 1, Draws: 0, Points: new(6)}
	rows := []protocol.StandingRow{
		{Rank: 1, PlayerID: "P01", DisplayName: "Agent Alpha", Played: 3, Wins: 2, Draws: 0, Losses: 1, Points: 9,
			StandingDetails: league.StandingDetails{Byes: new(1), Buchholz: new(12), SonnebornBerger: new(7.5)}},
		{Rank: 3, Tied: true, SharedRank: 2, StandingDetails: league.StandingDetails{DecidedBy: "head_to_head", TiebreakValues: league.TiebreakValues{"head_to_head": 3, "win_rate": 0.5}},
			PlayerID: "P03", DisplayName: "Agent Gamma", Played: 3, Losses: 3},
		{Rank: 2, PlayerID: "P02", DisplayName: "אלפא", Played: 3, Losses: 3, StandingDetails: league.StandingDetails{Withdrawn: true, Annulled: true}},
	}
	seat := func(id string) protocol.AssignedPlayer {
		return protocol.AssignedPlayer{PlayerID: id, Endpoint: aURL, DisplayName: "Agent", Standings: record, AccessToken: "abc", PublicKey: aDigest}
	}
	draw := &protocol.Draw{
		Commitment: aDigest, Nonce: aDigest,
		Entropies:          league.Both("P01", aDigest, "P02", strings.Repeat("0", 64)),
		EntropyCommitments: league.Both("P01", aDigest, "P02", aDigest),
	}
	choices := league.Both("P01", new("even"), "P02", nil)
	moves := []protocol.PlayerMove{{PlayerID: "P01", Move: "even"}, {PlayerID: "P02", Move: "odd", Turn: 1, Secret: true}}
	draws := []protocol.Drawn{{Turn: 2, Of: 6, Number: 3}}
	opening := []string{"4", "0"}
	game := protocol.GameID{Version: "1", Digest: aDigest}
	sign := protocol.SignatureRequest{Sign: true, Started: aDigest, Turn: 2, RoleInMatch: protocol.RolePlayerB, DrawCommitment: aDigest,
		EntropyCommitments: league.Both("P01", aDigest, "P02", aDigest), Moves: moves, ViewHash: aDigest, Opening: opening}
	registration := protocol.Registration{
		Status: protocol.StatusRejected, LeagueID: "L", Reason: new("full"),
		ErrorCode: "E020", ErrorName: "LEAGUE_FULL", ManagerAuth: protocol.ManagerAuthBearer, ManagerKey: aDigest,
		Context: map[string]any{"suggestion": "Choose a different display_name"}, RetryAfterSec: 30,
	}
	manager, referee, player := protocol.ManagerSender, protocol.RefereeSender("REF01"), protocol.PlayerSender("P01")

	all := []any{
		&protocol.RefereeRegisterRequest{
			Envelope: envelope(protocol.TypeRefereeRegisterRequest, referee),
			RefereeMeta: protocol.RefereeMeta{
				AgentMeta: protocol.AgentMeta{DisplayName: "Referee", Version: "1.0.0", ProtocolVersion: "2.1.0",
					GameTypes: []string{"even_odd"}, ContactEndpoint: aURL, LargeMessages: true},
				MaxConcurrentMatches: 2, PublicKey: aDigest, RelaysSignatures: true,
				Features: []string{protocol.FeatureOpenings, protocol.FeatureTimeBank},
			},
			RefereeAuth: protocol.RefereeAuthAccessToken, RegistrationCode: "code-of-referee"},
		&protocol.RefereeRegisterResponse{
			Envelope:  envelope(protocol.RegisterReferee.Result, manager),
			RefereeID: new("REF01"), Registration: registration},
		&protocol.LeagueRegisterRequest{
			Envelope: envelope(protocol.TypeLeagueRegisterRequest, player),
			PlayerMeta: protocol.PlayerMeta{
				AgentMeta: protocol.AgentMeta{DisplayName: "Agent", Version: "1.0.0", ProtocolVersion: "2.0.3-rc.1",
					GameTypes: []string{"even_odd", "tic_tac_toe"}, ContactEndpoint: aURL, LargeMessages: true},
				PublicKey: aDigest,
			}, RegistrationCode: "code-of-player"},
		&protocol.LeagueRegisterResponse{
			Envelope: envelope(protocol.RegisterPlayer.Result, manager),
			PlayerID: new("P01"), Registration: registration},
		&protocol.RoundAnnouncement{
			Envelope: envelope(protocol.TypeRoundAnnouncement, manager), LeagueID: "L", RoundID: 1,
			Matches: []protocol.AnnouncedMatch{{MatchID: "R1M1", GameType: "even_odd", PlayerAID: "P01", PlayerBID: "P02",
				RefereeEndpoint: aURL, RefereeID: "REF01", RefereeAuth: protocol.RefereeAuthAccessToken, ForfeitedBy: []string{"P02"}}}, TotalMatches: 500, Started: aDigest},
		&protocol.RoundCompleted{
			Envelope: envelope(protocol.TypeRoundCompleted, manager), LeagueID: "L", RoundID: 1,
			MatchesCompleted: new(2), MatchesPlayed: new(2), NextRoundID: new(2),
			Summary: &protocol.RoundSummary{TotalMatches: 2, Wins: 1, Draws: 1}, JournalHead: aDigest, JournalHeadSignature: aSignature,
			Results: []protocol.RoundResult{{
				MatchID: "R1M1", Attempt: 1, Status: league.StatusWin, Winner: new("P01"),
				DrawnNumber: new(8), Choices: choices,
			}}},
		&protocol.LeagueCompleted{
			Envelope: envelope(protocol.TypeLeagueCompleted, manager), LeagueID: "L", TotalRounds: 3, TotalMatches: 6,
			Champion:       league.Champion{PlayerID: "P01", DisplayName: "Agent", Points: 9, Reason: "on head-to-head"},
			FinalStandings: protocol.FinalRows(rows), TotalPlayers: 4, JournalHead: aDigest, JournalHeadSignature: aSignature},
		&protocol.GameInvitation{
			Envelope: envelope(protocol.TypeGameInvitation, referee), LeagueID: "L", RoundID: 1, MatchID: "R1M1",
			GameType: "even_odd", RoleInMatch: protocol.RolePlayerB, OpponentID: "P02", Attempt: 1, DrawCommitment: aDigest},
		&protocol.GameJoinAck{
			Envelope: envelope(protocol.TypeGameJoinAck, player), MatchID: "R1M1", PlayerID: "P01",
			ArrivalTimestamp: aTime, Accept: new(true), EntropyCommitment: aDigest},
		&protocol.ChooseParityCall{
			Envelope: envelope(protocol.TypeChooseParityCall, referee), MatchID: "R1M1", PlayerID: "P01", GameType: "even_odd",
			Context:  protocol.ChoiceContext{OpponentID: "P02", RoundID: 1, YourStandings: &record},
			Deadline: aTime, TimeLeft: 59_000, SignatureRequest: sign},
		&protocol.ChooseParityResponse{
			Envelope: envelope(protocol.TypeChooseParityResponse, player), MatchID: "R1M1", PlayerID: "P01",
			ParityChoice: "odd", MoveProof: protocol.MoveProof{Entropy: aDigest, Signature: aSignature, Fallback: true}},
		&protocol.GameMoveCall{
			Envelope: envelope(protocol.TypeGameMoveCall, referee), MatchID: "R1M1", PlayerID: "P01", GameType: "tic_tac_toe",
			MoveRequest: protocol.MoveRequest{MoveType: "place_mark", ValidOptions: []string{"0", "8"}, Text: 200,
				Context: map[string]any{"board": []any{"X", nil}}},
			Deadline: aTime, TimeLeft: 59_000, SignatureRequest: sign},
		&protocol.GameMoveResponse{
			Envelope: envelope(protocol.TypeGameMoveResponse, player), MatchID: "R1M1", PlayerID: "P01", GameType: "tic_tac_toe",
			MoveData: protocol.MoveData{MoveType: "place_mark", Choice: "8"}, MoveProof: protocol.MoveProof{Entropy: aDigest, Signature: aSignature, Fallback: true}},
		&protocol.GameOver{
			Envelope: envelope(protocol.TypeGameOver, referee), MatchID: "R1M1", GameType: "even_odd",
			GameResult: &league.Result{Status: league.StatusTechnicalLoss, WinnerPlayerID: new("P01"),
				DrawnNumber: new(0), NumberParity: new("even"), Choices: choices, Reason: "P02 did not choose",
				Faults: league.PerPlayer[string]{{Name: "P02", Value: "E001"}}, Fallbacks: league.PerPlayer[int]{{Name: "P01", Value: 1}}},
			Draw: draw, Moves: moves, Draws: draws, Reason: "P02 did not choose"},
		&protocol.GameError{
			Envelope: envelope(protocol.TypeGameError, referee), MatchID: "R1M1", PlayerID: "P01",
			ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR", ErrorDescription: "TIMEOUT_ERROR", AffectedPlayer: "P01",
			ActionRequired: protocol.TypeGameJoinAck, GameState: "WAITING", Retryable: new(true),
			RetryCount: new(0), MaxRetries: new(3),
			RetryInfo: &protocol.RetryInfo{RetryCount: 0, MaxRetries: 3, NextRetryAt: aTime, TimeRemaining: new(1.5)},
			Context:   map[string]any{"detail": "no answer"}, Consequence: "Technical loss"},
		&protocol.MatchResultReport{
			Envelope: envelope(protocol.TypeMatchResultReport, referee), LeagueID: "L", RoundID: 1, MatchID: "R1M1",
			GameType: "even_odd", Attempt: 2,
			Result: protocol.ReportedResult{Score: league.Both("P01", 3, "P02", 0),
				Result: league.Result{WinnerPlayerID: new("P01"), DrawnNumber: new(8), NumberParity: new("even"), Choices: choices,
					Status: league.StatusWin, Reason: "P01 was right",
					Faults: league.PerPlayer[string]{{Name: "P02", Value: "E001"}}, Fallbacks: league.PerPlayer[int]{{Name: "P01", Value: 1}}}},
			Draw: draw, Evidence: protocol.Evidence{Moves: moves, Opening: opening, Draws: draws, TranscriptDigest: aDigest,
				Signatures: league.PerPlayer[protocol.MoveSignature]{{Name: "P01",
					Value: protocol.MoveSignature{Turn: 2, Signature: aSignature, ViewHash: aDigest}}}}},
		&protocol.StandingsUpdate{
			Envelope: envelope(protocol.TypeStandingsUpdate, manager), LeagueID: "L", RoundID: 1, Standings: rows, TotalPlayers: 2},
		&protocol.LeagueQuery{
			Envelope: envelope(protocol.TypeLeagueQuery, player), LeagueID: "L", QueryType: protocol.QueryStandings,
			QueryParams: protocol.QueryParams{PlayerID: "P01", RoundID: 1, Offset: 100, Limit: 100}},
		&protocol.LeagueQueryResponse{
			Envelope: envelope(protocol.Query.Result, manager), QueryType: protocol.QueryStatus,
			Success: new(false), Data: map[string]any{"next_match": nil},
			Error:         &protocol.QueryError{ErrorCode: "E016", ErrorName: "INVALID_QUERY_TYPE", ErrorDescription: "INVALID_QUERY_TYPE"},
			CurrentRound:  new(1),
			StandingsData: protocol.StandingsData{Standings: rows, TotalPlayers: 200, Offset: 100},
			StatusData: protocol.StatusData{State: "RUNNING", Rounds: new(3), Matches: new(6), Recorded: new(2),
				Players: new(4), Referees: new(1), Games: []string{"even_odd"},
				AgentStates: &protocol.AgentStates{Active: 4, Suspended: 1},
				Inactive:    []protocol.InactiveAgent{{AgentID: "P04", State: "SUSPENDED", Reason: "did not answer", Failures: 3}}, Awaited: []string{"P03"}, Unreachable: "connection refused at http://192.0.2.7:8101/mcp, 3 tries", Tournament: "swiss", Paused: true,
				StartAt: aTime, RegistrationUntil: aTime, Roster: &protocol.RosterSize{Players: 30, Referees: 2}}},
		&protocol.LeagueError{
			Envelope:  envelope(protocol.TypeLeagueError, manager),
			ErrorCode: "E012", ErrorName: "AUTH_TOKEN_INVALID", ErrorDescription: "AUTH_TOKEN_INVALID",
			OriginalMessageType: protocol.TypeLeagueQuery,
			Context:             map[string]any{"action": "LEAGUE_QUERY"}, Retryable: new(false)},
		&protocol.MatchAssignment{
			Envelope: envelope(protocol.TypeMatchAssignment, manager), LeagueID: "L", RoundID: 1, MatchID: "R1M1", Attempt: 1,
			GameType: "even_odd", GameID: game, PlayerA: seat("P01"), PlayerB: seat("P02"), Timeouts: protocol.DefaultTimeouts(),
			RetryPolicy: protocol.RetryPolicy{MaxRetries: 3, Delay: 2, Backoff: protocol.BackoffLinear}, Scoring: league.MatchPoints{Win: 3, Draw: 1},
			Replies: protocol.RepliesStrict, Members: protocol.MembersPlain, RefereeID: "REF01", Auth: protocol.AuthLenient, Started: aDigest,
			TimeBank:         &protocol.TimeBank{Initial: 60_000, Increment: 1000},
			AllowedEndpoints: []string{"10.1.0.0/16", "2001:db8::/32"}, AnnulledAttempts: 1, Opening: opening},
		&protocol.MatchAssignmentAck{
			Envelope: envelope(protocol.StartMatch.Result, referee), Status: protocol.StatusBusy, MatchID: "R1M1",
			Attempt: 1, RefereeID: "REF01", DrawCommitment: aDigest, GameDigest: aDigest, Reason: "two matches already"},
	}
	made := map[string]any{}
	for _, m := range all {
		made[m.(interface{ Type() string }).Type()] = m
	}
	for _, ackType := range []string{
		protocol.NotifyRound.Result, protocol.UpdateStandings.Result, protocol.NotifyRoundCompleted.Result,
		protocol.NotifyLeagueCompleted.Result, protocol.NotifyMatchResult.Result, protocol.NotifyGameError.Result, protocol.ReportMatchResult.Result,
	} {
		made[ackType] = &protocol.Ack{Envelope: envelope(ackType, player), Status: protocol.StatusAcknowledged,
			PlayerID: "P01", RefereeID: "REF01", RoundID: 1, MatchID: "R1M1"}
	}
	return made
}

// sampleJSON returns the encoding of a sample.
func sampleJSON(t require.TestingT, messageType string) jsontext.Value {
	raw, err := json.Marshal(samples()[messageType])
	require.NoError(t, err)
	return raw
}

func TestSamplesSurviveDecodingAndEncoding(t *testing.T) {
	require.Len(t, samples(), len(protocol.MessageTypes()))
	for _, messageType := range protocol.MessageTypes() {
		t.Run(messageType, func(t *testing.T) {
			raw := sampleJSON(t, messageType)
			decoded := newMessage(messageType)
			require.NoError(t, json.Unmarshal(raw, decoded))
			assert.Equal(t, samples()[messageType], decoded)
			again, err := json.Marshal(decoded)
			require.NoError(t, err)
			assert.Equal(t, string(raw), string(again))
		})
	}
}

// TestSchemasAndSamplesHaveTheSameFields checks that the table of fields and the Go types
// have the same members.
func TestSchemasAndSamplesHaveTheSameFields(t *testing.T) {
	for _, messageType := range protocol.MessageTypes() {
		t.Run(messageType, func(t *testing.T) {
			said := namesIn(decode(t, sampleJSON(t, messageType)))
			named := map[string]bool{}
			schema, ok := protocol.Schema(messageType)
			require.True(t, ok)
			namesOf("", schema, named)
			for path := range said {
				assert.True(t, named[path] || inFreeForm(path, named), "no field for %s", path)
			}
			for path := range named {
				assert.True(t, said[path] || strings.HasSuffix(path, freeForm), "no sample has %s", path)
			}
		})
	}
}

// freeForm marks an object whose members no document names.
const freeForm = "{}"

// inFreeForm tells whether a path lies inside such an object.
func inFreeForm(path string, named map[string]bool) bool {
	for i, c := range path {
		if c == '.' && named[path[:i]+freeForm] {
			return true
		}
	}
	return false
}

var (
	index    = regexp.MustCompile(`\[\d+\]`)
	playerID = regexp.MustCompile(`\.P\d+`)
)

// namesIn collects the paths of all members; players' ids count as one name.
func namesIn(v any) map[string]bool {
	names := map[string]bool{}
	for _, path := range places("", v) {
		if !strings.HasSuffix(path, "]") {
			names[playerID.ReplaceAllString(index.ReplaceAllString(path, "[]"), ".*")] = true
		}
	}
	return names
}

// namesOf collects the same paths from a schema.
func namesOf(path string, schema map[string]any, into map[string]bool) {
	properties, shaped := schema["properties"].(map[string]any)
	if shaped {
		for name, inner := range properties {
			into[join(path, name)] = true
			namesOf(join(path, name), inner.(map[string]any), into)
		}
	}
	if inner, ok := schema["items"].(map[string]any); ok {
		namesOf(path+"[]", inner, into)
	}
	if inner, ok := schema["additionalProperties"].(map[string]any); ok {
		into[join(path, "*")] = true
		namesOf(join(path, "*"), inner, into)
		shaped = true
	}
	if types := fmt.Sprint(schema["type"]); strings.Contains(types, "object") && !shaped {
		into[path+freeForm] = true
	}
}
