package dialect

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A handout is a match that was handed to a referee of another maker.
type handout struct {
	endpoint string // of the referee
	id       string // of the match
	known    object // what a report of it may lack, by the names it has there
	referee  string // its id; "" when it is not known
	players  [2]string
	scoring  object

	form     int  // in starts, in which it was handed out last
	answered bool // in that form, by more than that the referee is busy
	done     bool // its result was taken
	seq      int  // of all that were handed out
}

// handouts are the matches that were handed to referees of other makers, and what
// was learned of how to. Safe for concurrent use.
type handouts struct {
	some atomic.Bool // there are any, which costs no lock to know

	mu      sync.Mutex
	matches map[string]*handout // by id, as they were handed out last
	forms   map[string]*startHabit
	seq     int
}

// A startHabit is how a referee is told to start a match.
type startHabit struct {
	form   int
	proven bool // a report came of it
	told   bool // to the log
}

// maxHandouts is how many matches are remembered, and how many referees.
const maxHandouts = 4096

// none tells whether nothing was handed to referees of other makers.
func (h *handouts) none() bool { return !h.some.Load() }

// handOut remembers that a referee is handed a match, and tells in which form to
// begin: in the one after the last, if nothing came of the match in that, and nothing
// ever did of any.
func (h *handouts) handOut(endpoint string, assignment object) (*handout, int) {
	m := &handout{endpoint: endpoint, id: assignment.text("match_id"), scoring: assignment.object("scoring")}
	for _, name := range []string{"match_id", "round_id", "league_id", "game_type"} {
		if v := assignment.get(name); v != nil {
			m.known.set(name, v)
		}
	}
	if m.referee = assignment.text("referee_id"); m.referee != "" {
		m.known.set("sender", quoted(protocol.RefereeSender(m.referee)))
	}
	m.players = [2]string{assignment.object("player_A").text("player_id"), assignment.object("player_B").text("player_id")}

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.matches == nil {
		h.matches, h.forms = map[string]*handout{}, map[string]*startHabit{}
		h.some.Store(true)
	}
	habit := h.forms[endpoint]
	if habit == nil {
		for other := range h.forms { // any: it is learned again
			if len(h.forms) < maxHandouts {
				break
			}
			delete(h.forms, other)
		}
		habit = &startHabit{}
		h.forms[endpoint] = habit
	}
	before := h.matches[m.id]
	if before != nil && before.endpoint == endpoint && before.answered && !before.done && !habit.proven && before.form == habit.form {
		habit.form = (habit.form + 1) % len(starts)
	}
	if before == nil && len(h.matches) >= maxHandouts {
		h.forgetOne()
	}
	h.seq++
	m.seq, m.form = h.seq, habit.form
	h.matches[m.id] = m
	return m, habit.form
}

// forgetOne forgets the match that was handed out first, one with a result if there
// is one. H.mu is held.
func (h *handouts) forgetOne() {
	var oldest *handout
	for _, m := range h.matches {
		if oldest == nil || m.done && !oldest.done || m.done == oldest.done && m.seq < oldest.seq {
			oldest = m
		}
	}
	delete(h.matches, oldest.id)
}

// begun remembers in which form a referee understood that it is handed a match; news
// tells whether that is another than the protocol's, for the first
// time.
func (h *handouts) begun(m *handout, n int, busy bool) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.form, m.answered = n, !busy
	habit := h.forms[m.endpoint]
	if habit == nil {
		return false
	}
	if habit.form != n {
		habit.form, habit.proven = n, false
	}
	news = n > 0 && !habit.told
	habit.told = habit.told || news
	return news
}

// reported remembers that the result of a match was taken. Where it came from the
// referee that was handed the match, the form in which it was is one that starts
// matches.
func (h *handouts) reported(body []byte) {
	asked, _ := cutRequest(body)
	report := objectOf(asked.message)
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.matches[report.text("match_id")]
	if m == nil || m.done {
		return
	}
	m.done = true
	if habit := h.forms[m.endpoint]; m.by(senderOf(report)) && habit != nil && habit.form == m.form {
		habit.proven = true
	}
}

// of finds the match of a report: the one that it names, else the only one that it
// can be about. One that has a result is only meant where none is open: the report
// is sent again. None is another referee's than the one that was handed it.
func (h *handouts) of(report object) *handout {
	sender := senderOf(report)
	id, players := report.text("match_id"), playersIn(report)
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.matches[id]; id != "" {
		if m != nil && m.by(sender) {
			return m
		}
		return nil
	}
	var open, done *handout
	opens := 0
	for _, m := range h.matches {
		if !m.by(sender) || !m.of(players) {
			continue
		}
		switch {
		case !m.done:
			open = m
			opens++
		case done == nil || m.seq > done.seq:
			done = m
		}
	}
	switch opens {
	case 0:
		return done
	case 1:
		return open
	}
	return nil // never guess
}

// nameless is the id in the sender of those that give none.
const nameless = "unknown"

// senderOf is the id of who sent a report; "" where it does not say.
func senderOf(report object) string {
	if id := protocol.AgentOf(report.text("sender")); id != nameless {
		return id
	}
	return ""
}

// by tells whether a sender can be the referee of the match.
func (m *handout) by(sender string) bool {
	return sender == "" || m.referee == "" || strings.EqualFold(sender, m.referee)
}

// playersIn are the players that a report names.
func playersIn(report object) (names []string) {
	result := resultOf(report)
	details := result.object("details")
	if name := textOf(result.first(winners...)); name != "" && !isDraw(name) {
		names = append(names, name)
	}
	for _, keyed := range []object{result.object("score"), result.object("choices"), result.object("player_choices"), details.object("choices"), details.object("player_choices")} {
		for _, one := range keyed {
			names = append(names, one.name)
		}
	}
	return names
}

// of tells whether all these players are those of the match.
func (m *handout) of(players []string) bool {
	return !slices.ContainsFunc(players, func(name string) bool { return m.player(name) == "" })
}

// complete adds to the report of a match what its sender left out, and puts its
// result as the protocol has it.
func (h *handouts) complete(body []byte) []byte {
	asked, ok := cutRequest(body)
	report := objectOf(asked.message)
	if !ok || report == nil {
		return body
	}
	m := h.of(report)
	if m == nil {
		return body
	}
	before := string(report.appendTo(nil))
	if protocol.AgentOf(report.text("sender")) == nameless {
		report.drop("sender")
	}
	for _, one := range m.known {
		report.fill(one.name, one.value)
	}
	m.settle(&report)
	after := report.appendTo(nil)
	if string(after) == before {
		return body
	}
	return form{style: styleOwn, name: asked.method}.encode(jsontext.Value(after), asked.id)
}
