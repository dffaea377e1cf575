package conversations

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
)

// A slowCarrier is that of an overloaded referee: calls of some method to P02
// wait in it before they are sent, or fail in it, once for each entry of a list.
type slowCarrier struct {
	next   protocol.Caller
	method string

	mu   sync.Mutex
	list []trouble
}

// trouble is what a call meets at the referee's side.
type trouble struct {
	queued time.Duration
	err    error
}

func (c *slowCarrier) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	met := trouble{}
	if r.Method == c.method && hostOf(r.Endpoint) == "p02" {
		c.mu.Lock()
		if len(c.list) > 0 {
			met, c.list = c.list[0], c.list[1:]
		}
		c.mu.Unlock()
	}
	if met.err != nil {
		return nil, nil, met.err
	}
	select {
	case <-time.After(min(met.queued, r.Limit)):
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if met.queued >= r.Limit {
		return nil, &protocol.CallTiming{Queued: r.Limit}, context.DeadlineExceeded
	}
	if !r.ExtendByQueue {
		r.Limit -= met.queued
	}
	began := time.Now()
	answer, timing, err := c.next.Call(ctx, r)
	if timing == nil {
		timing = &protocol.CallTiming{Departed: began, Waiting: time.Since(began)}
	}
	timing.Queued += met.queued
	return answer, timing, err
}

// noDescriptors is a failure of this side, as carriers know it.
type noDescriptors struct{}

func (noDescriptors) Error() string { return "too many open files" }
func (noDescriptors) Local() bool   { return true }

// burdened is a referee that keeps files and meets trouble.
func (w *world) burdened(folder store.Folder, carrier *slowCarrier, stalls func(from, to time.Time) time.Duration) *actor {
	w.t.Helper()
	a := w.refereeWith("REF01", nil, func(o *referee.Options) {
		carrier.next = o.Caller
		o.ID, o.Folder, o.Caller, o.Stalls = "REF01", folder, carrier, stalls
	})
	require.NoError(w.t, a.referee.Register(w.life))
	return a
}

// stalling says how long the process stood still at the end of one window after
// the other, or at its begin, and looks whether it is asked for these.
func stalling(t *testing.T, begin []time.Duration, end ...time.Duration) func(from, to time.Time) time.Duration {
	var mu sync.Mutex
	return func(from, to time.Time) (length time.Duration) {
		assert.Equal(t, 250*time.Millisecond, to.Sub(from), "a margin of the window")
		list := &end
		if !to.Equal(time.Now()) {
			assert.Equal(t, 5*second, time.Since(from), "from when on it was sent")
			list = &begin
		}
		mu.Lock()
		defer mu.Unlock()
		if len(*list) > 0 {
			length, *list = (*list)[0], (*list)[1:]
		}
		return length
	}
}

func TestWhoIsToBlame(t *testing.T) {
	blamed := []complaint{paused(5*second, protocol.ErrTimeout, 1, join)}
	for _, test := range []struct {
		name       string
		trouble    []trouble
		stalls     []time.Duration // at the end of a window
		begin      []time.Duration
		answers    part // of P02 to the invitation
		complaints []complaint
		over       time.Duration // when GAME_OVER goes out
		void       []string      // of the match file
		asked      int
	}{
		{
			name: "a question that waited here: the player has its whole window", trouble: []trouble{{queued: 3 * second}},
			answers: inTurn(after(4900*time.Millisecond, honestly)), over: 7900 * time.Millisecond, asked: 1,
		},
		{
			name: "it waited, and the player let the whole window pass: the deadline it was told was wrong", asked: 2,
			trouble: []trouble{{queued: 3 * second}}, answers: inTurn(silent, honestly), over: 8 * second,
			void: []string{"the question waited for 3s at the referee before it was sent"},
		},
		{
			name: "it waited no longer than the margin", trouble: []trouble{{queued: 250 * time.Millisecond}},
			answers: inTurn(silent, honestly), over: 7250 * time.Millisecond, asked: 2,
			complaints: []complaint{{
				At: 5250 * time.Millisecond, To: "p02", Code: protocol.ErrTimeout, Retry: 1, Retryable: true, Action: join, Next: 7 * second, Remaining: none,
			}},
		},
		{
			name: "the process stood still at the end", stalls: []time.Duration{2 * second},
			answers: inTurn(silent, honestly), over: 5 * second, asked: 2,
			void: []string{"the referee stood still for 2s when the time to answer ended"},
		},
		{
			name: "it stood still no longer than the margin", stalls: []time.Duration{250 * time.Millisecond},
			answers: inTurn(silent, honestly), complaints: blamed, over: 7 * second, asked: 2,
		},
		{
			name: "the player is late, and nobody else", answers: inTurn(silent, honestly), complaints: blamed, over: 7 * second, asked: 2,
		},
		{
			name: "it stood still when the question left", begin: []time.Duration{second},
			answers: inTurn(silent, honestly), over: 5 * second, asked: 2,
			void: []string{"the referee stood still for 1s when the question left"},
		},
		{
			name: "it stood still for a moment when the question left", begin: []time.Duration{250 * time.Millisecond},
			answers: inTurn(silent, honestly), complaints: blamed, over: 7 * second, asked: 2,
		},
		{
			name: "no file descriptors", trouble: []trouble{{err: noDescriptors{}}}, answers: honestly, over: 2 * second, asked: 1,
			void: []string{"the call failed at the referee's side"},
		},
		{
			name: "nine times in vain is no reason to give up", answers: inTurn(nTimes(9, silent, honestly)), over: 45 * second, asked: 10,
			stalls: slices.Repeat([]time.Duration{second}, 9),
			void:   slices.Repeat([]string{"the referee stood still for 1s when the time to answer ended"}, 9),
		},
		{
			name: "a void try is no retry", answers: inTurn(nTimes(5, silent, honestly)), asked: 6,
			stalls: []time.Duration{0, second, second, 0, 0}, over: 31 * second,
			complaints: []complaint{
				paused(5*second, protocol.ErrTimeout, 1, join), paused(22*second, protocol.ErrTimeout, 2, join), paused(29*second, protocol.ErrTimeout, 3, join),
			},
			void: slices.Repeat([]string{"the referee stood still for 1s when the time to answer ended"}, 2),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				boss := w.boss()
				r := w.burdened(folder, &slowCarrier{method: protocol.Invite.Name, list: slices.Clone(test.trouble)}, stalling(t, test.begin, test.stalls...))
				w.player("P01")
				w.player("P02", does(protocol.Invite.Name, test.answers))
				w.hand(boss, r, "R1M1", 1)
				w.at(100 * second)
				assert.Equal(t, test.complaints, w.complaints())
				assert.Len(t, w.said(protocol.Invite.Name, "p02"), test.asked)
				over := w.said(protocol.NotifyMatchResult.Name)
				assert.Equal(t, []time.Duration{test.over, test.over}, times(over))
				doc := matchFile(t, folder, theMatch)
				assert.NotEqual(t, protocol.StatusTechnicalLoss, doc.Result.Status)
				var void []string
				for _, x := range doc.Transcript {
					if x.Void != "" {
						void = append(void, x.Void)
						assert.NotNil(t, x.Error)
					}
				}
				assert.Equal(t, test.void, void)
			})
		})
	}
}

func TestWhereTheTimeWent(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		boss := w.boss()
		r := w.burdened(folder, &slowCarrier{method: protocol.Invite.Name, list: []trouble{{queued: 200 * time.Millisecond}, {queued: 100 * time.Millisecond}}}, nil)
		w.player("P01")
		w.player("P02", does(protocol.Invite.Name, inTurn(silent, after(second, honestly))))
		w.hand(boss, r, "R1M1", 1)
		w.at(60 * second)
		told := w.said(protocol.NotifyGameError.Name)
		require.Len(t, told, 1)
		context := read[protocol.GameError](told[0].message).Context
		assert.Equal(t, map[string]any{"queued_ms": 200.0, "connecting_ms": 0.0, "waiting_ms": 5000.0, "reading_ms": 0.0}, context["timing"])
		assert.Equal(t, "2000-01-01T00:00:05Z", context["deadline"])
		var timings []protocol.Timing
		for _, x := range matchFile(t, folder, theMatch).Transcript {
			if x.PlayerID == "P02" && x.Direction == store.Received && x.Method == protocol.Invite.Name {
				timings = append(timings, *x.Timing)
			}
		}
		assert.Equal(t, []protocol.Timing{
			{Queued: 200 * time.Millisecond, Waiting: 5 * second}, {Queued: 100 * time.Millisecond, Waiting: second},
		}, timings)
	})
}

func TestAWindowIsTheSameForAWrongAnswer(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		boss := w.boss()
		r := w.burdened("", &slowCarrier{method: protocol.Invite.Name, list: []trouble{{queued: second}, {queued: second}}}, nil)
		w.player("P01")
		w.player("P02", does(protocol.Invite.Name, inTurn(after(second, editing("accept", "yes")), after(3900*time.Millisecond, honestly))))
		w.hand(boss, r, "R1M1", 1)
		w.at(60 * second)
		assert.Equal(t, []complaint{again(2*second, protocol.ErrInvalidFieldType, 1, join, 4*second)}, w.complaints())
		assert.Equal(t, 6900*time.Millisecond, w.said(protocol.NotifyMatchResult.Name)[0].at, "5 s of its own, and 2 s that were not")
	})
}

func TestAQuestionThatNeverComesThroughIsNobodysLoss(t *testing.T) {
	for name, folder := range map[string]bool{"with files": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				into := store.Folder("")
				if folder {
					into = folderOf(t)
				}
				w.startManager(2, 1, func(o *league.Options) { o.LongestMatch = time.Hour })
				w.burdened(into, &slowCarrier{}, stalling(t, nil, slices.Repeat([]time.Duration{second}, 10)...))
				w.player("P01", choosing("even"))
				w.player("P02", choosing("even"), does(protocol.Invite.Name, inTurn(nTimes(10, silent, honestly))))
				w.finish()
				assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 50s"}, w.assignments(),
					"the referee asks for it again as soon as it has given it up")
				assert.Len(t, w.said(protocol.RegisterReferee.Name), 2)
				assert.Empty(t, w.complaints())
				assert.Equal(t, protocol.StatusDraw, w.manager.Results()[0].Status)
				if folder {
					assert.Equal(t, []string{theMatch}, filesOf(t, into))
				}
			})
		})
	}
}

func TestStrictReplies(t *testing.T) {
	for _, test := range []struct {
		name, member string
		value        any
		code         protocol.Code
	}{
		{"another protocol", "protocol", "league.v1", protocol.ErrProtocolVersion},
		{"no envelope", "protocol", nil, protocol.ErrMissingField},
		{"no player_id", "player_id", nil, protocol.ErrMissingField},
		{"a local time", "timestamp", "2000-01-01T02:00:00", protocol.ErrInvalidTimestamp},
		{"a sender that is a number", "sender", 7, protocol.ErrInvalidFieldType},
		{"another conversation", "conversation_id", "conv-other", protocol.ErrNotAuthorized},
		{"another player_id", "player_id", "P77", protocol.ErrNotAuthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.startManager(2, 1, func(o *league.Options) { o.StrictReplies = true })
				w.referee("REF01")
				w.player("P01")
				w.player("P02", does(protocol.Invite.Name, inTurn(editing(test.member, test.value), honestly)),
					does(protocol.ChooseParity.Name, editing(test.member, test.value)))
				w.finish()
				assert.Equal(t, append(
					[]complaint{again(0, test.code, 1, join, 5*second)}, fourAtOnce(test.code, choice, 30*second)...), w.complaints())
				assert.Equal(t, protocol.StatusTechnicalLoss, w.manager.Results()[0].Status)
			})
		})
	}
}

func TestAStrictPlayerRefusesRefereesWithoutProof(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01", strictOfReferees)
		w.announce(p, 1, protocol.RefereeAuthNone)
		c := w.conducts(p, "R1M1", 1)
		c.token = "tok-ref01-its-own"
		_, err := c.invite()
		assertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		c.token = ""
		_, err = c.invite()
		assertRefused(t, err, protocol.ErrTokenMissing, 4001)
		c = w.conducts(p, "R1M1", 1)
		_, err = c.invite()
		require.NoError(t, err, "one that proves itself is welcome")
	})
}

func TestAStrangerCannotTakeOverAMatch(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second string // who invites
		proven        bool   // the first one
		attempts      [2]int // theirs
		code          protocol.Code
	}{
		{"after the announced referee", "REF01", "REF66", false, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"in another attempt", "REF01", "REF66", false, [2]int{1, 2}, protocol.ErrTokenInvalid},
		{"after one that proved itself", "REF01", "REF66", true, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"under the name of one that proved itself", "REF01", "REF01", true, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"and the announced referee comes after a stranger", "REF66", "REF01", false, [2]int{1, 1}, ""},
		{"and it comes after a stranger that speaks of a later attempt", "REF66", "REF01", false, [2]int{9, 1}, ""},
		{"and it comes after a stranger under its name", "REF01", "REF01", false, [2]int{9, 1}, ""},
		{"and the same one comes again", "REF01", "REF01", false, [2]int{1, 2}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				w.boss()
				p := w.player("P01")
				w.announce(p, 1, protocol.RefereeAuthNone)
				first := w.conducts(p, "R1M1", test.attempts[0])
				first.sender = test.first
				if !test.proven {
					first.token = "tok-ref01-its-own"
				}
				_, err := first.invite()
				require.NoError(t, err)
				second := w.conducts(p, "R1M1", test.attempts[1])
				second.sender, second.token = test.second, "tok-ref66-its-own"
				_, err = second.invite()
				if test.code == "" {
					require.NoError(t, err)
					_, err = second.choose()
					require.NoError(t, err)
					return
				}
				assertRefused(t, err, test.code, 4001)
				_, err = first.choose()
				require.NoError(t, err, "the match goes on")
			})
		})
	}
}

// A player that the invitation to a second attempt did not reach counts how that
// ended all the same.
func TestTheEndOfAnAttemptThatAPlayerWasNotInvitedTo(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.boss()
		p := w.player("P01")
		w.announce(p, 1, protocol.RefereeAuthAccessToken)
		_, err := w.conducts(p, "R1M1", 1).invite()
		require.NoError(t, err)
		stranger := w.conducts(p, "R1M1", 2)
		stranger.token = w.access("P01", "R1M1", 1, "REF01")
		_, err = stranger.over(8)
		require.NoError(t, err, "it is the referee that invited")
		assert.Equal(t, 1, p.player.Record().Stats.TotalMatches)

		_, err = w.conducts(p, "R1M2", 1).invite()
		require.NoError(t, err)
		_, err = w.conducts(p, "R1M2", 2).over(7)
		require.NoError(t, err)
		assert.Equal(t, 2, p.player.Record().Stats.TotalMatches)
		_, err = w.conducts(p, "R1M2", 1).choose()
		assertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
	})
}
