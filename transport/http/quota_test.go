package http_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	carrier "evenodd/transport/http"
)

// streamLimits leave room for a few streams that may be slow.
var streamLimits = carrier.StreamLimits{Streams: 8, StreamsPerAddress: 4, Write: 5 * time.Second}

// open opens a stream, which ends with ctx.
func open(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	r, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

func TestRequestsOfAQuotaTakeNoCalls(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{Rate: 0.001, Burst: 900}, streamLimits)
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Limits: carrier.Limits{Rate: 0.001, Burst: 3},
		Mounts: []carrier.Mount{{Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Quota: quota}},
	})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	statuses := map[int]int{}
	for range 1000 {
		r, err := client.Get(base + "/page")
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if statuses[r.StatusCode]++; r.StatusCode != http.StatusOK {
			assert.NotEmpty(t, r.Header.Get("Retry-After"))
		}
	}
	assert.Equal(t, map[int]int{http.StatusOK: 900, http.StatusTooManyRequests: 100}, statuses)
	for range 3 {
		assert.Equal(t, echoed, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).body)
	}
	assert.Equal(t, http.StatusTooManyRequests, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
}

func TestCallsTakeNothingOfAQuota(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{}, streamLimits)
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Limits: carrier.Limits{Rate: 0.001, Burst: 1},
		Mounts: []carrier.Mount{{Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Quota: quota}},
	})
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		assert.Equal(t, want, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
	}
	assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status)
}

func TestStreamsOfAQuotaHaveSlotsOfTheirOwn(t *testing.T) {
	quota := carrier.NewQuota(carrier.Limits{CallsPerAddress: 1}, streamLimits)
	var opened sync.WaitGroup
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		opened.Done()
		<-r.Context().Done()
	}
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Limits: carrier.Limits{CallsPerAddress: 1},
		Mounts: []carrier.Mount{
			{Pattern: "GET /events", Handler: http.HandlerFunc(stream), Quota: quota, Stream: true},
			{Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Quota: quota},
		},
	})
	ctx, end := context.WithCancel(t.Context())
	opened.Add(streamLimits.StreamsPerAddress)
	for range streamLimits.StreamsPerAddress {
		require.Equal(t, http.StatusOK, open(ctx, t, base+"/events").StatusCode)
	}
	opened.Wait()
	full := open(ctx, t, base+"/events")
	assert.Equal(t, http.StatusServiceUnavailable, full.StatusCode)
	assert.Equal(t, "1", full.Header.Get("Retry-After"))
	assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status, "a page beside the streams")
	assert.Equal(t, echoed, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).body, "a call beside the streams")
	end()
}

func TestWriteDeadlineOfAQuotaEndsItsStream(t *testing.T) {
	limits := streamLimits
	limits.Write = 100 * time.Millisecond
	ended := make(chan error, 1)
	flood := func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				ended <- err
				return
			}
		}
	}
	base, _ := start(t, serving(nil), carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{{
		Pattern: "GET /events", Handler: http.HandlerFunc(flood), Quota: carrier.NewQuota(carrier.Limits{}, limits), Stream: true,
	}}})
	open(t.Context(), t, base+"/events") // and read nothing
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	case <-time.After(30 * time.Second): // the deadline of all answers is 60 s
		assert.Fail(t, "the stream has no deadline of its own")
	}
}

func TestServerWithoutMuxHasItsMountsOnly(t *testing.T) {
	base, _ := start(t, nil, carrier.Config{MaxBody: maxBody, Mounts: []carrier.Mount{{
		Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Quota: carrier.NewQuota(carrier.Limits{}, streamLimits),
	}}})
	assert.Equal(t, http.StatusOK, send(t, http.MethodGet, base+"/page", nil, nil).status)
	assert.Equal(t, http.StatusNotFound, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
}

func TestShutdownEndsTheStreamsOfAQuota(t *testing.T) {
	opened, ended := make(chan struct{}), make(chan struct{})
	stream := func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(opened)
		<-r.Context().Done()
		close(ended)
	}
	server := carrier.NewServer(nil, carrier.Config{Mounts: []carrier.Mount{{
		Pattern: "GET /events", Handler: http.HandlerFunc(stream), Quota: carrier.NewQuota(carrier.Limits{}, streamLimits), Stream: true,
	}}})
	l := loopback(t)
	var serving sync.WaitGroup
	serving.Go(func() { assert.NoError(t, server.Serve(l)) })
	open(t.Context(), t, "http://"+l.Addr().String()+"/events")
	<-opened
	assert.NoError(t, server.Shutdown(t.Context()))
	<-ended
	serving.Wait()
}
