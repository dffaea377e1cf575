package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
)

// A fakeKit reports given findings.
type fakeKit struct {
	report *check.Report
	asked  check.Options
}

func (h *fakeKit) catalogue(role string) []check.Requirement {
	var all []check.Requirement
	for i := range h.report.Findings {
		if q := h.report.Findings[i].Requirement; strings.HasPrefix(q.ID, strings.ToUpper(role[:1])) {
			all = append(all, q)
		}
	}
	return all
}

func (h *fakeKit) examine(_ context.Context, o check.Options) (*check.Report, error) {
	h.asked = o
	defer o.Listener.Close()
	r := *h.report
	r.URL = o.URL
	return &r, nil
}

// runCheck runs the command.
func (h *fakeKit) runCheck(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := checkCommand(streams{out: &out, err: &errs}, &checkOptions{catalogue: h.catalogue, examine: h.examine})
	c.SetFlagErrorFunc(flagError)
	c.SetArgs(append([]string{}, args...)) // of nil cobra makes those of the test
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

// newFakeKit returns a kit with one finding of each verdict. The answers of its agent
// contain control characters.
func newFakeKit() *fakeKit {
	finding := func(id string, level check.Level, v check.Verdict) check.Finding {
		return check.Finding{
			Requirement: check.Requirement{ID: id, Level: level, Text: "Does " + id + ".", Page: "docs/protocol.md#x", Spec: "003 §4.4", Hint: "Do it."},
			Verdict:     v,
		}
	}
	failed := finding("P-INV-02", check.Must, check.Fail)
	failed.Detail = "accept is \"\x1b[31myes\", not true\nor false"
	failed.Exchanges = []check.Exchange{{
		To: "http://localhost:8101/mcp", Status: 200, TookMS: 12,
		Request:  `{"params":{"auth_token":"***","n":1}}`,
		Response: "{\n  \"token\": \"***\",\n  \"auth_token\": \"none\" \u009b}",
	}}
	warned := finding("P-INV-03", check.Should, check.Warn)
	warned.Detail = "the timestamp has no zone"
	warned.Exchanges = []check.Exchange{{To: "http://localhost:8101/mcp", Request: strings.Repeat("long ", 300), Error: "no answer within 5s", TookMS: 5000}}
	skipped := finding("P-OVER-01", check.Must, check.Skipped)
	skipped.Detail = "the agent never came so far"
	failed.Cause, warned.Cause = failed.ID, warned.ID
	return &fakeKit{report: &check.Report{
		SchemaVersion: 1, Role: check.Player, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), TookMS: 1250,
		Findings: []check.Finding{finding("P-INV-01", check.Must, check.Pass), failed, warned, skipped},
		Causes: []check.Cause{
			{ID: failed.ID, Level: check.Must, Text: failed.Detail, Requirements: []string{failed.ID}},
			{ID: warned.ID, Level: check.Should, Text: warned.Detail, Requirements: []string{warned.ID}},
		},
	}}
}

// listeningURL returns the URL of a server that accepts connections.
func listeningURL(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(nil)
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// anywhere makes the kit listen at a free port.
var anywhere = []string{"--port", "0"}

func TestCheckReportAsText(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url)...)
	assert.EqualError(t, err, "1 requirement failed")
	assert.Equal(t, `player at `+url+`

pass    P-INV-01   MUST    Does P-INV-01.

skipped P-OVER-01  MUST    Does P-OVER-01.
        the agent never came so far

warning P-INV-03   SHOULD  Does P-INV-03.
        the timestamp has no zone
          POST http://localhost:8101/mcp: no answer after 5000 ms
          > `+strings.Repeat("long ", 80)+`…
          ! no answer within 5s
        Do it.
        see docs/protocol.md#x, 003 §4.4

FAIL    P-INV-02   MUST    Does P-INV-02.
        accept is "\x1b[31myes", not true\nor false
          POST http://localhost:8101/mcp: HTTP 200 after 12 ms
          > {"params":{"auth_token":"***","n":1}}
          < { "token": "***", "auth_token": "none" \u009b}
        Do it.
        see docs/protocol.md#x, 003 §4.4

Correct these, the most important first:
FAIL    P-INV-02   accept is "\x1b[31myes", not true or false
warning P-INV-03   the timestamp has no zone

1 passed, 1 failed for 1 cause, 1 warning for 1 cause, 1 skipped, took 1.3s
`, stdout)

	h.report.Findings[2].Cause = "P-INV-02" // one cause of two requirements
	h.report.Causes = []check.Cause{{ID: "P-INV-02", Level: check.Must, Text: "Its replies are not wrapped.", Requirements: []string{"P-INV-02", "P-INV-03"}}}
	stdout, _, err = h.runCheck(t, append(anywhere, "player", url)...)
	require.Error(t, err)
	assert.Contains(t, stdout, `        see docs/protocol.md#x, 003 §4.4
        Its replies are not wrapped. Same cause:
          P-INV-03   SHOULD  Does P-INV-03.

Correct these, the most important first:
FAIL    P-INV-02   Its replies are not wrapped. (and 1 more)
`)
}

func TestCheckReportAsJSON(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url, "--format", "json")...)
	assert.Equal(t, exitFound, exitCode(err))
	var told check.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &told))
	assert.Equal(t, 1, told.SchemaVersion)
	require.Len(t, told.Findings, 4)
	assert.Equal(t, "P-INV-02", told.Findings[1].ID)
	assert.Equal(t, check.Fail, told.Findings[1].Verdict)
	assert.NotContains(t, stdout, "\x1b")
	assert.NotContains(t, stdout, "\u009b")
}

// The error tells the worst verdict. Nobody says that the agent conforms if it hangs, or if its league does not begin.
func TestErrorOfACheckIsItsVerdict(t *testing.T) {
	url := listeningURL(t)
	for name, tt := range map[string]struct {
		findings []int // of the fake kit
		ended    string
		want     string
	}{
		"a failure":         {[]int{0, 1, 2, 3}, "", "1 requirement failed"},
		"a warning":         {[]int{0, 2, 3}, "", ""},
		"nothing but skips": {[]int{3}, "", "no requirement passed"},
		"an early end": {[]int{0}, "the league did not begin: answered with the error 11 \x1b[31m",
			"no requirement failed, but the test is incomplete: the league did not begin: answered with the error 11 \\x1b[31m"},
	} {
		h := newFakeKit()
		all := h.report.Findings
		h.report.Findings, h.report.Causes, h.report.Ended = nil, nil, tt.ended
		for _, i := range tt.findings {
			h.report.Findings = append(h.report.Findings, all[i])
		}
		_, _, err := h.runCheck(t, append(anywhere, "player", url)...)
		if tt.want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, tt.want, name)
			assert.Equal(t, exitFound, exitCode(err))
		}
	}
}

func TestFlagsOfACheckReachTheKit(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	t.Setenv("EVENODD_ADMIN_TOKEN", "sesame\n")
	for _, game := range games().Types() {
		_, _, err := h.runCheck(t, append(anywhere, "player", url, "--game", game, "--only", "p-inv,P-OVER-01", "--level", "MUST", "--wait", "3s", "--timeout", "20s")...)
		require.Error(t, err)
		assert.Equal(t, game, h.asked.Game.Info().Type)
		assert.Equal(t, url, h.asked.URL)
		assert.Equal(t, check.Selection{Level: check.Must, Only: []string{"P-INV", "P-OVER-01"}}, h.asked.Selection)
		assert.Equal(t, []time.Duration{3 * time.Second, 20 * time.Second}, []time.Duration{h.asked.Wait, h.asked.Budget})
	}
	for i := range h.report.Findings {
		h.report.Findings[i].ID = "M" + h.report.Findings[i].ID[1:]
	}
	h.report.Causes = nil
	stdout, _, err := h.runCheck(t, "manager", url, "--players", "2", "--referees", "3")
	require.Error(t, err)
	assert.Equal(t, "sesame", h.asked.Admin)
	assert.Equal(t, []int{2, 3}, []int{h.asked.Players, h.asked.Referees})
	assert.NotContains(t, stdout, "sesame")
	assert.NotEqual(t, "localhost:8000", h.asked.Listener.Addr().String())
}

// If another program has the default address of managers, the command takes a free port and names it.
func TestCheckWithATakenPort(t *testing.T) {
	url := listeningURL(t)
	if l, err := net.Listen("tcp", "localhost:8000"); err == nil { // else another program has it
		defer l.Close()
	}
	_, stderr, err := newFakeKit().runCheck(t, "player", url)
	require.EqualError(t, err, "1 requirement failed")
	assert.Regexp(t, `^localhost:8000 is taken by another program\. The manager for this test is at http://localhost:\d+/mcp: start the agent with this URL if it registers itself\.\n$`, stderr)
}

func TestCheckReportsWrongArguments(t *testing.T) {
	const call = "check takes a role and a URL, for example: evenodd check player http://localhost:8101/mcp"
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"too many arguments", []string{"player", "localhost:1", "x"}, call},
		{"an invalid port", []string{"player", "localhost:agent"}, `"localhost:agent" is not the URL of an agent: it must be one such as http://localhost:8101/mcp`},
		{"a port too high", []string{"player", "localhost:81010"}, `"localhost:81010" is not the URL of an agent: it must be one such as http://localhost:8101/mcp`},
		{"a password", []string{"player", "http://me:mine@localhost:1"}, `http://me:xxxxx@localhost:1: the URL of an agent must not contain a user name or a password`},
		{"an id beside others", []string{"player", "localhost:1", "--only", "P-INV-07"}, `--only "P-INV-07": no requirement of player begins with it; there are P-INV-01, P-INV-02, P-INV-03`},
		{"an id of nothing", []string{"--list", "--only", "X"}, `--only "X": no requirement of any role begins with it; there are P-INV, P-OVER`},
		{"an empty id", []string{"player", "localhost:1", "--only", "P-INV,"}, `--only "": no requirement of player begins with it; there are P-INV, P-OVER`},
		{"no requirement is left", []string{"player", "localhost:1", "--only", "P-INV-03", "--level", "must"}, "--only P-INV-03: none of these is a MUST, which --level must asks for"},
		{"less than no time", []string{"player", "localhost:1", "--wait", "-1s"}, "--wait and --timeout must be positive times such as 30s"},
		{"a league of one", []string{"manager", "localhost:1", "--players", "1"}, "a league needs at least 2 players and 1 referee, not 1 and 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := newFakeKit().runCheck(t, tt.args...)
			assert.Equal(t, exitUsage, exitCode(err))
			assert.EqualError(t, err, tt.want)
			assert.Empty(t, stdout)
		})
	}
}
