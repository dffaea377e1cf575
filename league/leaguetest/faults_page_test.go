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
	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
)

// faultsPage tells what becomes of those who misbehave. The flag -update
// writes it anew.
const faultsPage = "../../docs/faults.md"

// A fault is one way to misbehave.
type fault struct {
	name string // of the subtest
	does string // what the offender does, in words
	of   culprit
	fate lot // of the offender's own matches

	traits []leaguetest.Option                       // of the offender
	script func(w *hostileWorld) []leaguetest.Option // traits that need the world
	wire   *wire                                     // of the offending player
	league []func(*league.Options)                   // the league's settings
	vague  bool                                      // how many reports of an offending referee come before the end is chance
	slowly bool                                      // the honest ones take a second for a choice
	last   func(w *hostileWorld)                     // what happens when all but P04 are registered
	during func(w *hostileWorld)                     // what happens beside the league
	after  func(w *hostileWorld)                     // what must hold, beyond what always must
}

// Who misbehaves.
type culprit int

const (
	ofPlayer culprit = iota
	ofWire
	ofStranger
	ofReferee
)

// What becomes of an offending player's matches.
type lot int

const (
	plays  lot = iota // all to their end
	loses             // all technically
	either            // some so and some so
)

// TestFaults plays a league over HTTP for every way to misbehave that we know:
// the honest ones are not harmed, and the league completes. What happened to
// the offender is a row of docs/faults.md.
func TestFaults(t *testing.T) {
	cases := slices.Concat(playerFaults(), wireFaults(), strangerFaults(), refereeFaults())
	var mu sync.Mutex
	rows := map[string]string{}
	t.Cleanup(func() {
		if t.Failed() || len(rows) < len(cases) {
			return // not all of them were played
		}
		page := faultsPageOf(cases, rows)
		if *leaguetest.UpdateFlag {
			require.NoError(t, os.WriteFile(faultsPage, []byte(page), 0o644))
		}
		want, err := os.ReadFile(faultsPage)
		require.NoError(t, err)
		assert.Empty(t, differences(string(want), page), "what happens differs from docs/faults.md: look at it, and run the test with -update")
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
				w.assertFate(f.fate)
				w.assertTold()
				w.AssertNoTokenLeaked(slices.DeleteFunc(slices.Clone(honestIDs), func(id string) bool { return id == w.suspect })...)
				if f.after != nil {
					f.after(w)
				}
				if f.wire != nil {
					assert.LessOrEqual(t, f.wire.endless.Load(), int64(3*4*80<<10), "3 matches, 4 questions, not much more than 64 KB of each answer")
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

// differences are the lines that only one of two pages has.
func differences(want, got string) (lines []string) {
	before, now := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range before {
		if !slices.Contains(now, line) {
			lines = append(lines, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(before, line) {
			lines = append(lines, "+ "+line)
		}
	}
	return lines
}

// assertFate holds the suspect's matches against what must become of them.
func (w *hostileWorld) assertFate(want lot) {
	w.T.Helper()
	own, _ := w.matches()
	for _, r := range own {
		lost := r.Status == protocol.StatusTechnicalLoss
		assert.True(w.T, want == either || lost == (want == loses), "%s: %s %s", r.MatchID, r.Status, r.Reason)
	}
}

// row is what was seen, as a row of the page.
func (w *hostileWorld) row(f *fault) string {
	var seen []string
	switch f.of {
	case ofPlayer, ofWire:
		seen = w.seenOfPlayer()
	case ofReferee:
		seen = w.seenOfReferee(f)
	case ofStranger:
		if w.suspect != "" {
			seen = w.seenOfIntruder()
		}
	}
	seen = slices.Concat(w.noted(), seen)
	if len(seen) == 0 {
		seen = []string{"nothing"}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n",
		f.name, cell(f.does), cell(seen...), cell(w.seenOfOthers()), w.lasted(f))
}

// lasted is how long the league took from its start, as exactly as chance allows.
func (w *hostileWorld) lasted(f *fault) string {
	d := w.took
	switch {
	case d < time.Second:
		return "at once"
	case f.of == ofReferee && d > time.Minute, d > time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	case f.of == ofReferee:
		return "under 1 min"
	}
	return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
}

// cell is text in a table of markdown, a line for each.
func cell(lines ...string) string {
	escape := strings.NewReplacer("|", "\\|", "<", "&lt;", "\n", " ", "*", "\\*")
	escaped := make([]string, len(lines))
	for i, line := range lines {
		escaped[i] = escape.Replace(line)
	}
	return strings.Join(escaped, "<br>")
}

// seenOfOthers is how the matches ended in which the suspect has no part.
func (w *hostileWorld) seenOfOthers() string {
	_, others := w.matches()
	played := 0
	for _, r := range others {
		if r.Status == protocol.StatusWin || r.Status == protocol.StatusDraw {
			played++
		}
	}
	return fmt.Sprintf("%d of %d WIN or DRAW", played, len(others))
}

// seenOfPlayer is what became of an offending player: match by match, and what
// else it did not answer.
func (w *hostileWorld) seenOfPlayer() []string {
	var matches counted
	own, _ := w.matches()
	for _, r := range own {
		matches.add(w.seenOfMatch(&r))
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

// seenOfIntruder is what became of a stranger that got a place.
func (w *hostileWorld) seenOfIntruder() []string {
	var matches counted
	own, _ := w.matches()
	for _, r := range own {
		matches.add(w.verdictOn(&r))
	}
	return matches.lines("each of its matches: ", "%d of its %d matches: ")
}

// seenOfMatch is one match of an offending player.
func (w *hostileWorld) seenOfMatch(r *league.MatchRecord) string {
	mine := func(e *leaguetest.Exchange) bool {
		return e.To == w.offender.Host && leaguetest.Decode[struct {
			MatchID string `json:"match_id"`
		}](e.Message).MatchID == r.MatchID
	}
	var errors counted
	tries := map[string]int{}
	for _, e := range w.Recorder.All(mine) {
		switch e.Method {
		case protocol.NotifyGameError.Name:
			q := leaguetest.Decode[protocol.GameError](e.Message)
			errors.add(q.ErrorCode)
		case protocol.Invite.Name, protocol.ChooseParity.Name:
			tries[e.Method]++
		}
	}
	text := ""
	if n := tries[protocol.Invite.Name]; n > 1 {
		text = fmt.Sprintf("invited %d times, ", n)
	}
	if n := tries[protocol.ChooseParity.Name]; n > 1 {
		text += fmt.Sprintf("asked %d times, ", n)
	}
	if len(errors.order) > 0 {
		text += "GAME_ERROR " + errors.inOrder() + ", "
	}
	return text + w.verdictOn(r)
}

// verdictOn is how a match of an offending player ended.
func (w *hostileWorld) verdictOn(r *league.MatchRecord) string {
	if r.Status != protocol.StatusTechnicalLoss {
		return "played to its end" + w.length(r.MatchID)
	}
	why, _, _ := strings.Cut(r.Reason, " - ")
	return r.Status + w.length(r.MatchID) + ": " + strings.TrimPrefix(why, w.suspect+" ")
}

// length is how long a match took.
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

// failedCalls are calls beside a match to the offender that came to nothing.
func (w *hostileWorld) failedCalls() string {
	var failed counted
	for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool {
		return e.To == w.offender.Host && e.At >= w.begun && e.Err != nil && e.From != "stranger"
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

// seenOfReferee is what became of an offending referee.
func (w *hostileWorld) seenOfReferee(f *fault) []string {
	var seen []string
	var handed, reported counted
	for _, e := range w.Calls(protocol.StartMatch.Name, w.offender.Host) {
		if e.Err != nil {
			handed.add(answerOf(e.Err))
			continue
		}
		handed.add(cmp.Or(leaguetest.Decode[protocol.MatchAssignmentAck](e.Answer).Status, "no status"))
	}
	if s := handed.inOrder(); s != "" {
		seen = append(seen, "start_match: "+s)
	}
	for _, e := range w.Recorder.All(func(e *leaguetest.Exchange) bool {
		return e.From == w.offender.Host && e.Method == protocol.ReportMatchResult.Name
	}) {
		reported.add(answerOf(e.Err))
	}
	if s := reported.inOrder(); s != "" {
		if f.vague {
			s = strings.Join(reported.order, ", ")
		}
		seen = append(seen, "its reports: "+s)
	}
	var by counted
	results := w.Manager.Results()
	slices.SortStableFunc(results, func(a, b league.MatchRecord) int { return cmp.Compare(a.RefereeID, b.RefereeID) })
	for _, r := range results {
		by.add("of " + r.RefereeID)
	}
	return append(seen, "results: "+by.inOrder())
}

// counted counts equal texts in the order in which they came first.
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

// lines is a line for each text: under one head when it is the only one, else
// with how many of how many.
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

// faultsPageOf is the whole page.
func faultsPageOf(cases []*fault, rows map[string]string) string {
	var b strings.Builder
	b.WriteString(faultsIntroduction)
	for of, group := range []struct{ title, about string }{
		ofPlayer:   {"A player's answers", "Player P02 misbehaves; its agent speaks proper HTTP."},
		ofWire:     {"A player's connections and bytes", "Player P02 is honest, and what stands between it and the network is not."},
		ofStranger: {"Strangers, tokens, floods", "All players and referees are honest. Somebody else, or one of them outside of its matches, does what it must not."},
		ofReferee:  {"Referees", "Referee REF01 misbehaves; REF02 is honest."},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", group.title, group.about)
		b.WriteString("| name | what the offender does | what was seen | other matches | the league took |\n| --- | --- | --- | --- | --- |\n")
		for _, f := range cases {
			if f.of == culprit(of) {
				b.WriteString(rows[f.name])
			}
		}
	}
	return b.String()
}

const faultsIntroduction = `# What happens to those who misbehave

Written by a test: ` + "`go test ./league/leaguetest -run TestFaults -update`" + `. Do not edit.

Agents are strangers: they crash, hang, lie, and send what nobody asked for. Each row below is a
whole league over HTTP, in virtual time: a manager, two referees and four players, six matches in
three rounds, in which one misbehaves as the row says. The third column is not a promise but what
the test saw: which questions were put again and how often, what GAME_ERRORs the offender was sent,
how its matches ended, what its calls were answered. In every league of this page

- nobody honest lost a match technically,
- every match without the offender ended on the board, as WIN or DRAW,
- no stranger was told a token or a credential of somebody else,
- the league completed.

The codes are those of the error catalogue: E001 no answer in time, E002 a value of a wrong type,
E003 a missing member, E004 a choice that is neither "even" nor "odd", E009 no readable answer, E015
another match, E022 an answer that asks to wait; the others are in ` + "`league/protocol/errors.go`" + `. A failed
question is put again up to three times, once the GAME_ERROR is delivered or 1 s has passed; after E022 it
is put again when the player said, until the window ends. One league is run alone by ` + "`go test ./league/leaguetest -run 'TestFaults/<name>'`" + `.
"The league took" is virtual time: what people would have waited. Some leagues wait on purpose, 30 s for
registrations or before each round, so that there is time to misbehave in.
`
