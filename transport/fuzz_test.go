package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// The seeds of these fuzz tests are in testdata/fuzz: cases of the other tests,
// captured messages of third-party agents, and findings of the fuzzer.

// recordingMux is a mux that records its calls.
func recordingMux() (mux *transport.Mux, calls *[]string) {
	mux, calls = transport.NewMux(zerolog.Nop()), new([]string)
	decode := func(params []byte) (any, error) {
		var members map[string]jsontext.Value
		if err := jsonv2.Unmarshal(params, &members); err != nil {
			return nil, &transport.Error{Code: transport.CodeInvalidParams, Message: "Invalid params"}
		}
		return members, nil
	}
	for _, method := range []string{"ping", "handle_game_invitation", "choose_parity", "notify_match_result", "register_player", "fails"} {
		mux.Handle(method, decode, func(_ context.Context, _ string, params any) (any, error) {
			text, err := jsonv2.Marshal(params, jsonv2.Deterministic(true))
			*calls = append(*calls, fmt.Sprint(method, string(text), err))
			if method == "fails" {
				return nil, errors.New("no")
			}
			return jsontext.Value(text), nil
		})
	}
	return mux, calls
}

// For any request, nothing panics and the answer is JSON or empty. The codec decodes a
// body in our form like any other, which a space before its last brace enforces.
func FuzzServe(f *testing.F) {
	f.Fuzz(func(t *testing.T, body []byte) {
		mux, calls := recordingMux()
		answer := mux.Serve(t.Context(), "", body)
		require.Zero(t, answer.RetryAfter)
		if answer.Body != nil {
			require.True(t, jsontext.Value(answer.Body).IsValid(), "%q is answered with %q", body, answer.Body)
		}
		end := bytes.LastIndexByte(body, '}')
		if end < 0 || bytes.IndexByte(body[end:], '"') >= 0 {
			return // no object, or one within a string
		}
		book, slow := recordingMux()
		spaced := append(append(bytes.Clone(body[:end]), ' '), body[end:]...)
		require.Equal(t, string(answer.Body), string(book.Serve(t.Context(), "", spaced).Body))
		require.Equal(t, *calls, *slow)
	})
}

// For any response, nothing panics, a decoded result is JSON, and both ways of decoding
// agree.
func FuzzDecodeResponse(f *testing.F) {
	whole := func(result []byte) (any, error) {
		v := jsontext.Value(result)
		if !v.IsValid() {
			return nil, errors.New("no JSON value")
		}
		return string(bytes.TrimSpace(v)), nil
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, err := transport.DecodeResponse(body, whole)
		if err == nil {
			require.True(t, jsontext.Value(value.(string)).IsValid())
		}
		var refused *transport.Error
		if errors.As(err, &refused) {
			require.True(t, jsontext.Value(transport.EncodeError(refused)).IsValid(), "an error can be passed on")
		}
		end := bytes.LastIndexByte(body, '}')
		if end < 0 || bytes.IndexByte(body[end:], '"') >= 0 {
			return
		}
		spaced := append(append(bytes.Clone(body[:end]), ' '), body[end:]...)
		byTheBook, other := transport.DecodeResponse(spaced, whole)
		require.Equal(t, value, byTheBook)
		require.Equal(t, err == nil, other == nil)
	})
}
