package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
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

// hold opens connections from loopback addresses, sends the beginning of a request on each, and opens each again when
// the agent closes it.
func hold(connections, addresses int, sent string) attack {
	return func(ctx context.Context, target string, ready func()) {
		var holding sync.WaitGroup
		for i := range connections {
			holding.Go(func() {
				for ctx.Err() == nil {
					send(ctx, target, i%addresses, sent, 1, io.Discard)
					pause(ctx, 10*time.Millisecond)
				}
			})
		}
		pause(ctx, time.Second) // all are open
		ready()
		holding.Wait()
	}
}

// send sends a text on a connection so many times, and reads the answers until the agent closes the connection or ctx
// ends.
func send(ctx context.Context, target string, address int, text string, times int, answers io.Writer) {
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
	reading.Go(func() { _, _ = io.Copy(answers, c) })
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

// refused is called when an answer tells that the burst which an address may have is used up.
type refused func()

func (r refused) Write(answers []byte) (int, error) {
	if bytes.Contains(answers, []byte("HTTP/1.1 429 ")) {
		r()
	}
	return len(answers), nil
}

// floodWith posts requests on connections as fast as the agent answers.
func floodWith(connections int, request string) attack {
	return func(ctx context.Context, target string, ready func()) {
		answers := refused(sync.OnceFunc(ready))
		var flooding sync.WaitGroup
		for range connections {
			flooding.Go(func() {
				for ctx.Err() == nil {
					send(ctx, target, 0, strings.Repeat(request, 50), math.MaxInt, answers)
				}
			})
		}
		flooding.Wait()
	}
}

// A league in which an agent is flooded from the address that all agents share. It must lose no match. Each flood
// needs all processors.
func TestFloodsWithoutACredentialCostNoMatch(t *testing.T) {
	const (
		ping   = `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`
		forged = `{"jsonrpc":"2.0","method":"handle_game_invitation","params":{"protocol":"league.v2",` +
			`"message_type":"GAME_INVITATION","sender":"referee:REF01","match_id":"R1M1","auth_token":"forged"},"id":1}`
	)
	for _, tt := range []struct {
		name, role string
		attack     attack
	}{
		{"eight connections with forged tokens, at a player", "player", floodWith(8, posted(forged))},
		{"eight connections with many requests, at the manager", "manager", floodWith(8, posted(ping))},
	} {
		t.Run(tt.name, func(t *testing.T) { playUnderAttack(t, tt.role, tt.attack) })
	}
}

// The same of connections that are held, also from many addresses.
func TestHeldConnectionsCostNoMatch(t *testing.T) {
	t.Parallel()
	const begun = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" +
		"Content-Type: application/json\r\nContent-Length: 5000\r\n\r\n{"
	for _, tt := range []struct {
		name, role string
		attack     attack
	}{
		{"eight connections that hang, at a player", "player", hold(8, 1, begun)},
		{"1,100 idle connections, at a referee", "referee", hold(1100, 1, "")},
		{"4,900 connections from 20 addresses, at the manager", "manager", hold(4900, 20, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			playUnderAttack(t, tt.role, tt.attack)
		})
	}
}

func playUnderAttack(t *testing.T, role string, attack attack) {
	t.Helper()
	if role != "player" {
		longTest(t)
	}
	data := folderOf(t, map[string]string{"config/leagues/" + crashLeague + ".json": `{"retry_policy": {"delay_sec": 1},
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
	start := `{"jsonrpc":"2.0","method":"start_league","params":{"auth_token":"` + m.admin(t) + `"},"id":1}`
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
	assert.Contains(t, m.stderr.String(), `"event_type":"LEAGUE_OVER"`)
	assert.NotRegexp(t, `"technical_losses":[1-9]`, m.stderr.String(), "no match is lost technically")
	awaitSuccess(t, agents...)
}

// crawl returns the texts of all pages of a server, by path, that links lead to.
func crawl(t *testing.T, base string, paths ...string) map[string]string {
	t.Helper()
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	linked := regexp.MustCompile(`(?:href|action|src|hx-get)="(/[^"]*)"`)
	texts := map[string]string{}
	for len(paths) > 0 {
		path, _, _ := strings.Cut(paths[0], "#")
		paths = paths[1:]
		if _, seen := texts[path]; seen {
			continue
		}
		r, err := client.Get(base + path)
		require.NoError(t, err)
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		require.NoError(t, err)
		require.Less(t, r.StatusCode, http.StatusInternalServerError, path)
		texts[path] = string(text)
		for _, found := range linked.FindAllStringSubmatch(string(text), -1) {
			if !strings.HasPrefix(found[1], "/assets/") {
				paths = append(paths, html.UnescapeString(found[1]))
			}
		}
	}
	return texts
}

// secretsIn are the tokens and keys in the files of the private folder.
func secretsIn(t *testing.T, folder string) (secrets []string) {
	t.Helper()
	long := regexp.MustCompile(`[A-Za-z0-9_-]{24,}`)
	for _, text := range textsIn(t, filepath.Join(folder, "private")) {
		secrets = append(secrets, long.FindAllString(text, -1)...)
	}
	return secrets
}

// No page and no event of a league, while it is played and afterwards, has a token, a key, a
// registration code or an endpoint of it.
func TestNoPageHasASecretOfItsLeague(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	m := startManager(t, "--roster", secretRoster(t), "--data", data, "--legs", "3", "--pace", "200ms")
	base := strings.TrimSuffix(m.url, "/mcp")
	secrets := []string{m.admin(t), "sekret-"}
	for _, a := range [][2]string{{"referee", "Whistle:whistle"}, {"player", "Alpha:alpha"}, {"player", "Beta:beta1"}} {
		name, code, _ := strings.Cut(a[1], ":")
		p := m.join(t, a[0], "--name", name, "--registration-code", "sekret-"+code, "--data", data)
		endpoint := p.await(t, `"endpoint":"(http://[^"]+)"`)[1]
		secrets = append(secrets, strings.TrimPrefix(endpoint, "http://"))
	}
	m.await(t, "ROUND_ANNOUNCEMENT_SENT")
	stream, err := http.Get(base + "/events")
	require.NoError(t, err)
	events := make(chan string, 1)
	go func() {
		defer func() { _ = stream.Body.Close() }()
		text, _ := io.ReadAll(stream.Body) // the stream ends with the league
		events <- string(text)
	}()
	known := secretsIn(t, data)
	require.GreaterOrEqual(t, len(known), 4, "the secret of the manager, and the tokens of three agents")
	secrets = append(secrets, known...)
	starts := []string{"/", "/cross", "/agents", "/statistics", "/matches/R1M1", "/matches/R3M1", "/matches/R3M1?attempt=1", "/players/P01", "/players/REF01"}
	check := func(where, text string) {
		for _, secret := range secrets {
			assert.NotContains(t, text, secret, where)
		}
	}
	pages, over := 0, false
	for end := time.Now().Add(patience); !over && time.Now().Before(end); {
		over = strings.Contains(m.stderr.String(), "The league is over; ")
		for path, text := range crawl(t, base, starts...) {
			pages++
			check(path, text)
		}
	}
	assert.True(t, over)
	assert.Greater(t, pages, 20)
	text := <-events
	assert.Contains(t, text, "event: over\n")
	check("/events", text)
}
