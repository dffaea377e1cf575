package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// aMatch is the golden file of a referee's test: a whole match with its transcript.
func aMatch(t *testing.T) *store.Match {
	t.Helper()
	doc, err := store.Read[store.Match](filepath.Join("..", "..", "referee", "testdata", "matchfile.json"))
	require.NoError(t, err)
	return compact(t, doc)
}

// compact removes white space from the messages of a match.
func compact(t *testing.T, doc *store.Match) *store.Match {
	t.Helper()
	for i := range doc.Transcript {
		require.NoError(t, doc.Transcript[i].Message.Compact())
	}
	return doc
}

// until is a match up to some of its states and exchanges.
func until(doc *store.Match, part store.Recorded) *store.Match {
	cut := *doc
	cut.Lifecycle.States = doc.Lifecycle.States[:part.States]
	cut.Lifecycle.State = cut.Lifecycle.States[part.States-1].State
	cut.Transcript = doc.Transcript[:part.Exchanges]
	return &cut
}

func header(doc *store.Match) *store.ResultsHeader {
	return &store.ResultsHeader{SchemaVersion: store.SchemaVersion, LeagueID: doc.LeagueID, RefereeID: doc.RefereeID}
}

// stored returns a record after a round through its line.
func stored(t require.TestingT, r *store.Record) (*store.Record, int) {
	line, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(line), "\n")
	again := new(store.Record)
	require.NoError(t, json.Unmarshal(line, again))
	return again, len(line)
}

func TestMatchIsTheSameAfterItsRecords(t *testing.T) {
	doc := aMatch(t)
	result := store.Recorded{States: 5, Exchanges: 8}
	first, size := stored(t, store.RecordOf(until(doc, result), store.Recorded{}))
	rest, more := stored(t, store.RecordOf(doc, result))
	assert.Less(t, size+more, 4096)
	assert.Equal(t, store.StateFinished, first.State)
	assert.Equal(t, store.StateAcknowledged, rest.State)
	got, err := store.MatchOf(header(doc), first, rest)
	require.NoError(t, err)
	assert.Equal(t, doc, got)

	again, err := store.MatchOf(header(doc), first, first, rest)
	require.NoError(t, err)
	assert.Equal(t, doc, again, "the last whole record counts")
	_, err = store.MatchOf(header(doc), rest)
	require.ErrorContains(t, err, "does not begin")
	_, err = store.MatchOf(header(doc))
	require.ErrorContains(t, err, "no record")
}

// Messages of our agents are stored without what their match implies.
func TestMessagesOfOurAgentsAreAbbreviated(t *testing.T) {
	r := store.RecordOf(aMatch(t), store.Recorded{})
	for _, x := range r.Transcript {
		assert.False(t, x.Whole, "%s", x.Message)
		for _, member := range []string{"protocol", "message_type", "sender", "timestamp", "conversation_id", "game_result", "draw"} {
			assert.NotContains(t, string(x.Message), `"`+member+`"`)
		}
	}
}

// values are members that messages have in any order, some of them implied by the match.
func values() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value {
		names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{
			"protocol", "message_type", "sender", "timestamp", "conversation_id", "league_id", "round_id", "match_id",
			"player_id", "game_type", "game_result", "draw", "accept", "é", `"`, "",
		}), func(s string) string { return s }).Draw(t, "names")
		object := protocol.Object{}
		for _, name := range names {
			value := rapid.SampledFrom([]string{
				`"league.v2"`, `"GAME_OVER"`, `"referee:REF01"`, `"player:P01"`, `"2026-01-01T00:00:00Z"`, `"conv-r1m1-a1"`, `"R1M1"`, `null`,
				`{}`, `[1,2]`, `1e3`, `"<é\n"`, `{"commitment":"c","nonce":"n"}`, `true`,
			}).Draw(t, "value")
			object = append(object, protocol.Member[jsontext.Value]{Name: name, Value: jsontext.Value(value)})
		}
		whole := jsontext.Value(object.Append(nil))
		return rapid.SampledFrom([]jsontext.Value{whole, whole, whole, whole, jsontext.Value(`"text"`), jsontext.Value(`[{}]`), jsontext.Value(`null`), jsontext.Value(`0`)}).Draw(t, "message")
	})
}

// impliedMessage is a message that has most of the members that its match implies, and others.
func impliedMessage() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value {
		object := protocol.Object{}
		for _, m := range [][2]string{
			{"protocol", `"league.v2"`}, {"message_type", `"GAME_OVER"`}, {"sender", `"player:P01"`}, {"timestamp", `"2026-01-01T00:00:00Z"`},
			{"conversation_id", `"conv-r1m1-a1"`}, {"league_id", `"L"`}, {"round_id", "1"}, {"match_id", `"R1M1"`}, {"player_id", `"P01"`},
			{"game_type", `"even_odd"`}, {"draw", `{"commitment":"c","nonce":"n"}`}, {"own", "1"},
		} {
			if rapid.IntRange(0, 9).Draw(t, m[0]) > 0 {
				object = append(object, protocol.Member[jsontext.Value]{Name: m[0], Value: jsontext.Value(m[1])})
			}
		}
		return object.Append(nil)
	})
}

func TestAnyTranscriptIsTheSameAfterItsRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := &store.Match{
			SchemaVersion: store.SchemaVersion, LastUpdated: "2026-01-01T00:00:02Z", LeagueID: "L", RefereeID: "REF01", RoundID: 1, MatchID: "R1M1",
			GameType: "even_odd", Attempt: 1, ConversationID: "conv-r1m1-a1", WrittenBy: store.WrittenByReferee,
			PlayerA: store.MatchPlayer{PlayerID: "P01"}, PlayerB: store.MatchPlayer{PlayerID: "P02"},
			Lifecycle:  store.Lifecycle{State: store.StateAbandoned, States: []store.StateEntry{{State: store.StateAbandoned, At: "2026-01-01T00:00:02.000Z"}}},
			Draw:       &protocol.Draw{Commitment: "c", Nonce: "n"},
			Transcript: []store.Exchange{},
		}
		for range rapid.IntRange(0, 4).Draw(t, "exchanges") {
			doc.Transcript = append(doc.Transcript, store.Exchange{
				At:        rapid.SampledFrom([]string{"2026-01-01T00:00:00.999Z", "2026-01-01T00:00:01.000Z", "later", ""}).Draw(t, "at"),
				Direction: rapid.SampledFrom([]string{store.Sent, store.Received}).Draw(t, "direction"),
				PlayerID:  "P01", Method: rapid.SampledFrom([]string{"notify_match_result", "handle_game_invitation", "m"}).Draw(t, "method"), Try: 1,
				MessageType: rapid.SampledFrom([]string{"GAME_OVER", "GAME_OVER", "GAME_JOIN_ACK", ""}).Draw(t, "type"),
				Message:     rapid.OneOf(values(), impliedMessage(), rapid.Just(jsontext.Value(nil))).Draw(t, "message"),
			})
		}
		record, _ := stored(t, store.RecordOf(doc, store.Recorded{}))
		got, err := store.MatchOf(header(doc), record)
		require.NoError(t, err)
		require.Equal(t, doc, got)
	})
}

// writeResults writes a results file with some records and returns its path.
func writeResults(t *testing.T, folder store.Folder, records ...*store.Record) string {
	t.Helper()
	path := folder.Results("L", "REF01")
	f, torn, err := store.OpenResults(path, "L", "REF01", func(*store.ResultsHeader, *store.RecordLine) error { return nil })
	require.NoError(t, err)
	require.Nil(t, torn)
	for _, r := range records {
		line, err := f.Append(r, true)
		require.NoError(t, err)
		require.NoError(t, f.Sync(line))
	}
	require.NoError(t, f.Close())
	return path
}

// attempts are records of a match that was abandoned and then finished in a second attempt.
func attempts(t *testing.T) (doc *store.Match, records []*store.Record) {
	t.Helper()
	doc = aMatch(t)
	doc.LeagueID = "L"
	result := store.Recorded{States: 5, Exchanges: 8}
	abandoned := *until(doc, store.Recorded{States: 2, Exchanges: 2})
	abandoned.Result = nil
	second := *doc
	second.Attempt = 2
	return &second, []*store.Record{
		store.RecordOf(&abandoned, store.Recorded{}),
		store.RecordOf(until(&second, result), store.Recorded{}),
		store.RecordOf(&second, result),
	}
}

func TestLoadMatchReadsBothLayouts(t *testing.T) {
	folder := store.Folder(t.TempDir())
	doc, records := attempts(t)
	writeResults(t, folder, records...)
	_, err := folder.LoadMatch("L", "R1M1")
	require.ErrorIs(t, err, fs.ErrNotExist)

	derived := *doc
	derived.Transcript, derived.TranscriptFile = nil, "REF01.results.jsonl"
	require.NoError(t, store.Write(folder.Match("L", "R1M1"), &derived))
	got, err := folder.LoadMatch("L", "R1M1")
	require.NoError(t, err)
	assert.Equal(t, "REF01.results.jsonl", got.TranscriptFile)
	got.TranscriptFile = ""
	assert.Equal(t, doc, got)

	for name, want := range map[string]string{
		"../L/REF01.results.jsonl": "no results file", "R1M2.json": "no results file", "REF02.results.jsonl": "REF02.results.jsonl",
	} {
		derived.TranscriptFile = name
		require.NoError(t, store.Write(folder.Match("L", "R1M1"), &derived))
		_, err = folder.LoadMatch("L", "R1M1")
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, store.Write(folder.Match("L", "R1M1"), doc))
	got, err = folder.LoadMatch("L", "R1M1")
	require.NoError(t, err)
	assert.Equal(t, doc, compact(t, got), "the layout of earlier versions")
}

func TestResultsIndexFindsEachAttempt(t *testing.T) {
	doc, records := attempts(t)
	path := writeResults(t, store.Folder(t.TempDir()), records...)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(raw), "\n")
	damaged := lines[0] + lines[1] + "{}\n" + lines[2] + lines[3] + `{"match_id":"R1`
	require.NoError(t, os.WriteFile(path, []byte(damaged), 0o600))

	x, err := store.IndexResults(path)
	require.NoError(t, err)
	defer x.Close()
	assert.Equal(t, "REF01", x.Header.RefereeID)
	assert.Equal(t, len(`{"match_id":"R1`), x.Torn)
	assert.Len(t, x.Damage, 1)
	require.Len(t, x.Attempts, 2)
	assert.Equal(t, store.StateWaitingForPlayers, x.Attempts[0].State)
	assert.Equal(t, 2, x.Attempts[0].Records[0].Line)
	assert.Equal(t, []int{4, 5}, []int{x.Attempts[1].Records[0].Line, x.Attempts[1].Records[1].Line})
	got, err := x.Load(x.Find("R1M1", 2))
	require.NoError(t, err)
	whole := sha256.Sum256([]byte(strings.TrimSuffix(lines[2], "\n")))
	doc.Digest = hex.EncodeToString(whole[:])
	assert.Equal(t, doc, got, "the digest is that of the whole record")
	assert.Nil(t, x.Find("R1M1", 3))
}

// A machine can lose power at any byte.
func TestResultsFileCutAfterAnyByteIsContinued(t *testing.T) {
	_, records := attempts(t)
	raw, err := os.ReadFile(writeResults(t, store.Folder(t.TempDir()), records...))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "REF01.results.jsonl")
	for cut := 0; cut <= len(raw); cut += 1 + cut/40 {
		require.NoError(t, os.WriteFile(path, raw[:cut], 0o600))
		whole := strings.Count(string(raw[:cut]), "\n")
		seen := 0
		f, torn, err := store.OpenResults(path, "L", "REF01", func(h *store.ResultsHeader, l *store.RecordLine) error {
			seen++
			require.NoError(t, l.Damage)
			require.Equal(t, seen+1, l.Number)
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, max(0, whole-1), seen)
		require.Equal(t, cut > 0 && raw[cut-1] != '\n', torn != nil)
		_, err = f.Append(records[0], true)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		x, err := store.IndexResults(path)
		require.NoError(t, err)
		require.Empty(t, x.Damage)
		require.NotNil(t, x.Find("R1M1", 1))
		require.NoError(t, x.Close())
	}
}

// Players may fill a transcript, and the referee must be able to read its results file again.
func TestLongestTranscriptCanBeReadAgain(t *testing.T) {
	doc := aMatch(t)
	long := jsontext.Value(`{"x":"` + strings.Repeat("x", store.MaxMessage-len(`{"x":""}`)) + `"}`)
	detail := strings.Repeat("\x01", store.MaxDetail) // six bytes each
	doc.Transcript = make([]store.Exchange, store.MaxExchanges)
	for i := range doc.Transcript {
		doc.Transcript[i] = store.Exchange{
			Direction: store.Received, PlayerID: "P01", Method: "choose_parity", Message: long,
			Error: &store.ExchangeError{ErrorCode: "E002", ErrorName: "INVALID_FIELD_TYPE", Detail: detail},
		}
	}
	folder := store.Folder(t.TempDir())
	path := writeResults(t, folder, store.RecordOf(doc, store.Recorded{}))
	again, err := store.LoadAttempt(path, doc.MatchID, doc.Attempt)
	require.NoError(t, err)
	assert.Len(t, again.Transcript, store.MaxExchanges)
}

func TestResultsFileOfAnotherRefereeIsRefused(t *testing.T) {
	folder := store.Folder(t.TempDir())
	path := writeResults(t, folder)
	none := func(*store.ResultsHeader, *store.RecordLine) error { return nil }
	_, _, err := store.OpenResults(path, "L", "REF02", none)
	require.ErrorContains(t, err, "REF01")
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf("{%q:%q}\n", "schema_version", "2.0.0")), 0o600))
	_, _, err = store.OpenResults(path, "L", "REF01", none)
	require.ErrorContains(t, err, "newer evenodd")
}
