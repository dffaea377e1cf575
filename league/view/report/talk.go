package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// maxRaw is the length in bytes to which the HTML shows a message.
const maxRaw = 1500

// A Transcript is the conversation of an attempt at a match.
type Transcript struct {
	*record.Conversation

	Why []string `json:"why"` // the report has it
}

// conversation makes the conversation of an attempt without tokens and addresses.
func (s *secrecy) conversation(doc *store.Match) *record.Conversation {
	c := record.ConversationOf(doc)
	for i := range c.Lines {
		line := &c.Lines[i]
		line.Says, line.Answer, line.Void = s.hide(line.Says), s.hide(line.Answer), s.hide(line.Void)
		if line.Error != nil {
			shown := *line.Error
			shown.Detail = s.hide(shown.Detail)
			line.Error = &shown
		}
		if raw, ok := line.Message.(jsontext.Value); ok {
			line.Message = jsontext.Value(s.hide(string(raw)))
		}
	}
	return c
}

// A talkLine is a line of a conversation in HTML.
type talkLine struct {
	*record.Line

	Class string
	Clock string
	Delay string // since the line before; "" if it is not known
	Raw   string // the message; "" for most

	Problem string // of a failure, with its code
}

// Shown are the lines of the conversation. A question that was answered wrongly has its message the
// first time that it is asked, and each wrong answer has its own. Notices have none.
func (t *Transcript) Shown() []talkLine {
	type question struct{ player, method string }
	failed, list := map[question]bool{}, make([]talkLine, len(t.Lines))
	for i := range t.Lines {
		if line := &t.Lines[i]; line.Trouble != "" {
			failed[question{line.From, line.Method}] = true
		}
	}
	for i := range t.Lines {
		line := &t.Lines[i]
		one := talkLine{Line: line, Clock: strings.TrimSuffix(line.At[strings.IndexByte(line.At, 'T')+1:], "Z")}
		switch {
		case line.Trouble == record.TroubleVoid:
			one.Class = "void"
		case line.Trouble != "":
			one.Class = "trouble"
		case line.From == t.PlayerA.PlayerID || line.From == t.PlayerB.PlayerID:
			one.Class = "answers"
		}
		if line.Trouble != "" && line.Error != nil {
			one.Problem = line.Error.ErrorCode + " " + line.Error.Detail
		}
		if line.Waited != nil {
			one.Delay = fmt.Sprintf("%+.3f s", *line.Waited)
		}
		if asked := (question{line.To, line.Method}); !strings.HasPrefix(line.Method, noticePrefix) && (line.Trouble != "" || failed[asked]) {
			raw, _ := line.Message.(jsontext.Value)
			one.Raw = protocol.Clip(cmp.Or(string(raw), line.Answer), maxRaw)
			delete(failed, asked)
		}
		list[i] = one
	}
	return list
}
