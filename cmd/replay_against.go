package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/transport"
	"evenodd/transport/http"
)

// A comparison is the result of replaying a match against a player.
type comparison struct {
	MatchID     string            `json:"match_id"`
	Attempt     int               `json:"attempt"`
	PlayerID    string            `json:"player_id"` // whose requests were sent
	Endpoint    string            `json:"endpoint"`
	Requests    []repeatedRequest `json:"requests"`
	Differences int               `json:"differences"` // requests that were answered differently
	Hint        string            `json:"hint,omitzero"`
}

// A repeatedRequest is a request that was sent again.
type repeatedRequest struct {
	Method      string   `json:"method"`
	MessageType string   `json:"message_type"`
	Try         int      `json:"try"`
	Then        string   `json:"then"` // the answer in the file
	Now         string   `json:"now"`
	Seconds     float64  `json:"seconds"`     // until the answer
	Limit       float64  `json:"limit_sec"`   // the time limit of the answer
	Differences []string `json:"differences"` // a sentence each
}

// An answer is the result of a request.
type answer struct {
	message jsontext.Value // nil for none
	fault   *protocol.Error
}

// replayAgainst sends the requests of a match again to a player.
func replayAgainst(ctx context.Context, s streams, o *replayOptions, doc *store.Match) error {
	id, err := o.player(doc)
	if err != nil {
		return err
	}
	r := &comparison{MatchID: doc.MatchID, Attempt: doc.Attempt, PlayerID: id, Endpoint: o.against, Requests: []repeatedRequest{}}
	// The referee accepted answers of third-party agents in their own forms.
	n, err := newNode(ctx, nodeOptions{maxReply: maxReply, ca: o.ca, log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer n.client.Close()
	for i := range doc.Transcript {
		e := &doc.Transcript[i]
		limit, asks := limitOf(e.Method)
		if e.PlayerID != id || e.Direction != store.Sent || !asks || len(e.Message) == 0 {
			continue
		}
		one := repeatedRequest{Method: e.Method, MessageType: e.MessageType, Try: e.Try, Limit: limit.Seconds()}
		begun := time.Now()
		now, err := sendAgain(ctx, n.client, o.against, e, limit)
		if err != nil {
			return err
		}
		one.Seconds = time.Since(begun).Seconds()
		then := recordedAnswer(doc, i)
		one.Then, one.Now = then.String(), now.String()
		one.Differences = differences(then, now)
		if len(one.Differences) > 0 {
			r.Differences++
		}
		r.Hint = hint(r.Hint, now.fault)
		r.Requests = append(r.Requests, one)
	}
	if len(r.Requests) == 0 {
		return fmt.Errorf("the file of %s holds no request to %s that could be sent again", doc.MatchID, id)
	}
	return show(s.out, o.format, r, r.print)
}

// player returns the id of the player whose requests are sent again.
func (o *replayOptions) player(doc *store.Match) (string, error) {
	a, b := doc.PlayerA.PlayerID, doc.PlayerB.PlayerID
	switch {
	case o.as != "" && o.as != a && o.as != b:
		return "", usage("--as %q: %s or %s play %s", o.as, a, b, doc.MatchID)
	case o.as != "":
		return o.as, nil
	case doc.Result != nil && doc.Result.WinnerPlayerID != nil && *doc.Result.WinnerPlayerID == a:
		return b, nil
	}
	return a, nil
}

// limitOf returns the time limit of a method's answer; false for a method that is
// not part of the match itself.
func limitOf(method string) (time.Duration, bool) {
	limits := map[string]time.Duration{
		protocol.Invite.Name: protocol.Invite.Timeout, protocol.ChooseParity.Name: protocol.ChooseParity.Timeout,
		protocol.MakeMove.Name: protocol.MakeMove.Timeout, protocol.NotifyMatchResult.Name: protocol.NotifyMatchResult.Timeout,
	}
	limit, asks := limits[method]
	return limit, asks
}

// sendAgain sends a request of a transcript again. It returns an error if no server
// listens at the endpoint or ctx has ended.
func sendAgain(ctx context.Context, client *http.Client, endpoint string, e *store.Exchange, limit time.Duration) (answer, error) {
	params, err := refreshed(e.Message, time.Now(), limit)
	if err != nil {
		return answer{}, fmt.Errorf("a message of the transcript cannot be sent again: %w", err)
	}
	decode := func(raw []byte) (any, error) {
		v := jsontext.Value(slices.Clone(raw))
		if !v.IsValid() {
			return nil, errors.New("the answer is not JSON")
		}
		return v, nil
	}
	got, _, err := client.Call(ctx, transport.Request{Endpoint: endpoint, Method: e.Method, Params: params, Decode: decode, Limit: limit})
	if err == nil {
		message, _ := got.(jsontext.Value)
		return answer{message: message}, nil
	}
	if protocol.Unreachable(err) {
		return answer{}, err
	}
	if ctx.Err() != nil {
		return answer{}, interrupted("Nothing was changed; the player may believe that it is in a match.")
	}
	return answer{fault: protocol.AsError(err)}, nil
}

// refreshed returns a message with new times and without a token.
func refreshed(message jsontext.Value, now time.Time, limit time.Duration) (protocol.Object, error) {
	var members protocol.Object
	if err := json.Unmarshal(message, &members); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"timestamp": protocol.FormatTimestamp(now), "deadline": protocol.FormatTimestamp(now.Add(limit))} {
		if members.Has(name) {
			members.Set(name, protocol.Quote(value))
		}
	}
	members.Set("auth_token", protocol.Quote(protocol.NoToken))
	return members, nil
}

// recordedAnswer returns the answer that the file has for a request.
func recordedAnswer(doc *store.Match, request int) answer {
	asked := &doc.Transcript[request]
	for i := request + 1; i < len(doc.Transcript); i++ {
		e := &doc.Transcript[i]
		if e.PlayerID != asked.PlayerID || e.Method != asked.Method || e.Try != asked.Try {
			continue
		}
		if e.Direction != store.Received {
			break
		}
		a := answer{message: e.Message}
		if e.Error != nil && len(e.Message) == 0 {
			a.fault = protocol.Fault(protocol.Code(e.Error.ErrorCode), "%s", e.Error.Detail)
		}
		return a
	}
	return answer{}
}

// String formats the answer.
func (a answer) String() string {
	switch {
	case a.message != nil:
		return record.MessageInWords(a.message)
	case a.fault == nil:
		return "nothing"
	case a.fault.Remote:
		return "an error: " + a.fault.Error()
	case a.fault.Code == protocol.ErrTimeout:
		return "no answer in time"
	}
	return "no answer: " + a.fault.Error()
}

// differences lists how two answers differ, except in members that may differ.
func differences(then, now answer) []string {
	found := []string{}
	if then.message == nil || now.message == nil {
		if then.String() != now.String() && (then.message != nil || now.message != nil || !alike(then.fault, now.fault)) {
			found = append(found, fmt.Sprintf("then it was %s, now it is %s", then, now))
		}
		return found
	}
	a, b := protocol.ParseObject(then.message), protocol.ParseObject(now.message)
	if a == nil || b == nil {
		if string(then.message) != string(now.message) {
			found = append(found, "the answer differs")
		}
		return found
	}
	for _, m := range a {
		switch is := b.Raw(m.Name); {
		case mayDiffer(m.Name):
		case is == nil:
			found = append(found, fmt.Sprintf("%s is missing; then it was %s", m.Name, m.Value))
		case !sameJSON(m.Value, is):
			found = append(found, fmt.Sprintf("%s is %s; then it was %s", m.Name, is, m.Value))
		}
	}
	for _, m := range b {
		if !a.Has(m.Name) && !mayDiffer(m.Name) {
			found = append(found, fmt.Sprintf("%s is new: %s", m.Name, m.Value))
		}
	}
	return found
}

// alike tells whether two failures are of the same kind.
func alike(a, b *protocol.Error) bool {
	return a != nil && b != nil && a.Code == b.Code
}

// mayDiffer tells whether a member may differ from one call to the next.
func mayDiffer(member string) bool {
	return slices.Contains([]string{"timestamp", "arrival_timestamp", "entropy", "entropy_commitment", "auth_token", "sender"}, member)
}

// sameJSON compares two JSON values by their canonical form.
func sameJSON(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
}

// hint explains the refusals that any caller but the referee gets.
func hint(before string, fault *protocol.Error) string {
	if before != "" || fault == nil || !fault.Remote {
		return before
	}
	switch fault.Code {
	case protocol.ErrTokenMissing, protocol.ErrTokenInvalid:
		return "The player answers only the referee of its match, which has an access token: " +
			"replay against a player that is in no league, or in one whose manager does not prove itself."
	case protocol.ErrPlayerNotRegistered:
		return "The player is in no league yet, and plays no match before it is registered."
	case protocol.ErrMatchNotFound, protocol.ErrInvalidMatchState:
		return "The player was not invited, or has finished this match and does not play it again: restart it."
	}
	return before
}

// print writes the comparison as text.
func (r *comparison) print(w io.Writer) error {
	var text page
	text.line("%s, attempt %d: the requests to %s, sent again to %s", r.MatchID, r.Attempt, r.PlayerID, r.Endpoint)
	for i := range r.Requests {
		q := &r.Requests[i]
		text.line("%s [try %d]: %s, after %.3f s of %.0f s", q.MessageType, q.Try, q.Now, q.Seconds, q.Limit)
		for _, d := range q.Differences {
			text.line("  differs: %s", d)
		}
	}
	if r.Hint != "" {
		text.line("%s", r.Hint)
	}
	differently := "all answered as then"
	if r.Differences > 0 {
		differently = fmt.Sprintf("%d answered differently", r.Differences)
	}
	text.line("%d requests, %s", len(r.Requests), differently)
	return text.print(w)
}
