package protocol_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func standings() *protocol.StandingsUpdate {
	return samples()[protocol.TypeStandingsUpdate].(*protocol.StandingsUpdate)
}

func TestBroadcastIsEncodedOnce(t *testing.T) {
	q := standings()
	b := protocol.Many(q)
	assert.Equal(t, q.ConversationID, b.Conversation())
	assert.Equal(t, protocol.TypeStandingsUpdate, b.Type())
	want, err := json.Marshal(q)
	require.NoError(t, err)

	encodings := make([][]byte, 20)
	var all sync.WaitGroup
	for i := range encodings {
		all.Go(func() {
			encoded, err := b.Encoded()
			assert.NoError(t, err)
			encodings[i] = encoded
		})
	}
	all.Wait()
	for _, e := range encodings {
		assert.Equal(t, string(want), string(e))
		assert.Same(t, &encodings[0][0], &e[0], "the very same bytes")
	}
}

func TestBroadcastThatCannotBeEncoded(t *testing.T) {
	b := protocol.Many(&protocol.StandingsUpdate{LeagueID: "\xff"})
	_, first := b.Encoded()
	_, second := b.Encoded()
	require.Error(t, first)
	assert.Same(t, first, second)
}

func TestReceiversGetTheBroadcastItself(t *testing.T) {
	b := protocol.Many(standings())
	for range 2 {
		_, err := protocol.UpdateStandings.CallMany(context.Background(), callerFunc(func(_ context.Context, c sent) (any, error) {
			assert.Same(t, b, c.Params)
			assert.Equal(t, "update_standings", c.Method)
			return &protocol.Ack{}, nil
		}), somewhere, b, time.Second)
		require.NoError(t, err)
	}
}
