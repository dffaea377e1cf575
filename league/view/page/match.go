package page

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
	"evenodd/rules"
)

// A matchView is the page of a match. Of a match without a recorded result it has only the
// players, the referee, the attempt, and since when.
type matchView struct {
	ID       string
	Round    int
	Game     string
	A, B     matchPlayer
	Referee  ref
	State    string
	Since    string
	Attempt  int // the shown one; 0 for none
	Attempts []matchAttempt
	Counts   bool // the result of the shown attempt

	Embed    bool // the board alone
	Recorded bool
	Result   string // that counts
	Reason   string
	Notes    []string     // forfeits, disputes
	Decided  []decision   // decisions of organisers about the match
	Course   *matchCourse // the shown attempt; nil without a recorded result

	thirdParty bool // the referee of the shown attempt
	games      rules.Registry
}

func (v *matchView) title() string { return v.ID }

// A matchPlayer is one side of a match, with what the recorded result says of it.
type matchPlayer struct {
	ref

	Mark      mark // "" without a result
	Points    string
	Choice    string
	Causes    []record.CountedCause // of the failed answers in the shown attempt, or of the technical loss
	Fallbacks int
}

// A matchAttempt is an attempt at a match in the list of all.
type matchAttempt struct {
	Number  int
	Referee string
	State   string
	Here    bool
}

// buildMatch makes the view of GET /matches/{id}.
func buildMatch(b *Board, r *http.Request) (any, error) {
	id, ok := league.ParseMatchID(r.PathValue("id"))
	attempt, problem := strconv.Atoi(cmp.Or(r.FormValue("attempt"), "0"))
	if !ok || problem != nil || attempt < 0 {
		return nil, errNotFound
	}
	var v *matchView
	b.View(func(l *record.League) { v = at(l, live).match(id, attempt) })
	if v == nil {
		return nil, errNotFound
	}
	v.Embed = r.FormValue("embed") == "1"
	if v.Recorded {
		v.Course = v.course(b, r, id)
	}
	return v, nil
}

// match is the view of a match without its transcript; nil if there is no such match or
// attempt.
func (now *moment) match(id league.MatchID, attempt int) *matchView {
	m, idA, idB, ok := now.Find(id)
	if !ok || attempt > len(m.Attempts) {
		return nil
	}
	v := &matchView{
		ID: id.String(), Round: id.Round, Game: shown(now.Games.Name(now.Created.GameType)), Recorded: m.Report != nil,
		A: matchPlayer{ref: now.agent(idA)}, B: matchPlayer{ref: now.agent(idB)}, games: now.Games,
	}
	if v.Attempt = cmp.Or(attempt, len(m.Attempts)); m.Report != nil {
		v.Attempt = cmp.Or(attempt, m.Report.Number, v.Attempt)
	}
	referee := now.Referee(id.Round, id.Number)
	if v.Attempt > 0 {
		referee = m.Attempts[v.Attempt-1].Referee
	}
	v.Referee = now.agent(referee)
	if known := now.Agents[referee]; known != nil {
		v.thirdParty = !known.ShowsAccessTokens()
	}
	for i := range m.Attempts {
		v.Attempts = append(v.Attempts, attemptOf(m, i, v.Attempt))
	}
	v.Decided = lists.Filter(now.decisions(len(now.Decisions)), func(d decision) bool { return d.Match == v.ID })
	if m.Report == nil {
		v.State, v.Since = now.stateOf(v.ID, len(m.Current())), now.Begun[id]
		return v
	}
	v.describeResult(now, m)
	return v
}

// attemptOf describes an attempt in the list.
func attemptOf(m *journal.Match, i, here int) matchAttempt {
	a := &m.Attempts[i]
	one := matchAttempt{Number: a.Number, Referee: shown(a.Referee), Here: a.Number == here}
	switch {
	case m.Report != nil && m.Report.Number == a.Number:
		one.State = "its result counts"
	case m.AnnulledOutcome(a.Number) != nil:
		one.State = "its result is annulled"
		if by := m.OutcomeOf(a.Number).Disputed; len(by) > 0 {
			one.State = "its result, disputed by " + shown(strings.Join(by, " and ")) + ", is annulled"
		}
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

// describeResult describes the result that counts.
func (v *matchView) describeResult(now *moment, m *journal.Match) {
	r := m.Report
	v.Counts = r.Number > 0 && r.Number == v.Attempt
	v.Since, v.Reason = m.ReportedAt, shown(r.Reason)
	for _, p := range []*matchPlayer{&v.A, &v.B} {
		p.describe(now, r)
	}
	result := now.result(r.MatchID)
	v.Result = result.Sentence() + "."
	if len(r.Faults) > 0 {
		v.Reason = "" // the causes of both sides say the same
	}
	for _, id := range m.Forfeited {
		v.Notes = append(v.Notes, now.agent(id).Name+" ("+shown(id)+") forfeits the match.")
	}
	for _, mark := range now.KeyMarks(m, v.A.ID, v.B.ID) {
		v.Notes = append(v.Notes, shown(mark)+".")
	}
	for _, id := range m.Disputed {
		if now.Agents[id].Player {
			v.Notes = append(v.Notes, now.agent(id).Name+" ("+
				shown(id)+") says that nothing of this match reached it. The result stays.")
			continue
		}
		v.Notes = append(v.Notes, "Referee "+shown(id)+" reported another result later. The first one counts.")
	}
	for _, id := range m.Refuted {
		v.Notes = append(v.Notes, now.agent(id).Name+" ("+shown(id)+
			") says that nothing of this match reached it, but the transcript has its answer: that does not count.")
	}
	switch {
	case r.Grade != journal.GradeStated:
	case m.IsLost(r.Number):
		v.Notes = append(v.Notes, "The manager refused the report of referee "+shown(r.RefereeID)+": "+shown(r.Reason)+
			". No other referee conducted the match. No rating uses it.")
	default:
		v.Notes = append(v.Notes, "The result rests on the word of referee "+
			shown(r.RefereeID)+" alone: it did not show all moves and the draw. It gives points, and no rating uses it.")
	}
}

// describe describes a side of the match by the result that counts.
func (p *matchPlayer) describe(now *moment, r *journal.MatchReported) {
	p.Mark = markOf(&r.Result, p.ID)
	if points, ok := r.Score.Get(p.ID); ok {
		p.Points = strconv.Itoa(points)
	}
	if choice, _ := r.Choices.Get(p.ID); choice != nil {
		p.Choice = shown(now.Say(*choice))
	}
	p.Fallbacks, _ = r.Fallbacks.Get(p.ID)
	if cause := record.CauseIn(&r.Result, p.ID); cause.Words != "" {
		p.Causes = record.CountCauses([]record.Cause{cause})
	}
}

// A matchCourse is how an attempt went.
type matchCourse struct {
	Missing string // why there is no transcript; "" if there is one
	Outcome string // of this attempt, if it is not the result that counts
	Groups  []lineGroup
	Count   int         // of the messages
	Failed  int         // answers of players that failed
	Board   *matchBoard // nil without moves
	Omitted int
	Signed  []string // players whose moves are signed
	Draw    *matchDraw
}

// A lineGroup are messages that follow each other.
type lineGroup struct {
	Repeats string // what they tell together, if they are tries that failed as those before; "" for others
	Lines   []matchLine
}

// A matchLine is a message of the conversation.
type matchLine struct {
	*record.Line

	Lanes string       // class: the initials of both lanes
	Cause record.Cause // why the answer failed, at the first failure for this cause
	Raw   string       // the message as JSON
}

// Later is the time since the message before; "" for none.
func (l matchLine) Later() string {
	if l.Waited == nil || *l.Waited < 0.001 {
		return ""
	}
	return fmt.Sprintf("%.3f s later", *l.Waited)
}

// TroubleTitle names the kind of trouble for people, with the time of an answer that came too late or is wrong.
func (l matchLine) TroubleTitle() string {
	title := map[string]string{
		record.TroubleVoid: "does not count", record.TroubleNoAnswer: "no answer in time", record.TroubleUnreachable: "not reachable",
		record.TroubleWait: "asks to wait", record.TroubleWrong: "wrong answer",
	}[l.Trouble]
	switch {
	case l.Took == nil:
		return title
	case l.Trouble == record.TroubleNoAnswer:
		return "no answer within " + record.Milliseconds(*l.Took*1000)
	}
	return title + " after " + record.Milliseconds(*l.Took*1000)
}

// course reads the transcript of the shown attempt.
func (v *matchView) course(b *Board, r *http.Request, id league.MatchID) *matchCourse {
	if v.Attempt == 0 {
		return &matchCourse{Missing: "No referee conducted this match, so there are no messages."}
	}
	missing := "Its referee has not delivered the transcript of this attempt."
	if v.thirdParty {
		missing = "Its referee kept no transcript of this attempt."
	}
	doc, err := b.Transcript(r.Context(), league.Attempt{MatchID: id, Number: v.Attempt})
	switch {
	case errors.Is(err, ErrNotRecorded): // the result was annulled a moment ago
		return &matchCourse{Missing: "The match is played again."}
	case errors.Is(err, fs.ErrNotExist):
		return &matchCourse{Missing: missing}
	case err != nil:
		return &matchCourse{Missing: "The transcript of this attempt cannot be read."}
	}
	c := record.ConversationOf(doc, v.games)
	course := courseOf(c)
	if course.Board = boardOf(c, r.FormValue("move"), r.FormValue("attempt")); course.Board != nil {
		course.Board.A, course.Board.B = v.A.ref, v.B.ref
	}
	for _, p := range []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID} {
		if _, ok := doc.Signatures.Get(p); ok {
			course.Signed = append(course.Signed, shown(p))
		}
	}
	if course.Count == 0 { // of a file that the manager wrote
		course.Missing = missing
	}
	if course.Board != nil { // which shows the moves
		v.A.Choice, v.B.Choice = "", ""
	}
	if v.Counts {
		course.Outcome = ""
		for _, p := range []*matchPlayer{&v.A, &v.B} {
			if causes := record.CausesOf(doc, p.ID); len(causes) > 0 {
				p.Causes = causes
			}
		}
	}
	return course
}

// courseOf makes the course of a conversation.
func courseOf(c *record.Conversation) *matchCourse {
	course := &matchCourse{Omitted: c.Omitted, Draw: matchDrawOf(c)}
	if c.Result == nil {
		course.Outcome = "This attempt was given up and has no result"
	} else {
		course.Outcome = "This attempt: " + shown(c.Result.Reason)
	}
	told := map[record.Cause]bool{{}: true}
	for i := 0; i < len(c.Lines); {
		repeated := c.Repeated(i)
		group := lineGroup{Repeats: shown(c.Repeats(i, repeated))}
		for range max(repeated, 1) {
			u := &c.Lines[i]
			line := matchLine{Line: u, Lanes: laneOf(c, u.From) + "-" + laneOf(c, u.To), Raw: rawOf(u.Message)}
			if cause := u.Cause(); !told[cause] {
				told[cause], line.Cause = true, cause
			}
			if u.Error != nil {
				course.Failed++
			}
			group.Lines = append(group.Lines, line)
			i++
		}
		last := len(course.Groups) - 1
		if repeated == 0 && last >= 0 && course.Groups[last].Repeats == "" {
			course.Groups[last].Lines = append(course.Groups[last].Lines, group.Lines...)
		} else {
			course.Groups = append(course.Groups, group)
		}
	}
	course.Count = len(c.Lines)
	return course
}

// laneOf is the lane of an agent: m, r, a or b.
func laneOf(c *record.Conversation, id string) string {
	switch id {
	case record.ManagerLane:
		return "m"
	case c.PlayerA.PlayerID:
		return "a"
	case c.PlayerB.PlayerID:
		return "b"
	}
	return "r"
}

// longestRaw is the number of bytes of a message that the page shows.
const longestRaw = 6000

// rawOf is a message as indented JSON, without tokens and addresses; "" for none.
func rawOf(message jsontext.Value) string {
	raw := message.Clone()
	if raw.Indent(jsontext.WithIndent("  ")) != nil {
		return ""
	}
	return words.Clip(record.Public(string(words.EscapeJSON(raw))), longestRaw)
}
