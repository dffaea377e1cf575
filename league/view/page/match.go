package page

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A matchView is the page of a match. Of a match without a recorded result it has only the
// players, the referee, the attempt, and since when.
type matchView struct {
	ID       string
	Round    int
	Game     string
	A, B     matchPlayer
	Referee  matchAgent
	State    string
	Since    string
	Attempt  int // the shown one; 0 for none
	Attempts []matchAttempt
	Counts   bool // the result of the shown attempt

	Recorded bool
	Result   string // that counts
	Reason   string
	Notes    []string     // forfeits, disputes
	Decided  []matchMade  // decisions of organisers about the match
	Course   *matchCourse // the shown attempt; nil without a recorded result

	thirdParty bool // the referee of the shown attempt
}

func (v *matchView) title() string { return v.ID }

// A matchAgent is a player or a referee of a match.
type matchAgent struct{ ID, Name string }

// A matchPlayer is one side of a match, with what the recorded result says of it.
type matchPlayer struct {
	matchAgent

	Mark      mark // "" without a result
	Points    string
	Choice    string
	Fault     string
	FaultText string
	Fallbacks int
}

// A matchAttempt is an attempt at a match in the list of all.
type matchAttempt struct {
	Number  int
	Referee string
	State   string
	Here    bool
}

// A matchMade is a decision of an organiser about a match.
type matchMade struct{ What, By, Reason, At string }

// buildMatch makes the view of GET /matches/{id}.
func buildMatch(ctx context.Context, b *Board, r *http.Request) (any, error) {
	id, ok := protocol.ParseMatchID(r.PathValue("id"))
	attempt, problem := strconv.Atoi(r.FormValue("attempt"))
	if r.FormValue("attempt") == "" {
		attempt, problem = 0, nil
	}
	if !ok || problem != nil || attempt < 0 {
		return nil, errNotFound
	}
	var v *matchView
	b.View(func(l *record.League) { v = matchOf(l, id, attempt) })
	if v == nil {
		return nil, errNotFound
	}
	if v.Recorded {
		v.Course = v.course(ctx, b, id)
	}
	return v, nil
}

// matchOf is the view of a match without its transcript; nil if there is no such match or
// attempt.
func matchOf(l *record.League, id protocol.MatchID, attempt int) *matchView {
	if l.Started == nil {
		return nil
	}
	m, idA, idB, ok := l.Find(id)
	if !ok || attempt > len(m.Attempts) {
		return nil
	}
	v := &matchView{
		ID: id.String(), Round: id.Round, Game: game(l.Created.GameType), Recorded: m.Report != nil,
		A: matchPlayer{matchAgent: matchAgentOf(l, idA)}, B: matchPlayer{matchAgent: matchAgentOf(l, idB)},
	}
	v.Attempt = shownAttempt(m, attempt)
	referee := l.Referee(id.Round, id.Number)
	if v.Attempt > 0 {
		referee = m.Attempts[v.Attempt-1].Referee
	}
	v.Referee = matchAgentOf(l, referee)
	if known := l.Agents[referee]; known != nil {
		v.thirdParty = !known.ShowsAccessTokens()
	}
	for i := range m.Attempts {
		v.Attempts = append(v.Attempts, attemptOf(m, i, v.Attempt))
	}
	v.describeDecisions(m)
	if m.Report == nil {
		v.State, v.Since = matchState(l, m, id), l.Begun[id]
		return v
	}
	v.describeResult(l, m)
	return v
}

// shownAttempt is the attempt that the page shows: the asked one, else that of the result, else
// the last one.
func shownAttempt(m *journal.Match, asked int) int {
	switch {
	case asked > 0:
		return asked
	case m.Report != nil && m.Report.Number > 0:
		return m.Report.Number
	}
	return len(m.Attempts)
}

func matchAgentOf(l *record.League, id string) matchAgent {
	a := matchAgent{ID: matchText(id)}
	if known := l.Agents[id]; known != nil {
		a.Name = matchText(known.DisplayName)
	}
	return a
}

// matchState says in which state a match without a result is.
func matchState(l *record.League, m *journal.Match, id protocol.MatchID) string {
	current := m.Current()
	switch {
	case m.Reopened() && len(current) == 0:
		return "The match is played again. No referee has it yet."
	case m.Reopened():
		return "The match is played again."
	case len(current) == 0 && id.Round > l.Round:
		return "The match is planned."
	case len(current) == 0:
		return "The match waits for its referee."
	case current[len(current)-1].Accepted:
		return "The match is played now."
	}
	return "The match is assigned to a referee."
}

// attemptOf describes an attempt in the list.
func attemptOf(m *journal.Match, i, shown int) matchAttempt {
	a := &m.Attempts[i]
	one := matchAttempt{Number: a.Number, Referee: matchText(a.Referee), Here: a.Number == shown}
	switch {
	case m.Report != nil && m.Report.Number == a.Number:
		one.State = "its result counts"
	case m.AnnulledOutcome(a.Number) != nil:
		one.State = "its result is annulled"
	case a.Declined:
		one.State = "declined by the referee"
	case a.Failed:
		one.State = "given up: the referee failed"
	case m.Report == nil && a.Number == len(m.Attempts) && !m.Void(a.Number):
		one.State = "running"
	default:
		one.State = "given up"
	}
	return one
}

// describeDecisions lists what organisers decided about the match.
func (v *matchView) describeDecisions(m *journal.Match) {
	add := func(what string, made *journal.Made) {
		if made != nil {
			v.Decided = append(v.Decided, matchMade{what, matchText(made.By), matchText(made.Reason), made.At})
		}
	}
	for i := range m.Annulled {
		a := &m.Annulled[i]
		what := "annulled a result"
		if a.Report.Number > 0 {
			what = fmt.Sprintf("annulled the result of attempt %d", a.Report.Number)
		}
		add(what, &a.By)
	}
	add("ruled the result", m.Ruled)
	add("ordered a rematch", m.RematchOrdered)
}

// describeResult describes the result that counts.
func (v *matchView) describeResult(l *record.League, m *journal.Match) {
	r := m.Report
	v.Counts = r.Number > 0 && r.Number == v.Attempt
	v.Since, v.Reason = m.ReportedAt, matchText(r.Reason)
	for _, p := range []*matchPlayer{&v.A, &v.B} {
		p.describe(r)
	}
	switch {
	case v.A.Mark == won:
		v.Result = v.A.Name + " wins"
	case v.B.Mark == won:
		v.Result = v.B.Name + " wins"
	case v.A.Mark == drawn:
		v.Result = "Draw"
	default:
		v.Result = "Both players lose"
	}
	if r.Status == protocol.StatusTechnicalLoss {
		v.Result += " by technical loss"
	}
	for _, id := range m.Forfeited {
		v.Notes = append(v.Notes, matchAgentOf(l, id).Name+" ("+matchText(id)+") forfeits the match.")
	}
	for _, mark := range l.KeyMarks(m, v.A.ID, v.B.ID) {
		v.Notes = append(v.Notes, matchText(mark)+".")
	}
	for _, id := range m.Disputed {
		if l.Agents[id].Player {
			v.Notes = append(v.Notes, matchAgentOf(l, id).Name+" ("+matchText(id)+") says that nothing of this match reached it. The result stays.")
			continue
		}
		v.Notes = append(v.Notes, "Referee "+matchText(id)+" reported another result later. The first one counts.")
	}
	if r.Grade == journal.GradeStated {
		v.Notes = append(v.Notes, "The result rests on the word of referee "+matchText(r.RefereeID)+" alone: it did not show all moves and the draw. It gives points, and no rating uses it.")
	}
}

// describe describes a side of the match by the result that counts.
func (p *matchPlayer) describe(r *journal.MatchReported) {
	p.Mark = markOf(r, p.ID)
	if points, ok := r.Score.Get(p.ID); ok {
		p.Points = strconv.Itoa(points)
	}
	if choice, _ := r.Choices.Get(p.ID); choice != nil {
		p.Choice = matchText(*choice)
	}
	p.Fallbacks, _ = r.Fallbacks.Get(p.ID)
	if code, ok := r.Faults.Get(p.ID); ok {
		p.Fault, p.FaultText = matchText(code), record.ErrorInWords(code)
	}
}

// addresses are URLs, IP addresses, and what errors of a network name. Pages never show them:
// they can be those of an agent.
var addresses = regexp.MustCompile(`(?i)\b(https?|wss?|tcp)://[^\s"'<>\\]+` +
	`|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f:.%]{2,}\](:\d+)?` +
	`|\b(dial|lookup|read|write) (tcp|udp)?[46]? ?[^\s"'<>\\]+|\b(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+):\d{2,5}\b`)

// public is a text without what can be a token or an endpoint.
func public(text string) string {
	return addresses.ReplaceAllString(string(protocol.HideTokens([]byte(text))), "(an address)")
}

// matchText is a text of others as the page shows it: public, visible and cut.
func matchText(text string) string {
	return protocol.Escape(protocol.Clip(public(text), 1000))
}
