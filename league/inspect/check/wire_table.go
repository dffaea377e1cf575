package check

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// wireRules are the rules about HTTP, JSON-RPC, the form of calls and the envelope. A letter is
// that of a role. Players have some of them under other numbers.
func wireRules(letter, sender string) []rule {
	id := func(numbers string) string { // that of players after a slash, if it is another one
		number, ofPlayers, other := strings.Cut(numbers, "/")
		if other && letter == "P" {
			number = ofPlayers
		}
		return letter + "-" + number
	}
	rules := []rule{
		must(id("HTTP-01"), "HTTP, 003 §6.3.1", "It answers POST at its URL.", on("first call"), in("wire", "misuse"),
			mend("Listen before you register, and check the host, port and path: localhost may be 127.0.0.1 or ::1.")),
		should(id("HTTP-02"), "HTTP, 003 §6.3.3", "None of its answers has an HTTP status of 500 or more.",
			on("answer", noServerError), in("wire", "misuse"),
			mend("Catch the exceptions of your handlers, and answer with a JSON-RPC error object and HTTP status 200.")),
		should(id("HTTP-03"), "HTTP, 003 §6.3.1", "Its JSON-RPC answers have the HTTP status 200, errors too.",
			on("response", statusOK), in("wire", "misuse", "broken"), mend("Put the error into the JSON-RPC error object.")),
		should(id("HTTP-04"), "HTTP, 003 §6.3.1", "Its answers have the Content-Type application/json.",
			on("response", typeJSON), in("wire", "misuse"),
			mend("Set the header Content-Type: application/json on every answer that has a body.")),
		must(id("HTTP-05/HTTP-08"), "HTTP, 002 §14.1", "No answer is larger than 64 KB.", on("answer", boundedAnswer),
			in("wire", "misuse"), mend("Answer with the members of the message only; a message has at most 10 KB.")),

		should(id("RPC-01"), "JSON-RPC, 004 §1.1",
			`Its answers are JSON with "jsonrpc": "2.0" and either a result, an object, or an error with code and message.`,
			on("form of response", isResponse), in("wire"),
			mend(`Answer {"jsonrpc": "2.0", "result": the message, an object, "id": the id of the request}; omit "error" then.`)),
		should(id("RPC-04/RPC-06"), "JSON-RPC, 004 §1.1", "It returns an id that is an integer unchanged.",
			on("integer id"), in("wire")),
		should(id("RPC-05/RPC-07"), "JSON-RPC, 004 §1.1",
			"It returns every id unchanged: strings, numbers that are zero, negative or large, and null.", on("other id"),
			in("wire"),
			mend(`Keep the id as raw JSON, and do not test whether it is true; the specification itself uses "req-007".`)),
		should(id("RPC-07/RPC-10"), "JSON-RPC, JSON-RPC 2.0 §4.1",
			"It answers a notification (a call without an id) with no body.", on("wire/notification", func(f *fact) string {
				return cmp.Or(f.reply.Error, when(len(bytes.TrimSpace(f.reply.response)) > 0, "the answer has a body"))
			}), mend("If the request has no member id, process it and answer HTTP 204 without a body.")),
		should(id("RPC-08/RPC-11"), "JSON-RPC, JSON-RPC 2.0 §5.1", "It answers an unknown method with the error -32601.",
			on("wire/unknown method", failsWith(codeUnknownMethod)),
			mend(`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`)),
		should(id("RPC-09/RPC-12"), "JSON-RPC, JSON-RPC 2.0 §5.1",
			"It answers a body that is not JSON with the error -32700.", on("misuse/no JSON", failsWith(codeParse)),
			mend("Parse the body yourself, catch the exception, and answer with that error object and the id null.")),
		should(id("RPC-10/RPC-13"), "JSON-RPC, JSON-RPC 2.0 §5.1",
			"It answers JSON that is not a request with the error -32600.",
			on("misuse/no request", failsWith(codeInvalidRequest)),
			mend(`Check first that "jsonrpc" is "2.0" and that the method is a string.`)),
		should(id("RPC-12/RPC-16"), "JSON-RPC, 002 §12.5", "No answer shows a stack trace.", on("answer", noTrace),
			in("wire", "misuse"), mend("Write the exception to your own log, and a short message into the error.")),
		must(id("RPC-13/STA-01"), "HTTP, 003 §6.3.3", "It continues to answer after broken requests.", on("misuse/survival"),
			mend("Catch every exception of a call in one place, and answer it; no input may end the process.")),
		should(id("RPC-14/"), "ping, 003 §5.12.2", "It answers ping, without params and without a token.",
			on("wire/ping", hasResult)),

		should(id("FRM-01"), "JSON-RPC, 003 §5.4.1", "It understands calls in the form of the specification.",
			on("understood call"),
			mend("Serve POST /mcp with JSON-RPC: method is the name in the specification, and params is the message.")),
		should(id("FRM-02"), "JSON-RPC, 004 §1.1", "Its replies are in the form of the specification.",
			on("form of reply"), mend(`Put the message itself into "result", with the names of the specification.`)),
		should(id("FRM-03"), "JSON-RPC, 003 §1.4", "Its own calls are in the form of the specification.",
			on("form of call"), in("registration", play),
			mend(`Send {"jsonrpc": "2.0", "method": …, "params": the message, "id": 1} with the method of the specification.`)),
		must(id("MSG-01/"), "Methods, 003 §4", "The agents of a league accept its messages.",
			on("message", accepted(func(string) bool { return true })), in(play, everyMatch),
			on("registration/request", outsideOf("referee_meta")),
			mend("Add or correct the fields in the detail: our agents reject a message without them.")),

		should(id("ENV-01"), "Envelope, 003 §2.4.1", "Its messages have the protocol league.v2 and the right message_type.",
			on("envelope", right("protocol", "message_type")),
			mend(`Set "protocol": "league.v2" and the message_type of the message, also in answers.`)),
		should(id("ENV-02/ENV-03"), "Envelope, 003 §2.4.4", "The sender of its messages is "+sender+".",
			on("envelope", hasSender), mend("Use the id of the registration.")),
		should(id("ENV-03/ENV-04"), "Envelope, 003 §2.4.2",
			"The timestamp of its messages is the present time in UTC, with Z or +00:00.",
			on("envelope", right("timestamp"), clockIsRight),
			mend(`Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").`)),
		should(id("ENV-06"), "Envelope, 003 §2.4.1",
			"Its messages have a conversation_id, and its answers that of the request, letter by letter.",
			on("envelope", sameConversation), in(play, "scripts"),
			mend("Copy conversation_id from the request into the answer: do not normalize, cut or transcode it.")),
	}
	return slices.DeleteFunc(rules, func(r rule) bool { return r.ID == "P-" }) // no player has it
}
