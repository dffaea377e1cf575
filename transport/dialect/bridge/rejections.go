package bridge

import (
	"slices"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

const (
	none    = -1 // the rank of no rejection: the zero value
	telling = 5  // the lowest rank of a rejection whose form the agent may have understood
)

// rank tells how informative a rejection is: an error of JSON-RPC that has a text of its
// own is above other errors with a text, an unknown method and a result that does
// not answer the call, an HTTP status with a JSON body, an HTTP status alone, an
// unreadable response, and a form that was not sent, in this order. A failure in the
// likeliest form (HTTP 5xx, or a response that is no answer) is above an unknown method:
// the agent does not know the methods of other forms. So is HTTP 5xx in any form of a start,
// because a referee may fail in the match that it has started.
func (r *reply) rank() int {
	const (
		unsent = none + 1 + iota
		unreadable
		status
		statusWithJSON
		unknown
	)
	f, succeeded := r.Failure, r.Status/100 == 2
	switch {
	case r.Verdict == dialect.Understood:
		return none
	case r.unsent:
		return unsent
	case f.Present && f.Code != 0 && f.Code != dialect.MethodNotFound && !f.UnknownMethod() && !slices.Contains(standardTexts, f.Text):
		return telling + 2
	case f.Present && f.Code == 0 && f.Text != "" && !f.UnknownMethod():
		return telling + 1
	case r.first && !f.Present && (succeeded || r.Status >= httpInternalError):
		return telling
	case f.Present, r.Message != nil:
		return unknown
	case !succeeded && protocol.ParseObject(r.Body) != nil:
		return statusWithJSON
	case !succeeded:
		return status
	}
	return unreadable
}

// standardTexts are the texts of JSON-RPC's own errors, which say no more than the code.
var standardTexts = []string{"", "Parse error", "Invalid Request", "Method not found", "Invalid params", "Internal error", "Server error"}

// maxRemembered is the largest body of a rejection that is remembered, in bytes.
const maxRemembered = 512

// small is a rejection as it is remembered, after it was logged. A large one is remembered
// only if its HTTP status says enough.
func (r reply) small() reply {
	r.arrived, r.excerpt = nil, ""
	switch {
	case len(r.Body) <= maxRemembered:
	case r.Status/100 == 2 || r.Failure.Present:
		return reply{}
	default:
		r.Body = nil
	}
	r.Message = slices.Clip(r.Message[:min(len(r.Message), 1)])
	return r
}
