package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rsc.io/qr"

	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// Joining tells how agents and browsers on other computers reach a league that has not begun.
type Joining struct {
	Manager string   // URL for agents, such as http://192.0.2.7:8000/mcp
	Page    string   // URL for browsers, such as http://192.0.2.7:8000/
	Local   bool     // only this computer reaches them
	Proxies []string // names of hosts in front of the manager: a reader who uses one sees it in the URLs
	Base    string   // path of the pages: hosts in front of the manager open nothing else
	Coded   bool     // agents need a code of the roster
}

// at is how the sender of a request reaches the league. The server has refused names of hosts that are not its own.
func (j Joining) at(r *http.Request) Joining {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if !slices.ContainsFunc(j.Proxies, func(name string) bool { return strings.EqualFold(name, host) }) {
		return j
	}
	front := url.URL{Scheme: "http", Host: r.Host, Path: j.Base + "/"}
	// TLS may end at a proxy. If that does not say so, the browser does: it sends Sec-Fetch-Mode only with TLS, except to
	// its own computer.
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" || r.Header.Get("Sec-Fetch-Mode") != "" {
		front.Scheme = "https"
	}
	if j.Local = false; j.Base == "" {
		j.Manager = front.String() + "mcp"
	}
	j.Page = front.String()
	return j
}

// Typed is the URL of the manager as people type it: that of the page, if that leads to the manager.
func (j Joining) Typed() string {
	if short := strings.TrimSuffix(j.Manager, "mcp"); j.Page == short {
		return short
	}
	return j.Manager
}

// A join is the view of how to join.
type join struct {
	Joining

	Code *code // of the URL of the page; nil for none
}

// A joinCommand starts a player of one language. The flags follow.
type joinCommand struct{ Language, Program string }

// Commands are those that join a player, with the flags that follow.
func (v *join) Commands() []joinCommand {
	return []joinCommand{
		{"evenodd", "evenodd player"}, {"Python", "python3 player.py"}, {"JavaScript", "node player.mjs"}, {"Go", "go run ."},
	}
}

// joinOf is the view of how to join.
func joinOf(j Joining) *join {
	v := &join{Joining: j}
	if !j.Local {
		v.Code = codeOf(j.Page)
	}
	return v
}

// A code is a QR code as a path of SVG.
type code struct {
	Size int // modules, with the margins
	Path template.HTMLAttr
}

// codeMargin is the margin of a QR code in modules, as the standard says.
const codeMargin = 4

// codeOf is the QR code of a URL; nil for one that is too long.
func codeOf(url string) *code {
	encoded, err := qr.Encode(url, qr.L)
	if err != nil {
		return nil
	}
	var path strings.Builder
	for y := range encoded.Size {
		for x := 0; x < encoded.Size; x++ {
			from := x
			for encoded.Black(x, y) {
				x++
			}
			if x > from {
				_, _ = fmt.Fprintf(&path, "M%d %dh%dv1H%d", from+codeMargin, y+codeMargin, x-from, from+codeMargin)
			}
		}
	}
	return &code{encoded.Size + 2*codeMargin, template.HTMLAttr(`d="` + path.String() + `"`)} //nolint:gosec // of numbers
}

// mostShown is the number of agents that a page before the start names.
const mostShown = 200

// A crowd is the view of the agents before the start.
type crowd struct {
	Players     []present
	More        int // players that are not named
	Missing     []string
	MoreMissing int
	Silent      []silent
}

// A present is an agent that has registered.
type present struct {
	ref
	Silent bool // it has not answered yet
}

// A silent is an agent that pings do not reach.
type silent struct {
	ref
	Cause, Cure string // "" before a ping has met anything
}

// crowd are the agents before the start.
func (m *moment) crowd() *crowd {
	c := &crowd{Missing: m.missing()}
	for _, a := range m.SortedAgents() {
		if a.Player {
			c.Players = append(c.Players, present{m.agent(a.AgentID), !a.Answered})
		}
		if !a.Answered {
			c.Silent = append(c.Silent, silent{ref: m.agent(a.AgentID)})
		}
	}
	slices.SortStableFunc(c.Players, func(a, b present) int { // people look for their names
		return cmp.Compare(sortKey(a.Name), sortKey(b.Name))
	})
	c.Players, c.More = atMost(c.Players, mostShown)
	c.Missing, c.MoreMissing = atMost(c.Missing, mostShown)
	return c
}

// sortKey orders names as people do: "Team 2" before "Team 10".
func sortKey(name string) string {
	return numbers().ReplaceAllStringFunc(strings.ToLower(name), func(n string) string { return fmt.Sprintf("%12s", n) })
}

var numbers = words.Pattern(`[0-9]+`)

// explain adds what pings of the manager met, by the ids of agents.
func (c *crowd) explain(obstacles map[string]string) {
	for i := range c.Silent {
		one := &c.Silent[i]
		one.Cause = shown(obstacles[one.ID])
		one.Cure = record.CureOf(one.Cause)
	}
}

// atMost are the first elements of a list, and the number of the others.
func atMost[E any](list []E, most int) (first []E, more int) {
	first = list[:min(len(list), most)]
	return first, len(list) - len(first)
}

// missing are the names of the roster that have not registered.
func (m *moment) missing() []string {
	names := lists.Filter(m.Listed, func(name string) bool { return len(m.Named(true, name)) == 0 })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return lists.Map(names, shown)
}

// Deadline is the time to which the page counts, and what it is; "" for none. The end of the registration comes first.
func (c *conditions) Deadline() struct{ At, Text string } {
	type deadline = struct{ At, Text string }
	switch {
	case c.Until != "":
		return deadline{c.Until, "until registration ends"}
	case c.Start != nil:
		return deadline{c.Start.StartAt, "until the start"}
	}
	return deadline{}
}

// join is how the sender of a request joins the league; nil if it has begun, and without a manager.
func (b *Board) join(l *record.League, r *http.Request) *join {
	if b.joining == nil || l.Created == nil || l.Started != nil || l.Stopped {
		return nil
	}
	return joinOf(b.joining.at(r))
}
