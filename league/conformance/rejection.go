package conformance

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
)

// notRefused returns why an answer is no refusal.
func notRefused(r *reply) string {
	if r.Error != "" {
		return r.Error
	}
	if r.fault != nil {
		return ""
	}
	status, _ := r.result.text("status")
	kind, _ := r.result.text("message_type")
	switch {
	case r.result == nil:
		return r.trouble()
	case strings.EqualFold(status, protocol.StatusRejected), kind == protocol.TypeLeagueError, r.result["success"].Kind() == 'f', objectOf(r.result["error"]) != nil:
		return ""
	case status != "":
		return "answered with status " + quoted(status)
	}
	return "answered as if nothing were wrong"
}

// refusedWith returns why an answer is no refusal with this code of the catalogue, or one
// of these numbers.
func refusedWith(r *reply, code protocol.Code, numbers ...int) string {
	if problem := notRefused(r); problem != "" {
		return problem
	}
	var found []string
	if r.fault != nil {
		if slices.Contains(numbers, r.fault.code) || r.fault.catalogued() == string(code) {
			return ""
		}
		found = append(found, fmt.Sprintf("the error %d", r.fault.code), r.fault.catalogued())
	}
	for _, m := range []members{r.result, objectOf(r.result["error"])} {
		got, _ := m.text("error_code")
		if got == string(code) {
			return ""
		}
		if got != "" {
			found = append(found, got)
		}
	}
	return fmt.Sprintf("refused, but without %s: %s", code, strings.TrimSpace(strings.Join(found, " ")))
}

// refused judges that a request was refused.
func refused(f *fact) string { return notRefused(f.reply) }

// coded judges that a request was refused with the code of the fact.
func coded(f *fact) string {
	if f.code == "" {
		return undecided
	}
	return refusedWith(f.reply, f.code, f.numbers...)
}
