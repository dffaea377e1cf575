package referee_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/referee"
)

// slowCarrier simulates an overloaded referee: calls of one method to P02 wait in a queue or
// fail locally, once for each entry of the list.
type slowCarrier struct {
	next   protocol.Caller
	method string

	mu   sync.Mutex
	list []localFault
}

// localFault is what delays or fails a call at the referee.
type localFault struct {
	queued time.Duration
	err    error
}

func (c *slowCarrier) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	met := localFault{}
	if r.Method == c.method && leaguetest.HostOf(r.Endpoint) == "p02" {
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
		return nil, &protocol.Timing{Queued: r.Limit}, context.DeadlineExceeded
	}
	if !r.ExtendByQueue {
		r.Limit -= met.queued
	}
	began := time.Now()
	answer, timing, err := c.next.Call(ctx, r)
	if timing == nil {
		timing = &protocol.Timing{Departed: began, Waiting: time.Since(began)}
	}
	timing.Queued += met.queued
	return answer, timing, err
}

// refereeWithCarrier starts a referee with match files and a slow carrier.
func refereeWithCarrier(w *leaguetest.World, folder store.Folder, carrier *slowCarrier, stalls func(from, to time.Time) time.Duration) *leaguetest.Agent {
	w.T.Helper()
	a := w.RefereeWith("REF01", nil, func(o *referee.Options) {
		carrier.next = o.Caller
		o.ID, o.Folder, o.Caller, o.Stalls = "REF01", folder, carrier, stalls
		if folder.IsZero() {
			o.Nonce = nil // each nonce is a random one
		}
	})
	require.NoError(w.T, a.Referee.Register(w.Context))
	return a
}

// stalling returns a Stalls function. It reports the given stalls of the process at the
// begin or at the end of successive windows, and checks that it is asked for the margins of
// a window.
func stalling(t *testing.T, begin []time.Duration, end ...time.Duration) func(from, to time.Time) time.Duration {
	var mu sync.Mutex
	return func(from, to time.Time) (length time.Duration) {
		assert.Equal(t, 250*time.Millisecond, to.Sub(from), "the margin of the window")
		list := &end
		if !to.Equal(time.Now()) {
			assert.Equal(t, 5*leaguetest.Second, time.Since(from), "the time at which the request was sent")
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

// Which faults make an attempt void, league/conduct says. Here the referee measures them: what was queued, and how
// long its process stalled in the margins of the window.
func TestLocalFaultsDoNotCountAgainstThePlayer(t *testing.T) {
	for _, test := range []struct {
		name       string
		localFault []localFault
		stalls     []time.Duration // at the end of a window
		begin      []time.Duration
		answers    leaguetest.Reply // replies of P02 to the invitation
		over       time.Duration    // time of GAME_OVER
		void       []string         // reasons of void attempts in the match file
		asked      int
	}{
		{
			name: "the request was queued: the player has its whole window", localFault: []localFault{{queued: 3 * leaguetest.Second}},
			answers: leaguetest.InTurn(leaguetest.Delayed(4900*time.Millisecond, leaguetest.Normally)), over: 7900 * time.Millisecond, asked: 1,
		},
		{
			name: "the request was queued and the player did not answer: the deadline in the request was wrong", asked: 2,
			localFault: []localFault{{queued: 3 * leaguetest.Second}}, answers: leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally), over: 8 * leaguetest.Second,
			void: []string{"the question was queued for 3s at the referee before it was sent"},
		},
		{
			name: "the process stalled at the end", stalls: []time.Duration{2 * leaguetest.Second},
			answers: leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally), over: 5 * leaguetest.Second, asked: 2,
			void: []string{"the referee stalled for 2s when the time to answer ended"},
		},
		{
			name: "the process stalled when the request was sent", begin: []time.Duration{leaguetest.Second},
			answers: leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally), over: 5 * leaguetest.Second, asked: 2,
			void: []string{"the referee stalled for 1s when the question was sent"},
		},
		{
			name: "no file descriptors", localFault: []localFault{{err: leaguetest.NoDescriptors{}}}, answers: leaguetest.Normally, over: 2 * leaguetest.Second, asked: 1,
			void: []string{"the call failed at the referee's side"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				manager := w.ScriptedManager()
				r := refereeWithCarrier(w, folder, &slowCarrier{method: protocol.Invite.Name, list: slices.Clone(test.localFault)}, stalling(t, test.begin, test.stalls...))
				w.Player("P01")
				w.Player("P02", leaguetest.On(protocol.Invite.Name, test.answers))
				w.HandOver(manager, r, "R1M1", 1)
				w.WaitUntil(100 * leaguetest.Second)
				assert.Empty(t, w.GameErrors())
				assert.Len(t, w.Calls(protocol.Invite.Name, "p02"), test.asked)
				over := w.Calls(protocol.NotifyMatchResult.Name)
				assert.Equal(t, []time.Duration{test.over, test.over}, leaguetest.Times(over))
				doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
				assert.NotEqual(t, league.StatusTechnicalLoss, doc.Result.Status)
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

func TestTranscriptHasTheTiming(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		manager := w.ScriptedManager()
		r := refereeWithCarrier(w, folder, &slowCarrier{method: protocol.Invite.Name, list: []localFault{{queued: 200 * time.Millisecond}, {queued: 100 * time.Millisecond}}}, nil)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Delayed(leaguetest.Second, leaguetest.Normally))))
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(60 * leaguetest.Second)
		var timings []protocol.Timing
		for _, x := range leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile).Transcript {
			if x.PlayerID == "P02" && x.Direction == store.Received && x.Method == protocol.Invite.Name {
				timings = append(timings, *x.Timing)
			}
		}
		assert.Equal(t, []protocol.Timing{
			{Queued: 200 * time.Millisecond, Waiting: 5 * leaguetest.Second}, {Queued: 100 * time.Millisecond, Waiting: leaguetest.Second},
		}, timings)
	})
}

func TestWindowExcludesLocalQueueingForInvalidReplies(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		manager := w.ScriptedManager()
		r := refereeWithCarrier(w, store.Folder{}, &slowCarrier{method: protocol.Invite.Name, list: []localFault{{queued: leaguetest.Second}, {queued: leaguetest.Second}}}, nil)
		w.Player("P01")
		w.Player("P02", leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.Delayed(leaguetest.Second, leaguetest.EditAnswer("accept", "yes")), leaguetest.Delayed(3900*time.Millisecond, leaguetest.Normally))))
		w.HandOver(manager, r, "R1M1", 1)
		w.WaitUntil(60 * leaguetest.Second)
		assert.Equal(t, []leaguetest.GameError{leaguetest.RetryAtOnce(2*leaguetest.Second, protocol.ErrInvalidFieldType, 1, leaguetest.JoinAck, 4*leaguetest.Second)}, w.GameErrors())
		assert.Equal(t, 6900*time.Millisecond, w.Calls(protocol.NotifyMatchResult.Name)[0].At, "5 s of its own and 2 s of local queueing")
	})
}

func TestMatchWithOnlyVoidAttemptsIsPlayedAgain(t *testing.T) {
	play := func(t *testing.T, w *leaguetest.World, folder store.Folder, registered ...func()) {
		w.StartManager(2, 1, func(o *manager.Options) { o.LongestMatch = 3600 })
		refereeWithCarrier(w, folder, &slowCarrier{}, stalling(t, nil, slices.Repeat([]time.Duration{leaguetest.Second}, 10)...))
		for _, change := range registered {
			change()
		}
		w.Player("P01", leaguetest.WithStrategy("even"))
		w.Player("P02", leaguetest.WithStrategy("even"), leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.FirstN(10, leaguetest.Silent, leaguetest.Normally))))
		w.Finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 50s"}, w.AssignmentLog(),
			"the referee re-registers after it gave up the match, and gets it again")
		assert.Len(t, w.Calls(protocol.RegisterReferee.Name), 2)
		assert.Empty(t, w.GameErrors())
		assert.Equal(t, league.StatusDraw, leaguetest.Results(w.Manager)[0].Status)
	}
	leaguetest.RunOnWire(t, "with files", func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		play(t, w, folder)
		assert.Equal(t, []string{leaguetest.FirstMatchFile}, leaguetest.MatchFiles(t, folder))
	})
	leaguetest.RunOnWire(t, "on a full disk", func(t *testing.T, w *leaguetest.World) {
		folder, book := leaguetest.TempFolder(t), w.CaptureLog()
		log := folder.MatchLog(leaguetest.LeagueID, "REF01")
		folder.Disk = fullDisk{folder.Disk, log}
		play(t, w, folder)
		assert.Contains(t, book.Text(), log+": no space left on device")
		assert.NotContains(t, book.Text(), "cannot read")
		assert.NotContains(t, book.Text(), "MATCHES_NOT_REQUESTED")
	})
	leaguetest.RunOnWire(t, "with a log that cannot be read", func(t *testing.T, w *leaguetest.World) {
		folder, book := leaguetest.TempFolder(t), w.CaptureLog()
		log := folder.MatchLog(leaguetest.LeagueID, "REF01")
		play(t, w, folder, func() { require.NoError(t, os.MkdirAll(filepath.Join(log, "no file"), 0o700)) })
		assert.Contains(t, book.Text(), "cannot read the matches that this referee has finished")
		assert.NotContains(t, book.Text(), "MATCHES_NOT_REQUESTED", "the manager has assigned them again")
	})
	leaguetest.RunOnWire(t, "without", func(t *testing.T, w *leaguetest.World) { play(t, w, store.Folder{}) })
}

// A fullDisk has no space for one file.
type fullDisk struct {
	disk.Disk

	path string
}

func (d fullDisk) OpenFile(path string, flag int, mode fs.FileMode) (disk.File, error) {
	f, err := d.Disk.OpenFile(path, flag, mode)
	if err == nil && path == d.path {
		f = fullFile{f}
	}
	return f, err
}

type fullFile struct{ disk.File }

func (f fullFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
}

func TestStrictPlayerRejectsUnauthenticatedReferees(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01", leaguetest.VerifyReferees)
		w.Announce(p, 1, protocol.RefereeAuthNone)
		c := w.ScriptedReferee(p, "R1M1", 1)
		c.Token = "tok-ref01-its-own"
		_, err := c.Invite()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 4001)
		c.Token = ""
		_, err = c.Invite()
		leaguetest.AssertRefused(t, err, protocol.ErrTokenMissing, 4001)
		c = w.ScriptedReferee(p, "R1M1", 1)
		_, err = c.Invite()
		require.NoError(t, err, "a referee that authenticates itself is accepted")
	})
}

func TestUntrustedCallerCannotTakeOverAMatch(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second string // the senders of the invitations
		proven        bool   // whether the first one has a valid access token
		attempts      [2]int // attempts of the invitations
		code          protocol.Code
	}{
		{"after the announced referee", "REF01", "REF66", false, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"in another attempt", "REF01", "REF66", false, [2]int{1, 2}, protocol.ErrTokenInvalid},
		{"after an authenticated referee", "REF01", "REF66", true, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"with the sender of an authenticated referee", "REF01", "REF01", true, [2]int{1, 1}, protocol.ErrTokenInvalid},
		{"the announced referee invites after an untrusted caller", "REF66", "REF01", false, [2]int{1, 1}, ""},
		{"the announced referee invites after an untrusted caller with a later attempt", "REF66", "REF01", false, [2]int{9, 1}, ""},
		{"the announced referee invites after an untrusted caller with its sender", "REF01", "REF01", false, [2]int{9, 1}, ""},
		{"the same referee invites again", "REF01", "REF01", false, [2]int{1, 2}, ""},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.ScriptedManager()
			p := w.Player("P01")
			w.Announce(p, 1, protocol.RefereeAuthNone)
			first := w.ScriptedReferee(p, "R1M1", test.attempts[0])
			first.Sender = test.first
			if !test.proven {
				first.Token = "tok-ref01-its-own"
			}
			_, err := first.Invite()
			require.NoError(t, err)
			second := w.ScriptedReferee(p, "R1M1", test.attempts[1])
			second.Sender, second.Token = test.second, "tok-ref66-its-own"
			_, err = second.Invite()
			if test.code == "" {
				require.NoError(t, err)
				_, err = second.Choose()
				require.NoError(t, err)
				return
			}
			leaguetest.AssertRefused(t, err, test.code, 4001)
			_, err = first.Choose()
			require.NoError(t, err, "the match continues")
		})
	}
}

// A player counts the result of a second attempt even if it did not receive its invitation.
func TestGameOverOfAnAttemptWithoutInvitationCounts(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.ScriptedManager()
		p := w.Player("P01")
		w.Announce(p, 1, protocol.RefereeAuthAccessToken)
		_, err := w.ScriptedReferee(p, "R1M1", 1).Invite()
		require.NoError(t, err)
		other := w.ScriptedReferee(p, "R1M1", 2)
		other.Token = w.AccessToken("P01", "R1M1", 1, "REF01")
		_, err = other.SendGameOver(8)
		require.NoError(t, err, "it has the token of the referee that invited")
		assert.Equal(t, 1, p.Player.Record().Stats.TotalMatches)

		_, err = w.ScriptedReferee(p, "R1M2", 1).Invite()
		require.NoError(t, err)
		_, err = w.ScriptedReferee(p, "R1M2", 2).SendGameOver(7)
		require.NoError(t, err)
		assert.Equal(t, 2, p.Player.Record().Stats.TotalMatches)
		_, err = w.ScriptedReferee(p, "R1M2", 1).Choose()
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidMatchState, 4005)
	})
}
