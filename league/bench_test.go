package league_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// benchAgents replaces all agents of a manager: every call is answered immediately, and
// assignments only go to a channel.
type benchAgents struct {
	handlers map[string]func(context.Context, string, any) (any, error)
	assigned chan *protocol.MatchAssignment
}

func (d *benchAgents) Handle(method string, _ func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	d.handlers[method] = handle
}

func (d *benchAgents) Fallback(func(any) (string, bool)) {}

func (d *benchAgents) OnUnread(func(context.Context, string, error)) {}

func (d *benchAgents) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	switch r.Method {
	case protocol.Ping.Name:
		return &protocol.Pong{}, nil, nil
	case protocol.StartMatch.Name:
		q := r.Params.(*protocol.MatchAssignment)
		d.assigned <- q
		return &protocol.MatchAssignmentAck{Status: protocol.StatusAccepted, MatchID: q.MatchID, Attempt: q.Attempt}, nil, nil
	}
	return &protocol.Ack{}, nil, nil
}

const reporters = 64 // matches in a round

// startBenchLeague starts a league with one referee. All matches of a round wait for their
// reports.
func startBenchLeague(b *testing.B, folder store.Folder) (*benchAgents, *protocol.Stamp, string) {
	b.Helper()
	d := &benchAgents{handlers: map[string]func(context.Context, string, any) (any, error){}, assigned: make(chan *protocol.MatchAssignment, reporters)}
	clock := protocol.SystemClock()
	files, _, err := league.OpenFiles(folder, "bench", false, time.Now)
	require.NoError(b, err)
	m, err := league.New(league.Options{
		LeagueID: "bench", GameType: evenodd.Type, Games: rules.NewRegistry(evenodd.Game{}),
		Players: 2 * reporters, Referees: 1, MaxConcurrentMatches: reporters, Legs: 100,
		Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(),
		Files: files, Caller: d, Clock: clock, Log: zerolog.Nop(),
	})
	require.NoError(b, err)
	m.Mount(d)
	stamp := protocol.NewStamp(protocol.RefereeSender("REF01"), clock)
	answer, err := d.handlers[protocol.RegisterReferee.Name](b.Context(), "", &protocol.RefereeRegisterRequest{
		Envelope: stamp.Envelope(protocol.TypeRefereeRegisterRequest, "conv-ref"),
		RefereeMeta: protocol.RefereeMeta{DisplayName: "Referee", Version: "1.0.0", GameTypes: []string{evenodd.Type},
			ContactEndpoint: "http://referee/mcp", MaxConcurrentMatches: reporters},
	})
	require.NoError(b, err)
	for i := range 2 * reporters {
		_, err := d.handlers[protocol.RegisterPlayer.Name](b.Context(), "", &protocol.LeagueRegisterRequest{
			Envelope: protocol.NewStamp(protocol.PlayerSender("any"), clock).Envelope(protocol.TypeLeagueRegisterRequest, fmt.Sprint("conv-", i)),
			PlayerMeta: protocol.PlayerMeta{DisplayName: fmt.Sprint("Player ", i), Version: "1.0.0", GameTypes: []string{evenodd.Type},
				ContactEndpoint: fmt.Sprintf("http://player-%d/mcp", i)},
		})
		require.NoError(b, err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _, _ = m.Run(ctx) }) // cancelled by the cleanup
	b.Cleanup(func() {
		stop()
		running.Wait()
		require.NoError(b, files.Close())
	})
	return d, stamp, answer.(*protocol.RefereeRegisterResponse).AuthToken
}

// BenchmarkReports measures how many durable results per second a manager acknowledges, from
// 1 and from 64 concurrent reporters. The floor appends a line of the same size to a file
// and syncs it.
func BenchmarkReports(b *testing.B) {
	for _, at := range []int{1, reporters} {
		b.Run(fmt.Sprintf("floor/reporters=%d", at), func(b *testing.B) {
			file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
			require.NoError(b, err)
			line := append(make([]byte, 560), '\n')
			var mu sync.Mutex
			together(b, at, b.N, func(int) error {
				mu.Lock()
				defer mu.Unlock()
				_, err := file.Write(line)
				return errors.Join(err, file.Sync())
			})
			perSecond(b)
			require.NoError(b, file.Close())
		})
		b.Run(fmt.Sprintf("manager/reporters=%d", at), func(b *testing.B) {
			d, stamp, token := startBenchLeague(b, store.Folder(b.TempDir()))
			b.ResetTimer()
			b.StopTimer()
			for left := b.N; left > 0; left -= reporters {
				var round []*protocol.MatchResultReport
				for range reporters {
					round = append(round, reportOf(<-d.assigned, stamp, token))
				}
				counted := min(left, reporters)
				b.StartTimer()
				together(b, at, counted, func(i int) error { return d.report(round[i]) })
				b.StopTimer()
				together(b, reporters, reporters-counted, func(i int) error { return d.report(round[counted+i]) })
			}
			perSecond(b)
		})
	}
}

func (d *benchAgents) report(q *protocol.MatchResultReport) error {
	_, err := d.handlers[protocol.ReportMatchResult.Name](context.Background(), "", q)
	return err
}

func reportOf(q *protocol.MatchAssignment, stamp *protocol.Stamp, token string) *protocol.MatchResultReport {
	a, b := q.PlayerA.PlayerID, q.PlayerB.PlayerID
	even, number := "even", 7
	r := &protocol.MatchResultReport{
		Envelope: stamp.Envelope(protocol.TypeMatchResultReport, q.ConversationID),
		LeagueID: q.LeagueID, RoundID: q.RoundID, MatchID: q.MatchID, GameType: q.GameType, Attempt: q.Attempt,
		Result: protocol.MatchResult{Score: protocol.Both(a, 1, b, 1), Details: &protocol.ResultDetails{
			DrawnNumber: &number, Status: protocol.StatusDraw, Reason: "Both chose even, number was 7 (odd) - both incorrect",
			Choices: protocol.Both(a, &even, b, &even),
		}},
	}
	r.AuthToken = token
	return r
}

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "acknowledged/s") }

// together calls work n times on the given number of workers.
func together(b *testing.B, workers, n int, work func(i int) error) {
	b.Helper()
	waiting := make(chan int, n)
	for i := range n {
		waiting <- i
	}
	close(waiting)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := range waiting {
				if err := work(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	working.Wait()
}
