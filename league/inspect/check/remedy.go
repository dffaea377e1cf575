package check

import (
	"cmp"
	"slices"
	"sync"

	"evenodd/league/protocol"
)

type remedy struct {
	method string
	code   protocol.Code
	id     string
}

// remedies name the requirement that an agent breaks by a failure in a match: the first row
// that fits. An empty method or code fits all.
var remedies = []remedy{
	{"", unreadableAnswer, "P-RPC-15"},
	{protocol.Invite.Name, refusal, "P-INV-04"},
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

// The failures without a code of their own in the catalogue.
const (
	refusal          protocol.Code = "refusal"
	unreadableAnswer protocol.Code = "unreadable"
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
	if unreadable && code == protocol.ErrConnection {
		code = unreadableAnswer
	}
	code = cmp.Or(code, refusal)
	i := slices.IndexFunc(remedies, func(r remedy) bool {
		return (r.method == "" || r.method == method) && (r.code == "" || r.code == code)
	})
	return requirements()[remedies[i].id] // the last row fits all
}
