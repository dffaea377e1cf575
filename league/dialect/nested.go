package dialect

import (
	"bytes"
	"cmp"
	"iter"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// nested are the messages that an edition of the exercise prints with other members, and one
// such member of each: game_invitation holds members that the specification has at the top,
// parity_context is its context, and all have league_id and round_id.
var nested = map[string]string{
	protocol.TypeGameInvitation:   "game_invitation",
	protocol.TypeChooseParityCall: "parity_context",
	protocol.TypeGameOver:         "league_id",
}

// nestedInvitation are the members that game_invitation holds.
var nestedInvitation = []string{"game_type", "match_id", "role_in_match", "opponent_id"}

// nest returns a message with the members of that edition beside its own.
func nest(message jsontext.Value, league string) jsontext.Value {
	m := objectOf(message)
	switch kind := m.text("message_type"); kind {
	case protocol.TypeGameInvitation:
		m.set(nested[kind], only(objectOf(message), nestedInvitation...).appendTo(nil))
	case protocol.TypeChooseParityCall:
		context := m.object("context")
		context.fill("valid_options", jsontext.Value(`["even","odd"]`))
		m.set(nested[kind], context.appendTo(nil))
	}
	m.fill("league_id", quoted(cmp.Or(league, usualLeague)))
	m.fill("round_id", encoded(roundOf(m.text("match_id"))))
	return m.appendTo(nil)
}

// missing matches the errors of validators that miss a member.
var missing = regexp.MustCompile(`(?i)required|missing`)

// asksNested tells whether a rejection misses the member of nested.
func (q *question) asksNested(r *reply) bool {
	name := nested[q.request]
	return r.verdict == rejected && name != "" && bytes.Contains(r.body, []byte(name)) && missing.Match(r.body)
}

// nestedNext yields forms in their order. If the answer to one asks for nested members, the
// same form with them comes next.
func (c *call) nestedNext(forms iter.Seq2[int, form]) iter.Seq2[int, form] {
	if nested[c.q.request] == "" {
		return forms
	}
	return func(yield func(int, form) bool) {
		var rest []placed
		for place, f := range forms {
			rest = append(rest, placed{place, f})
		}
		next := 0
		for len(rest) > 0 {
			p := rest[next]
			rest, next, c.nested = slices.Delete(rest, next, next+1), 0, false
			if !yield(p.place, p.form) {
				return
			}
			if p.form.nested = true; c.nested {
				next = max(0, slices.IndexFunc(rest, func(other placed) bool { return other.form == p.form }))
			}
		}
	}
}
