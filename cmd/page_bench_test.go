package cmd_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkPages measures the processor time of a whole league of 200 players and 3,000 matches, and
// of a small one, in one process, without a page, with the page, and with 50 clients that read its stream of updates. The
// clients run in this process.
func BenchmarkPages(b *testing.B) {
	for _, size := range []struct{ players, rounds string }{{"8", "3"}, {"200", "30"}} {
		for _, transport := range []string{"http", "memory"} {
			for _, pages := range []int{-1, 0, 50} {
				name := fmt.Sprintf("players=%s/%s/pages=%d", size.players, transport, pages)
				if pages < 0 {
					name = fmt.Sprintf("players=%s/%s/no-page", size.players, transport)
				}
				b.Run(name, func(b *testing.B) {
					seconds := 0.0
					for b.Loop() {
						seconds += leagueWithPages(b, pages, "--players", size.players, "--rounds", size.rounds, "--transport", transport)
					}
					b.ReportMetric(seconds/float64(b.N), "cpu-s/league")
				})
			}
		}
	}
}

// leagueWithPages plays a league, and returns the processor time of its process in seconds.
func leagueWithPages(b *testing.B, pages int, args ...string) float64 {
	b.Helper()
	args = append([]string{"simulate", "--tournament", "swiss", "--seed", "7", "--concurrency", "100", "--data", b.TempDir()}, args...)
	if pages >= 0 {
		args = append(args, "--serve", "127.0.0.1:0")
	}
	c := exec.CommandContext(b.Context(), "evenodd", args...)
	text, err := c.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, c.Start())
	lines := bufio.NewScanner(text)
	found, over := regexp.MustCompile(`Watch .*(http://\S+/)`), regexp.MustCompile(`^The league is over; `)
	var reading sync.WaitGroup
	ctx, end := context.WithCancel(b.Context())
	for lines.Scan() {
		if at := found.FindStringSubmatch(lines.Text()); at != nil {
			for range pages {
				reading.Go(func() { readEvents(ctx, at[1]+"events") })
			}
		}
		if over.MatchString(lines.Text()) {
			require.NoError(b, c.Process.Signal(syscall.SIGINT))
		}
	}
	require.NoError(b, c.Wait())
	end()
	reading.Wait()
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

// readEvents reads a stream until it ends with the league. Before the league has begun there is
// none.
func readEvents(ctx context.Context, url string) {
	for ctx.Err() == nil {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // the stream may be cut off
		_ = r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}
