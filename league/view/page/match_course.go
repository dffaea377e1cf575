package page

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A matchCourse is how an attempt went.
type matchCourse struct {
	Missing string // why there is no transcript; "" if there is one
	Outcome string // of this attempt, if it is not the result that counts
	Lines   []matchLine
	Board   *matchBoard // nil without moves
	Omitted int
	Signed  []string // players whose moves are signed
	Draw    *matchDraw
}

// A matchLine is a message of the conversation.
type matchLine struct {
	*record.Line

	Lanes string // class: the initials of both lanes
	Words string // what its error means
	Raw   string // the message as JSON
}

// Later is the time since the message before; "" for none.
func (l matchLine) Later() string {
	if l.Waited == nil || *l.Waited < 0.001 {
		return ""
	}
	return fmt.Sprintf("%.3f s later", *l.Waited)
}

// TroubleTitle names the kind of trouble for people.
func (l matchLine) TroubleTitle() string {
	return map[string]string{
		record.TroubleVoid: "does not count", record.TroubleNoAnswer: "no answer in time", record.TroubleUnreachable: "not reachable",
		record.TroubleWait: "asks to wait", record.TroubleWrong: "wrong answer",
	}[l.Trouble]
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
	c := record.ConversationOf(doc, b.statistician.games)
	course := courseOf(c)
	course.Board = boardOf(c, r.FormValue("move"), r.FormValue("attempt"))
	for _, p := range []string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID} {
		if _, ok := doc.Signatures.Get(p); ok {
			course.Signed = append(course.Signed, shown(p))
		}
	}
	if len(course.Lines) == 0 { // of a file that the manager wrote
		course.Missing = missing
	}
	if v.Counts {
		course.Outcome = ""
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
	for i := range c.Lines {
		course.Lines = append(course.Lines, matchLineOf(c, &c.Lines[i]))
	}
	return course
}

// matchLineOf makes a line of the page.
func matchLineOf(c *record.Conversation, u *record.Line) matchLine {
	line := matchLine{Line: u, Lanes: laneOf(c, u.From) + "-" + laneOf(c, u.To), Raw: rawOf(u.Message)}
	if u.Error != nil && u.Void == "" {
		line.Words = record.ErrorInWords(u.Error.ErrorCode)
	}
	return line
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
	return protocol.Clip(record.Public(string(protocol.EscapeJSON(raw))), longestRaw)
}
