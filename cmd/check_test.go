package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	conformance "evenodd/league/inspect/check"
)

// A fakeKit reports given findings.
type fakeKit struct {
	report *conformance.Report
	asked  conformance.Options
	during func(context.Context, conformance.Options) error
}

func (h *fakeKit) catalogue(role string) []conformance.Requirement {
	var all []conformance.Requirement
	for i := range h.report.Findings {
		if q := h.report.Findings[i].Requirement; strings.HasPrefix(q.ID, strings.ToUpper(role[:1])) {
			all = append(all, q)
		}
	}
	return all
}

func (h *fakeKit) examine(ctx context.Context, o conformance.Options) (*conformance.Report, error) {
	h.asked = o
	defer o.Listener.Close()
	if h.during != nil {
		if err := h.during(ctx, o); err != nil {
			return nil, err
		}
	}
	r := *h.report
	r.URL = o.URL
	return &r, nil
}

// runCheck runs the command.
func (h *fakeKit) runCheck(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := checkCommand(streams{&out, &errs}, &checkOptions{catalogue: h.catalogue, examine: h.examine})
	c.SetArgs(append([]string{}, args...)) // of nil cobra makes those of the test
	c.SetOut(&out)
	c.SetErr(&errs)
	c.SilenceErrors, c.SilenceUsage = true, true
	err = c.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

const secret = "tok-p01-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"

// newFakeKit returns a kit with one finding of each verdict. The answers of its agent
// contain tokens and control characters.
func newFakeKit() *fakeKit {
	finding := func(id string, level conformance.Level, v conformance.Verdict) conformance.Finding {
		return conformance.Finding{
			Requirement: conformance.Requirement{ID: id, Level: level, Text: "Does " + id + ".", Page: "docs/protocol.md#x", Spec: "003 §4.4", Hint: "Do it."},
			Verdict:     v,
		}
	}
	failed := finding("P-INV-02", conformance.Must, conformance.Fail)
	failed.Detail = "accept is \"\x1b[31myes\", not true\nor false"
	failed.Exchanges = []conformance.Exchange{{
		To: "http://localhost:8101/mcp", Status: 200, TookMS: 12,
		Request:  `{"params":{"auth_token":"` + strings.Repeat("x", 43) + `","n":1}}`,
		Response: "{\n  \"token\": \"" + secret + "\",\n  \"text\": \"{\\\"auth_token\\\": \\\"hush\\\"}\", \"auth_token\": \"none\" \u009b}",
	}}
	warned := finding("P-INV-03", conformance.Should, conformance.Warn)
	warned.Detail = "the timestamp has no zone"
	warned.Exchanges = []conformance.Exchange{{To: "http://localhost:8101/mcp", Request: strings.Repeat("long ", 300), Error: "no answer within 5s to " + secret, TookMS: 5000}}
	skipped := finding("P-OVER-01", conformance.Must, conformance.Skipped)
	skipped.Detail = "the agent never came so far"
	failed.Cause, warned.Cause = failed.ID, warned.ID
	return &fakeKit{report: &conformance.Report{
		SchemaVersion: 1, Role: conformance.Player, Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), TookMS: 1250,
		Findings: []conformance.Finding{finding("P-INV-01", conformance.Must, conformance.Pass), failed, warned, skipped},
		Causes: []conformance.Cause{
			{ID: failed.ID, Level: conformance.Must, Text: failed.Detail, Requirements: []string{failed.ID}},
			{ID: warned.ID, Level: conformance.Should, Text: warned.Detail, Requirements: []string{warned.ID}},
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
var anywhere = []string{"--listen", "localhost:0"}

func TestCheckReportAsText(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url)...)
	assert.EqualError(t, err, "1 requirement failed")
	long := strings.Repeat("long ", 80)
	assert.Equal(t, `player at `+url+`

pass    P-INV-01   MUST    Does P-INV-01.

skipped P-OVER-01  MUST    Does P-OVER-01.
        the agent never came so far

warning P-INV-03   SHOULD  Does P-INV-03.
        the timestamp has no zone
          POST http://localhost:8101/mcp: no answer after 5000 ms
          > `+long+`…
          ! no answer within 5s to ***
        Do it.
        see docs/protocol.md#x, 003 §4.4

FAIL    P-INV-02   MUST    Does P-INV-02.
        accept is "\x1b[31myes", not true\nor false
          POST http://localhost:8101/mcp: HTTP 200 after 12 ms
          > {"params":{"auth_token":"***","n":1}}
          < { "token": "***", "text": "{\"auth_token\": \"***\"}", "auth_token": "none" \u009b}
        Do it.
        see docs/protocol.md#x, 003 §4.4

Correct these, the most important first:
FAIL    P-INV-02   accept is "\x1b[31myes", not true or false
warning P-INV-03   the timestamp has no zone

1 passed, 1 failed for 1 cause, 1 warning for 1 cause, 1 skipped, took 1.3s
`, stdout)
}

func TestCheckReportAsJSON(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url, "--format", "json")...)
	assert.Equal(t, exitFound, exitCode(err))
	var told conformance.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &told))
	assert.Equal(t, 1, told.SchemaVersion)
	require.Len(t, told.Findings, 4)
	assert.Equal(t, "P-INV-02", told.Findings[1].ID)
	assert.Equal(t, conformance.Fail, told.Findings[1].Verdict)
	assert.NotContains(t, stdout, "tok-")
	assert.NotContains(t, stdout, "xxxx")
	assert.NotContains(t, stdout, "hush")
	assert.NotContains(t, stdout, "\x1b")
	assert.NotContains(t, stdout, "\u009b")
}

func TestCheckReportAsJUnit(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url, "--format", "junit")...)
	require.Error(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	const exchange = `  POST http://localhost:8101/mcp: `
	assert.Equal(t, xml.Header+`<testsuites>
  <testsuite name="player" package="evenodd.check" id="0" hostname="`+host+`" timestamp="2026-01-02T03:04:05" tests="4" failures="1" errors="0" skipped="1" time="1.250">
    <properties>
      <property name="url" value="`+url+`"></property>
    </properties>
    <testcase classname="player.P-INV" name="P-INV-01 Does P-INV-01." time="0.000"></testcase>
    <testcase classname="player.P-INV" name="P-INV-02 Does P-INV-02." time="0.012">
      <failure message="accept is &#34;\x1b[31myes&#34;, not true\nor false" type="MUST">  accept is &#34;\x1b[31myes&#34;, not true\nor false&#xA;`+
		exchange+`HTTP 200 after 12 ms&#xA;  &gt; {&#34;params&#34;:{&#34;auth_token&#34;:&#34;***&#34;,&#34;n&#34;:1}}&#xA;`+
		`  &lt; { &#34;token&#34;: &#34;***&#34;, &#34;text&#34;: &#34;{\&#34;auth_token\&#34;: \&#34;***\&#34;}&#34;, &#34;auth_token&#34;: &#34;none&#34; \u009b}&#xA;  Do it.&#xA;  see docs/protocol.md#x, 003 §4.4&#xA;</failure>
    </testcase>
    <testcase classname="player.P-INV" name="P-INV-03 Does P-INV-03." time="5.000"></testcase>
    <testcase classname="player.P-OVER" name="P-OVER-01 Does P-OVER-01." time="0.000">
      <skipped message="the agent never came so far"></skipped>
    </testcase>
    <system-out>P-INV-03 Does P-INV-03.&#xA;  the timestamp has no zone&#xA;`+exchange+`no answer after 5000 ms&#xA;  &gt; `+
		strings.TrimSpace(strings.Repeat("long ", 300))+`&#xA;  ! no answer within 5s to ***&#xA;  Do it.&#xA;  see docs/protocol.md#x, 003 §4.4&#xA;</system-out>
    <system-err></system-err>
  </testsuite>
</testsuites>
`, stdout)
}

func TestCheckOfAConformingAgentEndsWithoutError(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	h.report.Findings, h.report.Causes = append(h.report.Findings[:1], h.report.Findings[2:]...), h.report.Causes[1:]
	_, _, err := h.runCheck(t, append(anywhere, "player", url, "--only", "p-inv,P-OVER-01", "--level", "MUST", "--wait", "3s", "--timeout", "20s")...)
	require.NoError(t, err)
	assert.Equal(t, url, h.asked.URL)
	assert.Equal(t, conformance.Selection{Level: conformance.Must, Only: []string{"P-INV", "P-OVER-01"}}, h.asked.Selection)
	assert.Equal(t, []time.Duration{3 * time.Second, 20 * time.Second}, []time.Duration{h.asked.Wait, h.asked.Budget})

	h.report.Findings, h.report.Causes = h.report.Findings[2:], nil
	_, _, err = h.runCheck(t, append(anywhere, "player", url)...)
	assert.EqualError(t, err, "no requirement passed")
}

// Nobody says that the agent ended if it hangs, or if its league does not begin.
func TestIncompleteCheckGivesItsReason(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	h.report.Findings, h.report.Causes = h.report.Findings[:1], nil
	h.report.Ended = "the league did not begin: answered with the error 11 \x1b[31m"
	_, _, err := h.runCheck(t, append(anywhere, "player", url)...)
	assert.EqualError(t, err, "no requirement failed, but the test is incomplete: the league did not begin: answered with the error 11 \\x1b[31m")
}

func TestCheckListsTheRequirementsOfACauseUnderIt(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	h.report.Findings[2].Cause = "P-INV-02"
	h.report.Causes = []conformance.Cause{{
		ID: "P-INV-02", Level: conformance.Must, Text: "Its replies are not wrapped.", Requirements: []string{"P-INV-02", "P-INV-03"},
	}}
	stdout, _, err := h.runCheck(t, append(anywhere, "player", url)...)
	require.Error(t, err)
	assert.Contains(t, stdout, `        see docs/protocol.md#x, 003 §4.4
        Its replies are not wrapped. Same cause:
          P-INV-03   SHOULD  Does P-INV-03.

Correct these, the most important first:
FAIL    P-INV-02   Its replies are not wrapped. (and 1 more)

1 passed, 1 failed for 1 cause, 1 warning, 1 skipped, took 1.3s
`)
}

func TestCheckPlaysTheGameOfItsFlag(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	for _, game := range games().Types() {
		_, _, err := h.runCheck(t, append(anywhere, "player", url, "--game", game)...)
		require.Error(t, err)
		assert.Equal(t, game, h.asked.Game.Info().Type)
	}
	_, _, err := h.runCheck(t, append(anywhere, "player", url, "--game", "chess")...)
	assert.EqualError(t, err, oneOf("game", "chess", games().Types()...).Error())
}

func TestCheckReadsTheAdminTokenFromTheEnvironment(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	h.report.Findings, h.report.Causes = h.report.Findings[1:2], h.report.Causes[:1]
	h.report.Findings[0].ID, h.report.Causes[0].ID = "M-START-01", "M-START-01"
	h.report.Findings[0].Detail = "who says sesame is let in"
	t.Setenv("EVENODD_ADMIN_TOKEN", "sesame\n")
	stdout, _, err := h.runCheck(t, "manager", url, "--players", "2", "--referees", "3")
	require.Error(t, err)
	assert.Equal(t, "sesame", h.asked.Admin)
	assert.Equal(t, []int{2, 3}, []int{h.asked.Players, h.asked.Referees})
	assert.NotContains(t, stdout, "sesame")
	assert.NotEqual(t, meetingPoint, h.asked.Listener.Addr().String())
}

// An agent may register before it listens: the first connection to the kit ends the
// wait, and is served.
func TestCheckWaitsForAnAgentThatRegistersFirst(t *testing.T) {
	gone, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	url := "http://" + gone.Addr().String() + "/mcp"
	require.NoError(t, gone.Close())
	free, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	kit := free.Addr().String()
	require.NoError(t, free.Close())

	h := newFakeKit()
	h.during = func(_ context.Context, o conformance.Options) error {
		c, err := o.Listener.Accept()
		if err != nil {
			return err
		}
		defer c.Close()
		said, err := io.ReadAll(c)
		assert.Equal(t, "hello", string(said))
		return err
	}
	came := make(chan error, 1)
	go func() {
		for {
			c, err := net.Dial("tcp", kit)
			if err != nil {
				continue // it does not listen yet
			}
			_, err = c.Write([]byte("hello"))
			came <- errors.Join(err, c.Close())
			return
		}
	}()
	_, _, err = h.runCheck(t, "player", url, "--listen", kit, "--wait", "1m")
	assert.EqualError(t, err, "1 requirement failed")
	require.NoError(t, <-came)
}

func TestCheckFailsIfNoServerListens(t *testing.T) {
	gone, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	url := "http://" + gone.Addr().String() + "/mcp"
	require.NoError(t, gone.Close())
	_, _, err = newFakeKit().runCheck(t, append(anywhere, "player", url, "--wait", "0s")...)
	require.ErrorContains(t, err, "no server listens at "+url+": start the agent, and check its port")
	assert.Equal(t, exitFailed, exitCode(err))
}

func TestInterruptedCheckHasNoResult(t *testing.T) {
	h, url := newFakeKit(), listeningURL(t)
	ctx, cancel := context.WithCancel(t.Context())
	h.during = func(ctx context.Context, _ conformance.Options) error {
		cancel()
		return ctx.Err()
	}
	var out bytes.Buffer
	c := checkCommand(streams{&out, io.Discard}, &checkOptions{catalogue: h.catalogue, examine: h.examine})
	c.SetArgs(append(anywhere, "player", url))
	c.SilenceErrors, c.SilenceUsage = true, true
	assert.Equal(t, exitInterrupted, exitCode(c.ExecuteContext(ctx)))
	assert.Empty(t, out.String())
}

// If another program has the default address of managers, the command takes a free port
// and names it. If another program has the port of --listen, the command fails.
func TestCheckWithATakenPort(t *testing.T) {
	url := listeningURL(t)
	place := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	_, _, err := newFakeKit().runCheck(t, "player", url, "--listen", place)
	require.EqualError(t, err, place+" is taken by another program: choose another address with --listen")

	if l, err := net.Listen("tcp", meetingPoint); err == nil { // else another program has it
		defer l.Close()
	}
	_, stderr, err := newFakeKit().runCheck(t, "player", url)
	require.EqualError(t, err, "1 requirement failed")
	assert.Regexp(t, `^localhost:8000 is taken by another program\. The manager for this test is at http://localhost:\d+/mcp: start the agent with this URL if it registers itself\.\n$`, stderr)
}

func TestCheckReportsWrongArguments(t *testing.T) {
	const call = "check takes a role and a URL, for example: evenodd check player http://localhost:8101/mcp"
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no arguments", nil, call},
		{"no URL", []string{"player"}, call},
		{"too many arguments", []string{"player", "localhost:1", "x"}, call},
		{"an unknown role", []string{"spectator", "localhost:1"}, `unknown role "spectator": must be one of player, referee, manager`},
		{"an invalid URL", []string{"player", "ftp://x"}, `"ftp://x" is not the URL of an agent: it must be one such as http://localhost:8101/mcp`},
		{"an invalid port", []string{"player", "localhost:agent"}, `"localhost:agent" is not the URL of an agent: it must be one such as http://localhost:8101/mcp`},
		{"a port too high", []string{"player", "localhost:81010"}, `"localhost:81010" is not the URL of an agent: it must be one such as http://localhost:8101/mcp`},
		{"a password", []string{"player", "http://me:mine@localhost:1"}, `http://me:xxxxx@localhost:1: the URL of an agent must not contain a user name or a password`},
		{"a list with a URL", []string{"--list", "player", "localhost:1"}, `--list calls no agent: remove "localhost:1"`},
		{"an unknown format", []string{"player", "localhost:1", "--format", "xml"}, `--format "xml": must be text, json or junit`},
		{"an unknown format of a list", []string{"--list", "--format", "junit"}, `--format "junit": must be text or json`},
		{"a level", []string{"player", "localhost:1", "--level", "may"}, `--level "may": must be must or should`},
		{"an id beside others", []string{"player", "localhost:1", "--only", "P-INV-07"}, `--only "P-INV-07": no requirement of player begins with it; there are P-INV-01, P-INV-02, P-INV-03`},
		{"an id of nothing", []string{"--list", "--only", "X"}, `--only "X": no requirement of any role begins with it; there are P-INV, P-OVER`},
		{"an empty id", []string{"player", "localhost:1", "--only", "P-INV,"}, `--only "": no requirement of player begins with it; there are P-INV, P-OVER`},
		{"no requirement is left", []string{"player", "localhost:1", "--only", "P-INV-03", "--level", "must"}, "--only P-INV-03: none of these is a MUST, which --level must asks for"},
		{"no time", []string{"player", "localhost:1", "--timeout", "0s"}, "--wait and --timeout must be positive times such as 30s"},
		{"less than no time", []string{"player", "localhost:1", "--wait", "-1s"}, "--wait and --timeout must be positive times such as 30s"},
		{"a league of a player", []string{"player", "localhost:1", "--players", "2"}, "--players and --referees are only for managers, not for player"},
		{"a league of one", []string{"manager", "localhost:1", "--players", "1"}, "a league needs at least 2 players and 1 referee, not 1 and 1"},
		{"no place", []string{"player", "localhost:1", "--listen", "8000"}, `--listen "8000": must be a host and a port, such as localhost:8000`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stdout, _, err := newFakeKit().runCheck(t, tt.args...)
			assert.Equal(t, exitUsage, exitCode(err))
			assert.EqualError(t, err, tt.want)
			assert.Empty(t, stdout)
		})
	}
}

func TestCheckListsRequirements(t *testing.T) {
	stdout, _, err := newFakeKit().runCheck(t, "--list", "player", "--only", "P-INV")
	require.NoError(t, err)
	assert.Equal(t, `player: 3 requirements
  P-INV-01  MUST    Does P-INV-01. (docs/protocol.md#x, 003 §4.4)
  P-INV-02  MUST    Does P-INV-02. (docs/protocol.md#x, 003 §4.4)
  P-INV-03  SHOULD  Does P-INV-03. (docs/protocol.md#x, 003 §4.4)
`, stdout)
	stdout, _, err = newFakeKit().runCheck(t, "--list", "--level", "must", "--only", "P-INV-01", "--format", "json")
	require.NoError(t, err)
	assert.JSONEq(t, `{"schema_version": 1, "roles": [
		{"role": "player", "requirements": [{"id": "P-INV-01", "level": "MUST", "text": "Does P-INV-01.", "page": "docs/protocol.md#x", "spec": "003 §4.4", "hint": "Do it."}]},
		{"role": "referee", "requirements": []}, {"role": "manager", "requirements": []}]}`, stdout)
}

func TestAgentURL(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:8101":              "http://localhost:8101/mcp",
		"127.0.0.1:8101/play":         "http://127.0.0.1:8101/play",
		"http://localhost:8101":       "http://localhost:8101/mcp",
		"http://localhost:8101/":      "http://localhost:8101/",
		"https://agents.example/mcp#": "https://agents.example/mcp",
		"[::1]:8101":                  "http://[::1]:8101/mcp",
	} {
		got, err := agentURL(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got)
	}
}
