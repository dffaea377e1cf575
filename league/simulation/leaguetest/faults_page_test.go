package leaguetest_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
)

func TestMain(m *testing.M) {
	leaguetest.UseMemory(os.Setenv)
	m.Run()
}

// faultsPage lists the consequences of each fault. The flag -update rewrites it.
const faultsPage = "../../../docs/faults.md"

// A fault is one way to misbehave.
type fault struct {
	name        string // the name of the subtest
	description string // what the offender does
	of          offenderKind
	ownResults  matchResults // the results of the offender's own matches

	traits []leaguetest.Option                       // of the offender
	script func(w *hostileWorld) []leaguetest.Option // traits that need the world
	wire   *wire                                     // of the offending player
	league []func(*manager.Options)                  // the league's options
	vague  bool                                      // the number of reports from an offending referee varies, and so do their answers
	slowly bool                                      // the honest players take a second for a choice
	last   func(w *hostileWorld)                     // called after all agents but P04 have registered
	during func(w *hostileWorld)                     // called during the league
	after  func(w *hostileWorld)                     // additional assertions
}

// offenderKind is the kind of agent that misbehaves.
type offenderKind int

const (
	ofPlayer offenderKind = iota
	ofWire
	ofUntrusted
	ofReferee
)

// matchResults are the expected results of an offending player's matches.
type matchResults int

const (
	allComplete matchResults = iota // played to their end
	allLost                         // technical losses
	someLost                        // some of each
)

// Each known fault occurs in a league over HTTP. The honest agents are not harmed and the
// league completes. The consequences for the offender are a row of docs/faults.md.
func TestFaults(t *testing.T) {
	cases := slices.Concat(playerFaults(), wireFaults(), untrustedFaults(), refereeFaults())
	var mu sync.Mutex
	rows := map[string]string{}
	t.Cleanup(func() {
		if t.Failed() || len(rows) < len(cases) {
			return // the page needs all cases
		}
		page := faultsPageOf(cases, rows)
		if *leaguetest.UpdateFlag {
			require.NoError(t, os.WriteFile(faultsPage, []byte(page), 0o644))
		}
		want, err := os.ReadFile(faultsPage)
		require.NoError(t, err)
		assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(page, "\n"), "the consequences differ from docs/faults.md: check them, and run the test with -update")
	})
	for _, f := range cases {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			inAHostileWorld(t, func(w *hostileWorld) {
				w.join(f)
				if f.during != nil {
					f.during(w)
				}
				w.Finish()
				w.took = w.Now() - w.begun
				w.assertUnharmed()
				w.assertOwnResults(f.ownResults)
				w.assertInformed()
				w.AssertNoTokenLeaked(slices.DeleteFunc(slices.Clone(honestIDs), func(id string) bool { return id == w.suspect })...)
				if f.after != nil {
					f.after(w)
				}
				if f.wire != nil {
					assert.LessOrEqual(t, f.wire.endless.Load(), int64(3*4*80<<10), "3 matches, 4 questions, about 64 KB of each response")
				}
				row := w.row(f)
				mu.Lock()
				defer mu.Unlock()
				assert.NotContains(t, rows, f.name)
				rows[f.name] = row
			})
		})
	}
}

// assertOwnResults compares the results of the suspect's matches with the expected ones.
func (w *hostileWorld) assertOwnResults(want matchResults) {
	w.T.Helper()
	own, _ := w.matches()
	for _, r := range own {
		lost := r.Status == league.StatusTechnicalLoss
		assert.True(w.T, want == someLost || lost == (want == allLost), "%s: %s %s", r.MatchID, r.Status, r.Reason)
	}
}

// row returns the observations as a row of the page.
func (w *hostileWorld) row(f *fault) string {
	var seen []string
	switch f.of {
	case ofPlayer, ofWire:
		seen = w.observedOfPlayer()
	case ofReferee:
		seen = w.observedOfReferee(f)
	case ofUntrusted:
		if w.suspect != "" {
			seen = w.observedOfIntruder()
		}
	}
	seen = slices.Concat(w.notesAsText(), seen)
	if len(seen) == 0 {
		seen = []string{"none"}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
		f.name, cell(f.description), cell(seen...), cell(w.resultsOfOthers()), w.durationOf(f))
}

// durationOf returns the duration of the league as exactly as it is reproducible.
func (w *hostileWorld) durationOf(f *fault) string {
	d := w.took
	switch {
	case d < time.Second:
		return "under 1 s"
	case f.of == ofReferee && d > time.Minute, d > time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	case f.of == ofReferee:
		return "under 1 min"
	}
	return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
}

// cell returns the lines as a cell of a markdown table.
func cell(lines ...string) string {
	escape := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ", "*", "\\*")
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escape.Replace(line)
	}
	return strings.Join(escaped, "<br>")
}

// resultsOfOthers returns the results of the matches without the suspect.
func (w *hostileWorld) resultsOfOthers() string {
	_, others := w.matches()
	played := 0
	for _, r := range others {
		if r.Status == league.StatusWin || r.Status == league.StatusDraw {
			played++
		}
	}
	return fmt.Sprintf("%d of %d WIN or DRAW", played, len(others))
}

// observedOfPlayer returns the results of an offending player's matches and its other failed
// calls.
func (w *hostileWorld) observedOfPlayer() []string {
	var matches counted
	own, _ := w.matches()
	for _, r := range own {
		matches.add(w.observedOfMatch(&r))
	}
	seen := matches.lines("each match: ", "%d of %d matches: ")
	if failed := w.failedCalls(); failed != "" {
		seen = append(seen, "also failed: "+failed)
	}
	warnings := 0
	for _, a := range w.Agents() {
		if a.Referee != nil {
			warnings += a.Referee.Record().Warnings[w.offender.ID]
		}
	}
	if warnings > 0 {
		seen = append(seen, fmt.Sprintf("%d conformance warnings", warnings))
	}
	return seen
}

// observedOfIntruder returns the match results of an untrusted caller that was registered.
func (w *hostileWorld) observedOfIntruder() []string {
	var matches counted
	own, _ := w.matches()
	for _, r := range own {
		matches.add(w.verdictOn(&r))
	}
	return matches.lines("each of its matches: ", "%d of its %d matches: ")
}

// observedOfMatch returns the retries, errors and result of a match of an offending player.
func (w *hostileWorld) observedOfMatch(r *record.Match) string {
	mine := func(e *leaguetest.Exchange) bool {
		return e.To == w.offender.Host && leaguetest.Decode[struct {
			MatchID string `json:"match_id"`
		}](e.Message).MatchID == r.MatchID
	}
	var errors counted
	attempts := map[string]int{}
	for _, e := range w.Recorder.All(mine) {
		switch e.Method {
		case protocol.NotifyGameError.Name:
			q := leaguetest.Decode[protocol.GameError](e.Message)
			errors.add(q.ErrorCode)
		case protocol.Invite.Name, protocol.ChooseParity.Name:
			attempts[e.Method]++
		}
	}
	text := ""
	if n := attempts[protocol.Invite.Name]; n > 1 {
		text = fmt.Sprintf("invited %d times, ", n)
	}
	if n := attempts[protocol.ChooseParity.Name]; n > 1 {
		text += fmt.Sprintf("asked %d times, ", n)
	}
	if len(errors.order) > 0 {
		text += "GAME_ERROR " + errors.inOrder() + ", "
	}
	return text + w.verdictOn(r)
}

// verdictOn returns the result of a match of an offending player.
func (w *hostileWorld) verdictOn(r *record.Match) string {
	if r.Status != league.StatusTechnicalLoss {
		return "completed" + w.length(r.MatchID)
	}
	why, _, _ := strings.Cut(r.Reason, " - ")
	return r.Status + w.length(r.MatchID) + ": " + strings.TrimPrefix(why, w.suspect+" ")
}

// length returns the duration of a match.
func (w *hostileWorld) length(matchID string) string {
	var from, to time.Duration
	for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool {
		return e.Method == protocol.StartMatch.Name && e.From == leaguetest.ManagerHost || e.Method == protocol.ReportMatchResult.Name && e.To == leaguetest.ManagerHost
	}) {
		if leaguetest.Decode[protocol.MatchResultReport](e.Message).MatchID != matchID {
			continue
		}
		if e.Method == protocol.StartMatch.Name {
			from = e.At
		} else {
			to = e.At
		}
	}
	if d := to - from; d >= time.Second {
		return fmt.Sprintf(" after %d s", int(d.Round(time.Second)/time.Second))
	}
	return ""
}

// failedCalls returns the failed calls to the offender, except those of matches and
// assignments.
func (w *hostileWorld) failedCalls() string {
	var failed counted
	for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool {
		return e.To == w.offender.Host && e.At >= w.begun && e.Err != nil && e.From != "untrusted"
	}) {
		switch e.Method {
		case protocol.Invite.Name, protocol.ChooseParity.Name, protocol.StartMatch.Name:
		default:
			failed.add(e.Method + " (" + answerOf(e.Err) + ")")
		}
	}
	slices.Sort(failed.order)
	return failed.inOrder()
}

// observedOfReferee returns the assignments, reports and results of an offending referee.
func (w *hostileWorld) observedOfReferee(f *fault) []string {
	var seen []string
	var assigned, reported counted
	for _, e := range w.Calls(protocol.StartMatch.Name, w.offender.Host) {
		if e.Err != nil {
			assigned.add(answerOf(e.Err))
			continue
		}
		assigned.add(cmp.Or(leaguetest.Decode[protocol.MatchAssignmentAck](e.Answer).Status, "no status"))
	}
	if s := assigned.inOrder(); s != "" {
		seen = append(seen, "start_match: "+s)
	}
	for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool {
		return e.From == w.offender.Host && e.Method == protocol.ReportMatchResult.Name
	}) {
		reported.add(answerOf(e.Err))
	}
	if s := reported.inOrder(); s != "" {
		if f.vague {
			for _, answer := range reported.order { // another referee may have reported before, or not
				assert.Contains(w.T, []string{"error 5002 (E006)", "error 5003 (E007)"}, answer)
			}
			s = "error 5002 (E006) or 5003 (E007)"
		}
		seen = append(seen, "its reports: "+s)
	}
	var by counted
	results := leaguetest.Results(w.Manager)
	slices.SortStableFunc(results, func(a, b record.Match) int { return cmp.Compare(a.RefereeID, b.RefereeID) })
	for _, r := range results {
		by.add("of " + r.RefereeID)
	}
	return append(seen, "results: "+by.inOrder())
}

// counted counts equal texts in the order of their first occurrence.
type counted struct {
	order []string
	n     map[string]int
	all   int
}

func (c *counted) add(s string) {
	if c.n == nil {
		c.n = map[string]int{}
	}
	if c.n[s]++; c.n[s] == 1 {
		c.order = append(c.order, s)
	}
	c.all++
}

func (c *counted) inOrder() string {
	var parts []string
	for _, s := range c.order {
		parts = append(parts, fmt.Sprintf("%d × %s", c.n[s], s))
	}
	return strings.Join(parts, ", ")
}

// lines returns one line for each text, with its share if there are several texts.
func (c *counted) lines(all, some string) []string {
	var lines []string
	for _, s := range c.order {
		if len(c.order) == 1 {
			lines = append(lines, all+s)
		} else {
			lines = append(lines, fmt.Sprintf(some, c.n[s], c.all)+s)
		}
	}
	return lines
}

// faultsPageOf returns the whole page.
func faultsPageOf(cases []*fault, rows map[string]string) string {
	var b strings.Builder
	b.WriteString(faultsIntroduction)
	for of, group := range []struct{ title, about string }{
		ofPlayer:    {"A player's responses", "Player P02 misbehaves; its agent sends valid HTTP."},
		ofWire:      {"A player's connections and bytes", "Player P02 is honest, but its connection or its HTTP server is not."},
		ofUntrusted: {"Untrusted callers, tokens, floods", "All players and referees are honest. An untrusted caller, or an agent outside its matches, misbehaves."},
		ofReferee:   {"Referees", "Referee REF01 misbehaves; REF02 is honest."},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", group.title, group.about)
		b.WriteString("| name | what the offender does | observed consequence | other matches | duration of the league |\n| --- | --- | --- | --- | --- |\n")
		for _, f := range cases {
			if f.of == offenderKind(of) {
				b.WriteString(rows[f.name])
			}
		}
	}
	return b.String()
}

const faultsIntroduction = `# Consequences of faults

A test writes this page: ` + "`go test ./league/simulation/leaguetest -run TestFaults -update`" + `. Do not edit it.

Agents may crash, hang, send wrong messages and send messages that no other agent asked for. Each row
is a whole league over HTTP in virtual time, with a manager, two referees and four players: six matches
in three rounds. One agent or an untrusted caller (the offender) misbehaves as the row says. The third
column is what the test observed, not a promise: the repeated calls, the GAME_ERRORs to the offender,
the results of its matches, and the responses to its calls. In each of these leagues

- no honest player got a technical loss,
- every match without the offender ended with WIN or DRAW,
- no untrusted caller got a token or a credential of another agent,
- the league completed.

The error codes: E001 no response in time, E002 a member of a wrong type, E003 a missing member, E004 a
choice other than "even" and "odd", E009 no readable response, E015 another match, E022 rate limited;
` + "`league/protocol/errors.go`" + ` has the others. The referee repeats a failed call up to three times, after
it has delivered the GAME_ERROR or after 1 s, and so does GAME_OVER after a wrong answer. After E022 it
repeats the call after the requested delay, until the window ends. One case alone: ` + "`go test ./league/simulation/leaguetest -run 'TestFaults/<name>'`" + `. The
duration is virtual time. Some leagues wait 30 s for registrations or before each round, so that the
offender has time to act.
`
