package cmd_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An attack floods an agent until ctx ends, without a valid credential. It calls ready when
// the agent has to bear it.
type attack func(ctx context.Context, target string, ready func())

// posted is a request without a valid credential. The agent has to read and to check it.
func posted(body string) string {
	return fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// hold opens connections from loopback addresses, sends the beginning of a request on each, and opens each again when
// the agent closes it.
func hold(connections, addresses int, sent string) attack {
	return func(ctx context.Context, target string, ready func()) {
		var holding sync.WaitGroup
		for i := range connections {
			holding.Go(func() {
				for ctx.Err() == nil {
					send(ctx, target, i%addresses, sent, 1)
					pause(ctx, 10*time.Millisecond)
				}
			})
		}
		pause(ctx, time.Second) // all are open
		ready()
		holding.Wait()
	}
}

// send sends a text on a connection so many times, and reads until the agent closes the connection or ctx ends.
func send(ctx context.Context, target string, address int, text string, times int) {
	dialer := net.Dialer{}
	if address > 0 { // 0 is the address of the league itself
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 1, byte(address)}), 0))
	}
	c, err := dialer.DialContext(ctx, "tcp4", target)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { _, _ = io.Copy(io.Discard, c) })
	for n := 0; n < times && err == nil; n++ {
		_, err = io.WriteString(c, text)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// floodWith posts requests on connections as fast as the agent answers.
func floodWith(connections int, request string) attack {
	return func(ctx context.Context, target string, ready func()) {
		var flooding sync.WaitGroup
		for range connections {
			flooding.Go(func() {
				for ctx.Err() == nil {
					send(ctx, target, 0, strings.Repeat(request, 50), math.MaxInt)
				}
			})
		}
		pause(ctx, 3*time.Second) // the burst that an address may have must be used up
		ready()
		flooding.Wait()
	}
}

// A league in which an agent is attacked from the address that all agents share, or
// from many addresses. It must lose no match.
func TestFloodsWithoutACredentialCostNoMatch(t *testing.T) {
	const (
		ping    = `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`
		forged  = `{"jsonrpc":"2.0","method":"handle_game_invitation","params":{"protocol":"league.v2","message_type":"GAME_INVITATION","sender":"referee:REF01","match_id":"R1M1","auth_token":"forged"},"id":1}`
		begun   = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
		withOut = "Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
	)
	for _, tt := range []struct {
		name, role string
		attack     attack
		idle       bool // it needs no processor: it can run beside other attacks
	}{
		{"eight connections with forged tokens, at a player", "player", floodWith(8, posted(forged)), false},
		{"eight connections that hang, at a player", "player", hold(8, 1, begun+withOut), true},
		{"1,100 idle connections, at a referee", "referee", hold(1100, 1, ""), true},
		{"eight connections with many requests, at the manager", "manager", floodWith(8, posted(ping)), false},
		{"4,900 connections from 20 addresses, at the manager", "manager", hold(4900, 20, ""), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.role != "player" {
				longTest(t)
			}
			if tt.idle {
				t.Parallel()
			}
			playUnderAttack(t, tt.role, tt.attack)
		})
	}
}

func playUnderAttack(t *testing.T, role string, attack attack) {
	t.Helper()
	data := dataFolder(t, map[string]string{"leagues/" + crashLeague + ".json": `{"retry_policy": {"delay_sec": 1},
		"timeouts": {"move_timeout_sec": 5, "game_join_ack_timeout_sec": 3, "generic_response_timeout_sec": 3}}`})
	m := startManager(t, "--data", data, "--players", "0", "--pace", "300ms", "--exit-when-done")
	agents := []*process{m.join(t, "referee", "--data", data)}
	for range 4 {
		agents = append(agents, m.join(t, "player", "--data", data))
	}
	m.awaitPings(t, len(agents))
	target := m.process
	switch role {
	case "referee":
		target = agents[0]
	case "player":
		target = agents[1]
	}
	port := target.await(t, `http://[^ "]*:(\d+)/mcp`)[1]
	ctx, stop := context.WithCancel(t.Context())
	var attacking sync.WaitGroup
	defer attacking.Wait()
	defer stop()
	ready := make(chan struct{})
	attacking.Go(func() { attack(ctx, "127.0.0.1:"+port, func() { close(ready) }) })
	<-ready
	start := `{"jsonrpc":"2.0","method":"start_league","params":{"auth_token":"` + m.admin + `"},"id":1}`
	require.Eventually(t, func() bool { // the attack may cost the organiser a connection, as any client
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, strings.NewReader(start))
		if err != nil {
			return false
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		return err == nil && strings.Contains(string(answer), `"result"`)
	}, 10*time.Second, 100*time.Millisecond)

	require.Zero(t, m.awaitExit(t))
	assert.Contains(t, m.stderr.String(), `"event_type":"THE_LEAGUE_IS_OVER"`)
	assert.NotRegexp(t, `"technical_losses":[1-9]`, m.stderr.String(), "no match is lost technically")
	for _, p := range agents {
		assert.Zero(t, p.awaitExit(t), "every agent gets the end of the league")
	}
}
