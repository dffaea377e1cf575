package external

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openHost opens the strategy with a fallback that always chooses even.
func openHost(t *testing.T, l *log) *Host {
	t.Helper()
	tools := l.tools()
	tools.Hosted, tools.Fallback = true, "even"
	s, err := Open(HostName, tools)
	require.NoError(t, err)
	return s.(*Host)
}

// A chosen choice comes with its error.
type chosenChoice struct {
	choice string
	err    error
}

// choose asks the host in the background.
func choose(ctx context.Context, h *Host, matchID string) <-chan chosenChoice {
	made := make(chan chosenChoice, 1)
	go func() {
		choice, err := h.Choose(ctx, view(matchID))
		made <- chosenChoice{choice, err}
	}()
	return made
}

func TestHostAnswersAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, &log{})
		waited := make(chan []Question)
		go func() { waited <- h.Wait(t.Context()) }()
		synctest.Wait()
		made := choose(t.Context(), h, "R1M1")
		pending := <-waited
		require.Len(t, pending, 1)
		q := pending[0]
		assert.Equal(t, []string{"even", "odd"}, q.ValidOptions)
		assert.Equal(t, "P02", q.OpponentID)
		assert.Equal(t, time.Now().Add(hostTimeout).UTC().Format(time.RFC3339), q.Deadline)

		require.EqualError(t, h.Answer(q.ChoiceID, "seven"), `choice "seven": must be one of even, odd`)
		require.ErrorContains(t, h.Answer("R9M9-1", "odd"), `choice_id "R9M9-1": no such question waits`)
		require.NoError(t, h.Answer(q.ChoiceID, "odd"))
		assert.Empty(t, h.Pending(), "an answered question does not wait")
		assert.Equal(t, chosenChoice{"odd", nil}, <-made)
		require.ErrorContains(t, h.Answer(q.ChoiceID, "even"), "no such question waits", "an answer is final")
		assert.Equal(t, "mcp-host: 1 question, 0 answered by the fallback strategy even", h.Account())
	})
}

func TestFallbackChoosesAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		h := openHost(t, l)
		v := view("R1M1")
		v.Within = 30 * time.Second
		began := time.Now()
		choice, err := h.Choose(t.Context(), v)
		require.NoError(t, err)
		assert.Equal(t, "even", choice)
		assert.Equal(t, 24*time.Second, time.Since(began), "the answer must arrive before the referee's deadline")
		assert.Empty(t, h.Pending())
		assert.Equal(t, "mcp-host: 1 question, 1 answered by the fallback strategy even", h.Account())
		assert.Contains(t, l.String(), `"event_type":"HOST_DID_NOT_CHOOSE_IN_TIME"`)
	})
}

func TestQuestionOfACanceledCallDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openHost(t, &log{})
		ctx, cancel := context.WithCancel(t.Context())
		made := choose(ctx, h, "R1M1")
		synctest.Wait()
		require.Len(t, h.Pending(), 1)
		cancel()
		assert.ErrorIs(t, (<-made).err, context.Canceled)
		assert.Empty(t, h.Pending())
	})
}

func TestHostNeedsAServer(t *testing.T) {
	require.ErrorContains(t, Check(HostName, Tools{}), "only 'evenodd player'")
	require.ErrorContains(t, Check(HostName, Tools{Hosted: true, Fallback: "best"}), `unknown strategy "best" for --fallback`)
}
