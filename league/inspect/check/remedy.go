package check

import (
	"slices"
	"sync"

	"evenodd/league/protocol"
)

// remedies name the requirement that an agent breaks by a failure in a match: the first row
// that fits. An empty method or code fits all.
var remedies = []struct {
	method string
	code   protocol.Code
	id     string
}{
	{"", protocol.ErrConnection, "P-HTTP-01"},
	{"", protocol.ErrRateLimited, "P-LOAD-01"},
	{"", protocol.ErrMessageTooLarge, "P-HTTP-08"},
	{"", protocol.ErrInvalidTimestamp, "P-ENV-04"},
	{protocol.Invite.Name, protocol.ErrTimeout, "P-INV-06"},
	{protocol.Invite.Name, protocol.ErrMatchIDMismatch, "P-INV-02"},
	{protocol.Invite.Name, "", "P-INV-01"},
	{protocol.NotifyMatchResult.Name, "", "P-OVR-01"},
	{protocol.NotifyGameError.Name, "", "P-ERR-01"},
	{protocol.StartMatch.Name, "", "R-HTTP-01"},
	{protocol.ReportMatchResult.Name, protocol.ErrDuplicateReport, "R-REP-04"},
	{protocol.ReportMatchResult.Name, protocol.ErrTimeout, "R-REP-01"},
	{protocol.ReportMatchResult.Name, "", "R-REP-10"},
	{"", protocol.ErrTimeout, "P-CHO-04"},
	{"", protocol.ErrMatchIDMismatch, "P-CHO-02"},
	{"", protocol.ErrInvalidParityChoice, "P-CHO-03"},
	{"", protocol.ErrIllegalMove, "P-CHO-03"},
	{"", "", "P-CHO-01"},
}

// The requirements that a player breaks by the refusal of an invitation, and by an answer that is
// no valid JSON.
const (
	refusal     = "P-INV-04"
	validAnswer = "P-RPC-15"
)

var requirements = sync.OnceValue(func() map[string]Requirement {
	all := map[string]Requirement{}
	for _, r := range slices.Concat(Catalogue(Player), Catalogue(Referee)) {
		all[r.ID] = r
	}
	return all
})

// Remedy returns the requirement that an agent breaks by a failure with a method, whose Hint
// tells how to mend it. No code is the refusal of an invitation. Unreadable tells that there was
// an answer, which could not be read: an answer and none have the same code.
func Remedy(method string, code protocol.Code, unreadable bool) Requirement {
	switch {
	case method == protocol.Invite.Name && code == "":
		return requirements()[refusal]
	case unreadable && code == protocol.ErrConnection:
		return requirements()[validAnswer]
	}
	for _, r := range remedies {
		if (r.method == "" || r.method == method) && (r.code == "" || r.code == code) {
			return requirements()[r.id]
		}
	}
	return Requirement{} // the last row fits all
}
