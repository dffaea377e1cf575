package cmd_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
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

// hold opens connections from loopback addresses, sends a part of a request on each, and
// opens each again when the agent closes it.
func hold(connections, addresses int, sent string, every time.Duration) attack {
	return func(ctx context.Context, target string, ready func()) {
		var holding, opened sync.WaitGroup
		opened.Add(connections)
		for i := range connections {
			holding.Go(func() {
				first := sync.OnceFunc(opened.Done)
				defer first()
				for ctx.Err() == nil {
					holdOne(ctx, target, i%addresses, sent, every, first)
					first() // also if it failed
					pause(ctx, 10*time.Millisecond)
				}
			})
		}
		opened.Wait()
		ready()
		holding.Wait()
	}
}

// holdOne holds one connection until the agent closes it or ctx ends.
func holdOne(ctx context.Context, target string, address int, sent string, every time.Duration, opened func()) {
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
	_, err = io.WriteString(c, sent)
	opened()
	if every == 0 {
		_, _ = io.Copy(io.Discard, c) // until the agent closes it
		return
	}
	for err == nil && ctx.Err() == nil {
		pause(ctx, every)
		_, err = io.WriteString(c, "X-Slow: 1\r\n")
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
	const atOnce = 50
	return func(ctx context.Context, target string, ready func()) {
		var flooding sync.WaitGroup
		for range connections {
			flooding.Go(func() {
				for ctx.Err() == nil {
					floodOne(ctx, target, strings.Repeat(request, atOnce))
				}
			})
		}
		pause(ctx, 3*time.Second) // the burst that an address may have must be used up
		ready()
		flooding.Wait()
	}
}

// floodOne floods on one connection until the agent closes it or ctx ends.
func floodOne(ctx context.Context, target, requests string) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp4", target)
	if err != nil {
		pause(ctx, 10*time.Millisecond)
		return
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { _, _ = io.Copy(io.Discard, bufio.NewReader(c)) })
	for err == nil {
		_, err = io.WriteString(c, requests)
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
	tests := []struct {
		name   string
		role   string // of the attacked agent
		attack attack
		idle   bool // it needs no processor: it can run beside other attacks
		short  bool // also without EVENODD_TEST_ALL
	}{
		{"eight connections with many requests, at a player", "player", floodWith(8, posted(ping)), false, false},
		{"eight connections with forged tokens, at a player", "player", floodWith(8, posted(forged)), false, true},
		{"eight connections that hang, at a player", "player", hold(8, 1, begun+withOut, 0), true, true},
		{"1,100 idle connections, at a player", "player", hold(1100, 1, "", 0), true, false},
		{"1,100 slow headers, at a player", "player", hold(1100, 1, begun, time.Second), true, false},
		{"600 slow bodies, at a player", "player", hold(600, 1, begun+withOut, 0), true, false},
		{"1,100 idle connections, at a referee", "referee", hold(1100, 1, "", 0), true, false},
		{"eight connections with many requests, at a referee", "referee", floodWith(8, posted(ping)), false, false},
		{"eight connections with many requests, at the manager", "manager", floodWith(8, posted(ping)), false, false},
		{"4,900 connections from 20 addresses, at the manager", "manager", hold(4900, 20, "", 0), true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !tt.short {
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
	data := filepath.Join(t.TempDir(), "SHARED")
	output(t, "init", data)
	leagueFile := filepath.Join(data, "config", "leagues", "league_2025_even_odd.json")
	rules, err := os.ReadFile(leagueFile)
	require.NoError(t, err)
	for member, seconds := range map[string]string{"move_timeout_sec": "5", "game_join_ack_timeout_sec": "3", "generic_response_timeout_sec": "3", "delay_sec": "1"} {
		rules = regexp.MustCompile(`"`+member+`": *[\d.]+`).ReplaceAll(rules, []byte(`"`+member+`": `+seconds))
	}
	require.NoError(t, os.WriteFile(leagueFile, rules, 0o600))

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
	status, answer := post(t, m.url, `{"jsonrpc":"2.0","method":"start_league","params":{"auth_token":"`+m.admin+`"},"id":1}`)
	require.Equal(t, http.StatusOK, status, "%s", answer)
	require.Contains(t, string(answer), `"result"`)

	require.Zero(t, m.awaitExit(t))
	table := m.stdout.String()
	rows := regexp.MustCompile(`│ +(\d) │ (P0\d) +│ .* │ +(\d) │ (\d) │ (\d) │ (\d) │ +(\d) │ +(\d+) │`).FindAllStringSubmatch(table, -1)
	require.Len(t, rows, 4, table)
	for _, row := range rows {
		assert.Equal(t, []string{"3", "0"}, []string{row[3], row[7]}, "three matches, none lost technically: %s", row[0])
	}
	for _, p := range agents {
		assert.Zero(t, p.awaitExit(t), "every agent gets the end of the league")
	}
}
