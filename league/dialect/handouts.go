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

	form     form // in which it was handed out last
	answered bool // in that form, by more than that the referee is busy
	done     bool // its result was taken
	seq      int  // of all that were handed out
}

// handouts are the matches that were handed to third-party referees. Safe for
// concurrent use.
type handouts struct {
	some atomic.Bool // there are any, which costs no lock to know

	mu      sync.Mutex
	matches map[string]*handout // by id, as they were handed out last
	seq     int
}

// maxHandouts is how many matches are remembered.
const maxHandouts = 4096

// none tells whether nothing was handed to referees of other makers.
func (h *handouts) none() bool { return !h.some.Load() }

// handOut remembers that a referee is handed a match. If the referee has had the same
// match before, and no report of it came, the form in which it had it is returned:
// that may not start matches. Nil otherwise.
func (h *handouts) handOut(endpoint string, assignment object) (m *handout, fruitless *form) {
	m = &handout{endpoint: endpoint, id: assignment.text("match_id"), scoring: assignment.object("scoring")}
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
		h.matches = map[string]*handout{}
		h.some.Store(true)
	}
	before := h.matches[m.id]
	if before != nil && before.endpoint == endpoint && before.answered && !before.done {
		f := before.form
		fruitless = &f
	}
	if before == nil && len(h.matches) >= maxHandouts {
		h.forgetOne()
	}
	h.seq++
	m.seq = h.seq
	h.matches[m.id] = m
	return m, fruitless
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

// begun remembers in which form a referee took a match, unless it is only busy.
func (h *handouts) begun(m *handout, f form, busy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.form, m.answered = f, !busy
}

// reported remembers that the result of a match was taken. It returns the referee's
// endpoint and the form in which the match was handed over, if the result comes from
// that referee.
func (h *handouts) reported(body []byte) (endpoint string, f form, ok bool) {
	asked, _ := cutRequest(body)
	report := objectOf(asked.message)
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.matches[report.text("match_id")]
	if m == nil || m.done {
		return "", form{}, false
	}
	m.done = true
	return m.endpoint, m.form, m.by(senderOf(report))
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
	for _, seat := range []string{"player_a_id", "player_b_id"} {
		if name := result.text(seat); name != "" {
			names = append(names, name)
		}
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
	return form{name: asked.method}.encode(jsontext.Value(after), asked.id)
}
