package page

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"rsc.io/qr"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

func TestLobbyNamesThoseWhoAreHereAndThoseWhoAreMissing(t *testing.T) {
	s := newScript(t, nil, "Team 10", "Ann")
	for id, name := range map[string]string{"P03": "team 9", "P04": "Far"} {
		s.add(&journal.AgentRegistered{AgentID: id, Role: protocol.RolePlayer, DisplayName: name, Generation: 1, AwaitsAnswer: true})
	}
	s.l.Listed = []string{"Ann", "Cem", "Team 11", "Team 9", "Team 10", "Team 2"}
	s.l.Configuration = &journal.Configuration{Roster: &journal.Roster{Players: 5}, RegistrationUntil: "2026-11-27T08:30:00Z"}
	crowd := overviewOf(s.l, live).Standings.Crowd
	assert.Equal(t, []present{
		{ref{"P02", "Ann"}, false}, {ref{"P04", "Far"}, true}, {ref{"P03", "team 9"}, true}, {ref{"P01", "Team 10"}, false},
	}, crowd.Players)
	assert.Equal(t, []string{"Cem", "Team 2", "Team 11"}, crowd.Missing)
	crowd.explain(map[string]string{"P03": "connection refused"})
	require.Len(t, crowd.Silent, 2)
	assert.Equal(t, "connection refused", crowd.Silent[0].Cause)
	assert.Regexp(t, `^Nothing listens there`, crowd.Silent[0].Cure)
	assert.Empty(t, crowd.Silent[1].Cure, "nothing is known yet")
	body := render(t, s.l)["/"]
	assert.Contains(t, body, `<time class="until" datetime="2026-11-27T08:30:00Z">`)
	assert.Contains(t, body, `datetime="2026-11-27T08:30:00Z">2026-11-27 08:30 UTC</time>`)
	assert.Contains(t, body, "of 5 players")
	assert.Regexp(t, `<form id="timeline"[^>]* hidden`, body)
	assert.NotContains(t, body, `id="join"`, "without a manager nobody can join")

	s.l.Agents["P03"].Answered, s.l.Agents["P04"].Answered = true, true
	s.start()
	assert.Nil(t, overviewOf(s.l, live).Standings.Crowd)
	assert.Contains(t, render(t, s.l)["/"], `Of the roster, not here at the start: <bdi dir="auto">Cem</bdi>, <bdi dir="auto">Team 2</bdi>, <bdi dir="auto">Team 11</bdi>.`)
}

func TestLobbyTellsHowManyItDoesNotName(t *testing.T) {
	s := newScript(t, nil, "Ann", "Bob")
	for i := range mostShown + 17 {
		s.l.Listed = append(s.l.Listed, "Team "+strconv.Itoa(i))
	}
	assert.Contains(t, render(t, s.l)["/"], `<li class="rest">and 17 more</li>`)
	s.start()
	assert.Contains(t, render(t, s.l)["/"], `and 17 more.`)
}

// The readers of a lobby see the addresses that work for them: those of the proxy that they use, else those of the
// manager, never localhost.
func TestLobbyShowsAddressesThatWork(t *testing.T) {
	direct := Joining{Manager: "http://192.0.2.7:8000/mcp", Page: "http://192.0.2.7:8000/"}
	local := Joining{Manager: "http://localhost:8000/mcp", Page: "http://localhost:8000/", Local: true}
	below := Joining{Manager: "http://192.0.2.7:8000/mcp", Page: "http://192.0.2.7:8000/cup/", Base: "/cup"}
	for name, tt := range map[string]struct {
		joining      Joining
		host, header string
		tls          bool
		page, typed  string
		code         bool
	}{
		"direct":             {direct, "192.0.2.7:8000", "", false, "http://192.0.2.7:8000/", "http://192.0.2.7:8000/", true},
		"on the own machine": {direct, "localhost:8000", "Sec-Fetch-Mode", false, "http://192.0.2.7:8000/", "http://192.0.2.7:8000/", true},
		"local":              {local, "localhost:8000", "Sec-Fetch-Mode", false, "http://localhost:8000/", "http://localhost:8000/", false},
		"local behind a proxy": {local, "cup.example.org", "Sec-Fetch-Mode", false, "https://cup.example.org/", "https://cup.example.org/",
			true},
		"proxy without TLS": {direct, "CUP.example.org:81", "", false, "http://CUP.example.org:81/", "http://CUP.example.org:81/", true},
		"proxy that ends TLS": {direct, "cup.example.org", "X-Forwarded-Proto", false, "https://cup.example.org/",
			"https://cup.example.org/", true},
		"proxy to TLS": {direct, "cup.example.org", "", true, "https://cup.example.org/", "https://cup.example.org/", true},
		"base path":    {below, "192.0.2.7:8000", "", false, "http://192.0.2.7:8000/cup/", "http://192.0.2.7:8000/mcp", true},
		"proxy of the pages alone": {below, "cup.example.org", "Sec-Fetch-Mode", false, "https://cup.example.org/cup/",
			"http://192.0.2.7:8000/mcp", true},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Host = tt.host
		if tt.header != "" {
			r.Header.Set(tt.header, "https")
		}
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		tt.joining.Proxies = []string{"cup.example.org"}
		v := joinOf(tt.joining.at(r))
		assert.Equal(t, []any{tt.page, tt.typed, tt.code}, []any{v.Page, v.Typed(), v.Code != nil}, name)
	}
}

func TestCodeHasTheModulesOfItsURL(t *testing.T) {
	const url = "http://192.0.2.7:8000/"
	c := codeOf(url)
	want, err := qr.Encode(url, qr.L)
	require.NoError(t, err)
	require.Equal(t, want.Size+2*codeMargin, c.Size)
	black := map[[2]int]bool{}
	runs := regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1H(\d+)`).FindAllStringSubmatch(string(c.Path), -1)
	for _, run := range runs {
		x, _ := strconv.Atoi(run[1])
		y, _ := strconv.Atoi(run[2])
		length, _ := strconv.Atoi(run[3])
		assert.Equal(t, run[1], run[4])
		for i := range length {
			black[[2]int{x + i, y}] = true
		}
	}
	for y := range c.Size {
		for x := range c.Size {
			require.Equal(t, want.Black(x-codeMargin, y-codeMargin), black[[2]int{x, y}], "%d %d", x, y)
		}
	}
	assert.Nil(t, codeOf("http://"+string(make([]byte, 4000))))
}
