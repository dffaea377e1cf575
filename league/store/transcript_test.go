package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

// asked is a question to a player after moves of both, with or without turns.
func asked(player string, after int, turns bool) store.Exchange {
	var moves []protocol.PlayerMove
	for i := range after {
		m := protocol.PlayerMove{PlayerID: fmt.Sprintf("P0%d", i%2+1), Move: strings.Repeat("x", 5)}
		if turns {
			m.Turn = i + 1
		}
		moves = append(moves, m)
	}
	q := protocol.GameMoveCall{MatchID: "R1M1", PlayerID: player}
	q.Sign, q.Turn, q.Moves = true, after+1, moves
	text, err := json.Marshal(&q)
	if err != nil {
		panic(err) // of a message
	}
	return store.Exchange{Direction: store.Sent, PlayerID: player, Method: protocol.MakeMove.Name, Try: 1, Message: text}
}

// match is the transcript of a match in which the players are asked in turn, and each question is repeated once.
func match(turns bool, questions int) (t store.Transcript) {
	for i := range questions {
		q := asked(fmt.Sprintf("P0%d", i%2+1), i, turns)
		t = append(t, q, q)
	}
	return t
}

func TestTranscriptListsEachMoveOnceForAPlayer(t *testing.T) {
	original := match(true, 40)
	text, err := json.Marshal(original)
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), `"xxxxx"`), 2*40)
	assert.Contains(t, string(text), `"moves":{"after":3,"more":[{"player_id":"P02","move":"xxxxx","turn":4},`)
	var read store.Transcript
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, original, read)
	again, err := json.Marshal(read)
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))

	indented, err := json.Marshal(original, jsontext.WithIndent("  "))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(indented, &read))
	assert.Equal(t, original, read)

	part, err := json.Marshal(original[20:]) // as a later line of a log has it
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(part, &read))
	assert.Equal(t, original[20:], read)
}

func TestTranscriptOfAGameWithoutViewsHasWholeQuestions(t *testing.T) {
	original := match(false, 10)
	text, err := json.Marshal(original)
	require.NoError(t, err)
	plain, err := json.Marshal([]store.Exchange(original))
	require.NoError(t, err)
	assert.Equal(t, string(plain), string(text))
	none, err := json.Marshal(store.Transcript(nil))
	require.NoError(t, err)
	assert.Equal(t, "[]", string(none))
}

// A question that changes an earlier move, as that of a referee that cheats, is written as it was.
func TestTranscriptKeepsAForgedListOfMoves(t *testing.T) {
	original := match(true, 6)
	forged := &original[len(original)-1]
	forged.Message = jsontext.Value(strings.Replace(string(forged.Message), "xxxxx", "other", 1))
	text, err := json.Marshal(original)
	require.NoError(t, err)
	var read store.Transcript
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, original, read)
}

// A file of others must not make a reader use all memory.
func TestShortListsOfOthersAreRestoredWithinLimits(t *testing.T) {
	question := func(moves string) string {
		return `{"at":"","direction":"sent","player_id":"P01","method":"make_move","try":1,"message":{"moves":` + moves + `}}`
	}
	long := question(`[{"player_id":"P01","move":"` + strings.Repeat("x", 60_000) + `","turn":1}]`)
	for name, list := range map[string]string{
		"more than there are": `{"after":2,"more":[]}`, "less than none": `{"after":-1,"more":[]}`,
		"no list":  `{"after":1,"more":7}`,
		"too long": `{"after":1,"more":[{"move":"` + strings.Repeat("y", 10_000) + `"}]}`,
	} {
		var read store.Transcript
		require.NoError(t, json.Unmarshal([]byte("["+long+","+question(list)+"]"), &read), name)
		assert.Equal(t, `{"moves":`+list+`}`, string(read[1].Message), name)
	}
	var read store.Transcript
	all := "[" + long + strings.Repeat(","+question(`{"after":1,"more":[]}`), 2000) + "]"
	require.NoError(t, json.Unmarshal([]byte(all), &read))
	size := 0
	for i := range read {
		size += len(read[i].Message)
	}
	assert.Less(t, size, 33<<20)
	assert.Greater(t, size, 31<<20)
}

// The encoding without reflection is that of package json, for each member of an exchange and each form of a message.
func TestExchangeIsEncodedAsByPackageJSON(t *testing.T) {
	usual := store.Exchange{At: "2026-01-01T00:00:00.000Z", Direction: store.Sent, PlayerID: `P"1`, Method: "m\n", Try: 1}
	exchanges := []store.Exchange{{}, usual}
	for i := range reflect.TypeFor[store.Exchange]().NumField() {
		x := usual
		switch f := reflect.ValueOf(&x).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("text é <&>\u2028 \\")
		case reflect.Int:
			f.SetInt(-7)
		case reflect.Float64:
			f.SetFloat(1.5)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case reflect.Slice:
			if x.Message = jsontext.Value(`{"a":"b c","d":[1,{}]}`); f.Type() != reflect.TypeFor[jsontext.Value]() {
				f.Set(reflect.ValueOf([]string{"member"}))
			}
		default:
			t.Fatalf("a member of the type %s: set it here", f.Type())
		}
		exchanges = append(exchanges, x)
	}
	for _, message := range []string{`{ "a" : 1 }`, `{"a":"\u0061\n"}`, `{"a":"é <&>"}`, ` [1,2]`, "null", "1.50"} {
		x := usual
		x.Message = jsontext.Value(message)
		exchanges = append(exchanges, x)
	}
	type plain []store.Exchange
	want, err := json.Marshal(plain(exchanges))
	require.NoError(t, err)
	got, err := json.Marshal(store.Transcript(exchanges))
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))

	d, path := disk.Real{}, filepath.Join(t.TempDir(), "R1M1.json")
	m := &store.Match{MatchID: `R1M1 "transcript":[]`, Transcript: exchanges, Digested: len(exchanges)}
	sum := sha256.Sum256(want)
	assert.Equal(t, hex.EncodeToString(sum[:]), m.Digest())
	require.NoError(t, store.WriteMatch(d, path, m))
	written, err := disk.Read(d, path, 1<<20)
	require.NoError(t, err)
	whole, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Equal(t, string(whole)+"\n", string(written))

	for _, wrong := range []store.Exchange{{PlayerID: "\xff"}, {Message: jsontext.Value(`"\xff`)}, {Message: jsontext.Value{}}} {
		_, err := json.Marshal(store.Transcript{wrong})
		require.Error(t, err)
	}
}

func TestOnlyAnswersToAnInvitationOrAQuestionCountAsAnswers(t *testing.T) {
	for method, want := range map[string]bool{
		protocol.Invite.Name: true, protocol.ChooseParity.Name: true, protocol.MakeMove.Name: true,
		protocol.NotifyGameError.Name: false, protocol.NotifyMatchResult.Name: false,
	} {
		x := store.Exchange{Direction: store.Received, PlayerID: "P02", Method: method, Try: 1, Message: jsontext.Value(`{}`)}
		m := &store.Match{Transcript: []store.Exchange{x}, Digested: 1}
		assert.Equal(t, want, m.HasAnswer("P02"), method)
		assert.False(t, m.HasAnswer("P01"), method)
		m.Digested = 0
		assert.False(t, m.HasAnswer("P02"), "the digest does not cover it")
	}
}
