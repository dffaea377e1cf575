package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"evenodd/league"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// live is the round of a page that shows the present state.
const live = -1

// A moment is a league now, or as it was after a completed round. All views are made of one.
type moment struct {
	*record.League

	round int // live, or from 0 for the time before round 1
}

// at returns a league after a completed round, or now if round is live or beyond those.
func at(l *record.League, round int) *moment {
	if round < 0 || round > l.CompletedRounds() || round == l.CompletedRounds() && l.Completed != nil {
		round = live
	}
	return &moment{l, round}
}

// parseRound reads the parameter round of a page. Anything else than a number is live.
func parseRound(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return live
	}
	return n
}

// last is the last announced round that the moment includes.
func (m *moment) last() int {
	if m.round == live {
		return m.Round
	}
	return m.round
}

// name is how pages call the moment: "after round 3 of 7".
func (m *moment) name() string {
	switch {
	case m.Started == nil:
		return "before the start"
	case m.round == 0:
		return "before round 1"
	case m.round > 0:
		return fmt.Sprintf("after round %d of %d", m.round, m.TotalRounds())
	case m.Completed != nil:
		return "final"
	}
	return "now"
}

// A ref names a player or a referee.
type ref struct{ ID, Name string }

func (m *moment) agent(id string) ref {
	if a := m.Agents[id]; a != nil {
		return ref{id, shown(a.Name)}
	}
	return ref{ID: shown(id)}
}

// shown is a text of others as pages show it: public, visible, and not longer than a page can bear.
func shown(text string) string { return clipped(text, 1000) }

// clipped is a text of others as shown has it, of another length.
func clipped(text string, longest int) string {
	return words.Escape(words.Clip(record.Public(text), longest))
}

// leagueName is the name of the league for people.
func leagueName(l *record.League) string {
	return shown(cmp.Or(l.Created.DisplayName, l.Created.LeagueID))
}

// A mark is how a match ended for one of its players: W, D or L, or T for a technical loss.
// Its letters are the classes of CSS too.
type mark string

const (
	won       mark = "W"
	drawn     mark = "D"
	lost      mark = "L"
	technical mark = "T" // a loss without a legal move
)

// Verb is the mark in a sentence: "P01 won against P02".
func (k mark) Verb() string {
	return map[mark]string{won: "won against", drawn: "drew with", lost: "lost to", technical: "lost technically to"}[k]
}

// Word is the mark as one word or two.
func (k mark) Word() string {
	return map[mark]string{won: "won", drawn: "drew", lost: "lost", technical: "technical loss"}[k]
}

// markOf is the mark of a player of a match with a result.
func markOf(r *league.Result, playerID string) mark {
	return [...]mark{league.Win: won, league.Draw: drawn, league.Loss: lost, league.TechnicalLoss: technical}[r.Outcome(playerID)]
}

// A decision is one of an organiser in the list of all.
type decision struct {
	About, At string
	Match     string // its id; "" if the decision is about none
	Player    string
}

// decisionsShown is the number of decisions on the overview.
const decisionsShown = 20

// decisions are the last decisions, the latest first.
func (m *moment) decisions(most int) []decision {
	list := []decision{}
	until := ""
	if m.round != live && m.round < len(m.Rounds) {
		until = m.Rounds[m.round].AnnouncedAt // of the next round
	}
	for _, d := range slices.Backward(m.DecisionsMade(0)) {
		if until != "" && d.At > until {
			continue
		}
		one := decision{About: shown(record.LocalTimes(d.Shown, m.Zone)), At: d.At}
		id, _ := league.ParseMatchID(d.Matter)
		if _, _, _, ok := m.Find(id); ok {
			one.Match = d.Matter
		} else if a := m.Agents[d.Matter]; a != nil && a.Player {
			one.Player = d.Matter
		}
		if list = append(list, one); len(list) == most {
			break
		}
	}
	return list
}

// timesIn are the functions of templates that show times of the journal in a zone. The script of the pages shows them
// in the zone of the reader, in the same form.
func timesIn(zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"when":  func(at string) string { return shown(record.LocalTimes(at, zone)) },
		"clock": func(at string) string { return shown(record.LocalClock(at, zone)) },
	}
}

// The functions build… make the views of the routes.

// roundOf is the round that a request asks for. The last position of the scrubber is live,
// whatever rounds have ended since the page was made.
func roundOf(r *http.Request) int {
	if r.FormValue("live") != "" {
		return live
	}
	return parseRound(r.FormValue("round"))
}

func buildOverview(b *Board, r *http.Request) (any, error) {
	return b.overview(r, roundOf(r)), nil
}

func buildCross(b *Board, r *http.Request) (any, error) {
	from, _ := strconv.Atoi(r.FormValue("from")) // 0 is the first window
	against, _ := strconv.Atoi(r.FormValue("against"))
	var c *cross
	b.View(func(l *record.League) { c = crossOf(l, roundOf(r), from, against) })
	if c.Round == live {
		c.addSuperiority(b.statistics())
	}
	return c, nil
}

func buildPlayer(b *Board, r *http.Request) (view any, err error) {
	var v *player
	b.View(func(l *record.League) { v = playerOf(l, r.PathValue("id"), r.FormValue("against")) })
	if v == nil {
		return nil, errNotFound
	}
	v.Rating = b.statistics().rating(v.ID)
	return v, nil
}

func buildStatistics(b *Board, _ *http.Request) (any, error) { return b.statistics(), nil }

func buildAgents(b *Board, r *http.Request) (view any, err error) {
	found, unread := b.health(r.Context())
	b.View(func(l *record.League) { view = agentsOf(l, found, unread) })
	return view, nil
}
