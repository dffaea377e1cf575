package simulation_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal/journalstream"
	"evenodd/league/manager"
	"evenodd/league/simulation"
	"evenodd/league/store"
)

// BenchmarkStream plays leagues with their journal in JetStream, which syncs each message. The floor is the same league
// with its journal in the folder, in turn, on the same disk. EVENODD_NATS names servers of other processes.
func BenchmarkStream(b *testing.B) {
	url := os.Getenv("EVENODD_NATS")
	if url == "" {
		url = startServer(b)
	}
	conn, err := nats.Connect(url, nats.ReconnectBufSize(-1))
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	for _, players := range []int{20, 200} {
		b.Run(fmt.Sprintf("players=%d", players), func(b *testing.B) { playInTurn(b, conn, players) })
	}
}

func startServer(b *testing.B) (url string) {
	b.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: b.TempDir(), SyncAlways: true,
	})
	require.NoError(b, err)
	s.Start()
	b.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(b, s.ReadyForConnections(30*time.Second))
	return s.ClientURL()
}

func playInTurn(b *testing.B, conn *nats.Conn, players int) {
	o := options(players)
	o.Concurrency = players / 2
	var err error
	shared := &manager.Shared{Master: make([]byte, 32)}
	play := func(shared *manager.Shared) time.Duration {
		folder := store.In(b.TempDir())
		o.Files, _, err = manager.OpenFiles(folder, o.LeagueID, false, shared)
		require.NoError(b, err)
		begun := time.Now()
		_, err = simulation.Run(b.Context(), o)
		require.NoError(b, err)
		require.NoError(b, o.Files.Close())
		took := time.Since(begun)
		require.NoError(b, os.RemoveAll(folder.Path))
		return took
	}
	var took, floor time.Duration
	for b.Loop() {
		shared.Stream, err = journalstream.Open(b.Context(), conn, journalstream.Options{
			LeagueID: o.LeagueID, Fresh: true, Log: zerolog.Nop(),
		})
		require.NoError(b, err)
		took += play(shared)
		floor += play(nil)
	}
	matches := float64(b.N * players * (players - 1) / 2)
	b.ReportMetric(0, "ns/op") // omits it
	b.ReportMetric(float64(took.Nanoseconds())/matches, "ns/match")
	b.ReportMetric(float64(floor.Nanoseconds())/matches, "floor-ns/match")
	b.ReportMetric(float64(took)/float64(floor), "x-floor")
}
