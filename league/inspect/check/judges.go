package check

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// A test returns why a fact does not satisfy a requirement; "" if it does, and undecided if
// the fact does not show it. The tests below read members of the message of the fact.
type test func(*fact) string

// undecided is returned by a test if the fact does not show whether the requirement holds.
const undecided = "undecided"

// skipped is undecided, with the reason why the requirement is skipped.
func skipped(why string) string { return undecided + why }

// every returns the first problem that one of the tests finds.
func every(tests ...test) test {
	return func(f *fact) string {
		for _, t := range tests {
			if problem := t(f); problem != "" {
				return problem
			}
		}
		return ""
	}
}

// ruled wants the members of a message, by the rules of the protocol. It looks at those alone that want
// chooses.
func ruled(message func(*fact) members, want func(field string) bool) test {
	return func(f *fact) string {
		return fieldsProblem(protocol.Examine(f.kind(), encoded(message(f))), want)
	}
}

// right is ruled for the members with these names, as the agent wrote them.
func right(names ...string) test {
	return ruled((*fact).sent, func(field string) bool { return slices.Contains(names, field) })
}

// exist wants members, of any value, by their paths, as the agent wrote them.
func exist(paths ...string) test {
	return func(f *fact) string {
		return cmp.Or(lists.Map(paths, func(path string) string { return isThere(f.sent(), path) })...)
	}
}

// isThere wants a member, by its path.
func isThere(m members, path string) string {
	name, rest, nested := strings.Cut(path, ".")
	if nested && m[name] != nil {
		return isThere(objectOf(m[name]), rest)
	}
	return when(m[name] == nil, "%s is missing", path)
}

// assuming tests facts that satisfy another test; others show nothing.
func assuming(condition, t test) test {
	return func(f *fact) string {
		if condition(f) != "" {
			return undecided
		}
		return t(f)
	}
}

// understood tests replies that have a result.
func understood(t test) test { return assuming(hasResult, t) }

// found returns the problem that the scenario observed.
func found(f *fact) string { return f.problem }

func hasResult(f *fact) string  { return f.reply.trouble() }
func isAnswered(f *fact) string { return f.reply.Error }

// hasSender returns what is wrong with a sender. A wanted sender that ends with a colon is
// followed by any id.
func hasSender(f *fact) string {
	if !strings.HasSuffix(f.sender, ":") {
		return f.sent().has("sender", f.sender)
	}
	got := f.sent().text("sender")
	return cmp.Or(f.sent().filled("sender"), when(!strings.HasPrefix(got, f.sender) || got == f.sender,
		"sender is %s, not %s and an id", quoted(got), f.sender))
}

// sameConversation wants the conversation_id of the message that a reply answers.
func sameConversation(f *fact) string {
	if f.call != nil {
		return f.sent().filled("conversation_id")
	}
	return f.sent().has("conversation_id", f.reply.asked.text("conversation_id"))
}

// clockIsRight returns that the timestamp of a message is far from the time at which the
// message came.
func clockIsRight(f *fact) string {
	text := f.sent().text("timestamp")
	at, _ := protocol.ParseTimestamp(text)
	came := f.evidence()[0].at
	apart := came.Sub(at).Round(time.Second)
	return when(apart.Abs() > time.Minute, "timestamp %s is %s away from now, %s", text, apart.Abs(),
		protocol.FormatTimestamp(came))
}

// notRefused returns why an answer is no refusal.
func notRefused(r *reply) string {
	status := r.result.text("status")
	kind := r.result.text("message_type")
	switch {
	case r.Error != "":
		return r.Error
	case r.failure != nil:
		return ""
	case r.result == nil:
		return r.trouble()
	case strings.EqualFold(status, protocol.StatusRejected), kind == protocol.TypeLeagueError,
		r.result["success"].Kind() == 'f', objectOf(r.result["error"]) != nil:
		return ""
	case status != "":
		return "answered with status " + quoted(status)
	}
	return "answered as if nothing were wrong"
}

// refusedWith returns why an answer is no refusal with this code of the catalogue, by its name or by its
// number in JSON-RPC.
func refusedWith(r *reply, code protocol.Code) string {
	if problem := notRefused(r); problem != "" {
		return problem
	}
	codes, number := []string{r.result.text("error_code"), objectOf(r.result["error"]).text("error_code")}, ""
	if r.failure != nil {
		if r.failure.Code == methodOf(r.method).RPCCode(code) {
			return ""
		}
		codes, number = append(codes, r.failure.ErrorCode), fmt.Sprintf("the error %d ", r.failure.Code)
	}
	return when(!slices.Contains(codes, string(code)), "refused, but without %s: %s", code,
		number+strings.TrimSpace(strings.Join(codes, " ")))
}

// refused judges that a request was refused.
func refused(f *fact) string { return notRefused(f.reply) }

// coded judges that a request was refused with the code of the fact.
func coded(f *fact) string {
	if f.code == "" {
		return undecided
	}
	return refusedWith(f.reply, f.code)
}

const maxReply = 64 << 10 // bytes of an answer that a referee reads

func noServerError(f *fact) string {
	return when(f.reply.Status >= 500, "HTTP status %d", f.reply.Status)
}

func statusOK(f *fact) string {
	return when(f.reply.Status != http.StatusOK, "HTTP status %d", f.reply.Status)
}

func typeJSON(f *fact) string {
	got := f.reply.header.Get("Content-Type")
	kind, _, _ := strings.Cut(got, ";")
	return when(!strings.EqualFold(strings.TrimSpace(kind), "application/json"), "Content-Type is %q", got)
}

func boundedAnswer(f *fact) string {
	return when(len(f.reply.response) > maxReply, "the answer has more than %d bytes", maxReply)
}

func noTrace(f *fact) string {
	for _, mark := range traces {
		if bytes.Contains(f.reply.response, []byte(mark)) {
			return fmt.Sprintf("the answer has what looks like a stack trace: %q", strings.TrimSpace(mark))
		}
	}
	return ""
}

// isResponse returns why an answer is no JSON-RPC response.
func isResponse(f *fact) string {
	r := f.reply
	result, problem := r.object["result"], r.object["error"]
	e := objectOf(problem)
	_, coded := e.integer("code")
	failed := failureOf(r.object) != nil
	return cmp.Or(jsonProblem(r.response),
		when(r.object.text("jsonrpc") != "2.0", `jsonrpc is %s, not "2.0"`, valueOf(r.object, "jsonrpc")),
		when(result == nil && !failed, "the answer has neither result nor error"),
		when(result != nil && problem != nil, "the answer has both result and error; error is %s", jsonKind(problem)),
		when(result != nil && result.Kind() != '{', "the result is %s", jsonKind(result)),
		when(failed && e == nil, "error is %s", jsonKind(problem)),
		when(failed && !coded, "error.code is no integer"),
		when(failed && e["message"].Kind() != '"', "error.message is no string"))
}

func validJSON(f *fact) string { return jsonProblem(f.reply.response) }

// acknowledged wants the acknowledgement of a notice.
func acknowledged(f *fact) string {
	return cmp.Or(f.reply.trouble(), f.reply.result.has("status", protocol.StatusAcknowledged))
}
