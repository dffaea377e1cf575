package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A matchCourse is how an attempt went.
type matchCourse struct {
	Missing string // why there is no transcript; "" if there is one
	Outcome string // of this attempt, if it is not the result that counts
	Lines   []matchLine
	Moves   []matchMove // of a game of several turns
	Omitted int
	Signed  []string // players whose moves are signed
	Draw    *matchDraw
}

// A matchLine is a message of the conversation.
type matchLine struct {
	At, Waited   string
	From, To     string // ids, or manager
	Lanes        string // class: the initials of both lanes
	Says         string
	Try          string
	Error        string
	Words, Void  string
	Trouble      string
	Raw          string // the message as JSON
	Answer       string // the beginning of the response as it arrived
	TroubleTitle string
}

// A matchMove is a move of a game of several turns.
type matchMove struct {
	Number       int
	Player, Move string
}

// course reads the transcript of the shown attempt.
func (v *matchView) course(ctx context.Context, b *Board, id protocol.MatchID) *matchCourse {
	if v.Attempt == 0 {
		return &matchCourse{Missing: "No referee conducted this match, so there are no messages."}
	}
	missing := "Its referee has not delivered the transcript of this attempt."
	if v.thirdParty {
		missing = "Its referee kept no transcript of this attempt."
	}
	doc, err := b.Transcript(ctx, protocol.Attempt{MatchID: id, Number: v.Attempt})
	switch {
	case errors.Is(err, ErrNotRecorded): // the result was annulled a moment ago
		return &matchCourse{Missing: "The match is played again."}
	case errors.Is(err, fs.ErrNotExist):
		return &matchCourse{Missing: missing}
	case err != nil:
		return &matchCourse{Missing: "The transcript of this attempt cannot be read."}
	}
	course := courseOf(record.ConversationOf(doc), doc)
	if len(course.Lines) == 0 { // of a file that the manager wrote
		course.Missing = missing
	}
	if v.Counts {
		course.Outcome = ""
	}
	return course
}

// courseOf makes the course of a conversation.
func courseOf(c *record.Conversation, doc *store.Match) *matchCourse {
	course := &matchCourse{Omitted: c.Omitted, Draw: matchDrawOf(c)}
	if c.Result == nil {
		course.Outcome = "This attempt was given up and has no result"
	} else {
		course.Outcome = "This attempt: " + matchText(c.Result.Reason)
	}
	for i := range c.Lines {
		course.Lines = append(course.Lines, matchLineOf(c, &c.Lines[i]))
	}
	for _, p := range []string{c.PlayerA.PlayerID, c.PlayerB.PlayerID} {
		if _, ok := doc.Signatures.Get(p); ok {
			course.Signed = append(course.Signed, matchText(p))
		}
	}
	course.Moves = movesOf(c)
	return course
}

// movesOf lists the legal moves in their order; nil for a game of one turn.
func movesOf(c *record.Conversation) (moves []matchMove) {
	made := map[string]int{}
	several := false
	for i := range c.Lines {
		u := &c.Lines[i]
		raw, _ := u.Message.(jsontext.Value)
		if u.MessageType != protocol.TypeGameMoveResponse || u.Error != nil || u.Void != "" || u.To != c.RefereeID {
			continue
		}
		choice := protocol.ParseObject(raw).Object("move_data").Text("choice")
		made[u.From]++
		several = several || made[u.From] > 1
		moves = append(moves, matchMove{len(moves) + 1, matchText(u.From), matchText(choice)})
	}
	if !several {
		return nil
	}
	return moves
}

// matchLineOf makes a line of the page.
func matchLineOf(c *record.Conversation, u *record.Line) matchLine {
	line := matchLine{
		At: clockOf(u.At), From: matchText(u.From), To: matchText(u.To), Lanes: laneOf(c, u.From) + "-" + laneOf(c, u.To),
		Says: matchText(u.Says), Trouble: u.Trouble, Raw: rawOf(u.Message),
	}
	if u.Waited != nil {
		line.Waited = fmt.Sprintf("%+.3f s", *u.Waited)
	}
	if u.Tries > 1 {
		line.Try = fmt.Sprintf("try %d of %d", u.Try, u.Tries)
	}
	if u.Void != "" {
		line.Void = "This try does not count: " + matchText(u.Void) + "."
	}
	if e := u.Error; e != nil {
		line.Error = matchText(strings.TrimSpace(e.ErrorCode + " " + e.ErrorName + ": " + e.Detail))
		if u.Void == "" {
			line.Words = record.ErrorInWords(e.ErrorCode)
		}
	}
	if u.Answer != "" {
		line.Answer = matchText(u.Answer)
	}
	line.TroubleTitle = troubleTitle(u.Trouble)
	return line
}

// troubleTitle names a kind of trouble for people.
func troubleTitle(kind string) string {
	switch kind {
	case record.TroubleVoid:
		return "does not count"
	case record.TroubleNoAnswer:
		return "no answer in time"
	case record.TroubleUnreachable:
		return "not reachable"
	case record.TroubleWait:
		return "asks to wait"
	case record.TroubleWrong:
		return "wrong answer"
	}
	return ""
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

// clockOf is the time of day of a timestamp.
func clockOf(at string) string {
	_, clock, ok := strings.Cut(at, "T")
	if !ok {
		return matchText(at)
	}
	return matchText(strings.TrimSuffix(clock, "Z"))
}

// longestRaw is the number of bytes of a message that the page shows.
const longestRaw = 6000

// rawOf is a message as indented JSON, without tokens and addresses; "" for none.
func rawOf(message any) string {
	if message == nil {
		return ""
	}
	raw, ok := message.(jsontext.Value)
	if !ok {
		raw, _ = json.Marshal(message) // none: it came from JSON
	}
	raw = jsontext.Value(string(raw))
	if raw.Indent(jsontext.WithIndent("  ")) != nil {
		return ""
	}
	return protocol.Clip(public(string(protocol.EscapeJSON(raw))), longestRaw)
}
