package conformance

import (
	"bytes"
	"slices"

	"evenodd/league/protocol"
)

// A wire is the part of a table for HTTP, JSON-RPC, the form of calls and the envelope.
// Players have some of its rules, some with other numbers.
type wire struct{ letter, sender string }

func wireRules(letter, sender string) []rule {
	w := wire{letter, sender}
	rules := slices.Concat(w.httpRules(), w.answerRules(), w.requestRules(), w.envelopeRules())
	return slices.DeleteFunc(rules, func(r rule) bool { return r.ID == "" })
}

// id returns the id of a rule in the table of the role; "" if the role has no such rule.
func (w wire) id(id string) string {
	ofPlayers := map[string]string{
		"HTTP-01": "HTTP-01", "HTTP-02": "HTTP-02", "HTTP-03": "HTTP-03", "HTTP-04": "HTTP-04", "HTTP-05": "HTTP-08",
		"FRM-01": "FRM-01", "FRM-02": "FRM-02", "FRM-03": "FRM-03",
		"RPC-02": "RPC-03", "RPC-03": "RPC-05", "RPC-04": "RPC-06", "RPC-05": "RPC-07", "RPC-06": "RPC-09", "RPC-07": "RPC-10",
		"RPC-08": "RPC-11", "RPC-09": "RPC-12", "RPC-10": "RPC-13", "RPC-11": "RPC-14", "RPC-12": "RPC-16", "RPC-13": "STA-01",
	}
	switch {
	case w.letter != "P":
		return w.letter + "-" + id
	case ofPlayers[id] == "":
		return ""
	}
	return "P-" + ofPlayers[id]
}

// always names the scenarios of managers and referees that show a rule about all answers.
func (w wire) always() clause {
	if w.letter == "P" {
		return in()
	}
	return in("wire", "misuse")
}

// anywhere is always for a rule that a broken request can show.
func (w wire) anywhere() clause {
	if w.letter == "P" {
		return in(everywhere)
	}
	return w.always()
}

func (w wire) httpRules() []rule {
	return []rule{
		must(w.id("HTTP-01"), "It answers POST at its URL.", "003 §6.3.1",
			"Start the agent first, and check the host, port and path at which it listens.", on("first call", found), w.always()),
		should(w.id("HTTP-02"), "None of its answers has an HTTP status of 500 or more.", "003 §6.3.3",
			"Catch the exceptions of your handlers, and answer with a JSON-RPC error object and HTTP status 200.", on("answer", noServerError), w.anywhere()),
		should(w.id("HTTP-03"), "Its JSON-RPC answers have the HTTP status 200, errors too.", "003 §6.3.1",
			"Put the error into the JSON-RPC error object.", on("response", statusOK), in("wire", "misuse", "broken")),
		should(w.id("HTTP-04"), "Its answers have the Content-Type application/json.", "003 §6.3.1",
			"Set the header Content-Type: application/json on every answer that has a body.", on("response", typeJSON), in("wire", "misuse")),
		must(w.id("HTTP-05"), "No answer is larger than 64 KB.", "002 §14.1",
			"Answer with the members of the message only; a message has at most 10 KB.", on("answer", boundedAnswer), w.always()),
		should(w.id("HTTP-06"), "It rejects a request far larger than 10 KB, and continues.", "002 §14.1",
			"Limit the size of requests, and answer larger ones with HTTP 413 or the error E023.", on("misuse/large", found)),
		should(w.id("FRM-01"), "It understands calls in the form of the specification.", "003 §5.4.1",
			"Serve POST /mcp with JSON-RPC: method is the name in the specification, and params is the message.", on("understood call", found)),
		should(w.id("FRM-02"), "Its replies are in the form of the specification.", "004 §1.1",
			`Put the message itself into "result", with the names of the specification.`, on("form of reply", found)),
		should(w.id("FRM-03"), "Its own calls are in the form of the specification.", "003 §1.4",
			`Send {"jsonrpc": "2.0", "method": …, "params": the message, "id": 1} with the method of the specification.`, on("form of call", found), in("registration", "play")),
		must(w.id("MSG-01"), "The agents of a league accept its messages.", "PROTOCOL, strictness",
			"Add or correct the fields in the detail: our agents reject a message without them.", on("message", acceptable), in(everyMatch), on("registration/envelope", found)),
		should(w.id("MSG-02"), "The agents of a league accept its notices.", "PROTOCOL, strictness",
			"Add or correct the fields in the detail: our agents reject a notice without them.", on("notice", acceptable), in(everyMatch)),
	}
}

func (w wire) answerRules() []rule {
	unusual, unusualIDs := on("unusual id", found), "It returns ids that are zero, negative, large or null unchanged."
	if w.letter == "P" { // P-RPC-08 judges unusual ids
		unusual, unusualIDs = in(), "It returns ids of more than 53 bits, with a fraction, or null unchanged."
	}
	return []rule{
		should(w.id("RPC-01"), `Its answers are JSON with "jsonrpc": "2.0" and a result that is an object, or an error.`, "004 §1.1",
			`Answer {"jsonrpc": "2.0", "result": {…}, "id": the id of the request}.`, on("form of response", every(validJSON, versionTwo, noResult, notObject)), w.always()),
		should(w.id("RPC-02"), "No answer has both a result and an error, even a null one.", "JSON-RPC 2.0 §5",
			`Omit "error" if there is none, and "result" if there is an error; some callers only test whether it exists.`, on("response", resultAndError), in("wire")),
		should(w.id("RPC-03"), "Its errors are objects with an integer code and a message.", "004 §1.1",
			`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …}.`, on("response", errorObject), in("wire", "repeat", "broken")),
		should(w.id("RPC-04"), "It returns an id that is an integer unchanged.", "004 §1.1",
			"Copy the id of the request, a number as a number.", on("integer id", found), in("wire")),
		should(w.id("RPC-05"), "It returns an id that is a string unchanged.", "004 §1.1",
			`Take ids of any type; the specification itself uses "req-007".`, on("string id", found), in("wire")),
		should(w.id("RPC-06"), unusualIDs, "JSON-RPC 2.0 §4",
			"Keep the id as raw JSON, and do not test whether it is true.", on("extreme id", found), unusual, in("wire")),
	}
}

func (w wire) requestRules() []rule {
	return []rule{
		should(w.id("RPC-07"), "It answers a notification (a call without an id) with no body.", "JSON-RPC 2.0 §4.1",
			"If the request has no member id, process it and answer HTTP 204 without a body.", on("wire/notification", func(f *fact) string {
				return firstOf(f.reply.Error, when(len(bytes.TrimSpace(f.reply.body)) > 0, "the answer has a body"))
			})),
		should(w.id("RPC-08"), "It answers an unknown method with the error -32601.", "JSON-RPC 2.0 §5.1",
			`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`,
			on("wire/unknown method", failsWith(codeUnknownMethod))),
		should(w.id("RPC-09"), "It answers a body that is not JSON with the error -32700.", "JSON-RPC 2.0 §5.1",
			"Parse the body yourself, catch the exception, and answer with that error object and the id null.", on("misuse/no JSON", func(f *fact) string {
				withID := w.letter == "P" && f.reply.object["id"].Kind() != 'n'
				return firstOf(errorProblem(f.reply, codeParse), when(withID, "the id of the error is %s, not null", valueOf(f.reply.object, "id")))
			})),
		should(w.id("RPC-10"), "It answers JSON that is not a request with the error -32600.", "JSON-RPC 2.0 §5.1",
			`Check first that "jsonrpc" is "2.0" and that the method is a string.`, on("misuse/no request", failsWith(codeInvalidRequest))),
		should(w.id("RPC-11"), "It answers a batch with an array of answers, and an empty batch with the error -32600.", "JSON-RPC 2.0 §6",
			"If the body is an array, answer each call that has an id, and put the answers into one array.", on("wire/batch", batchProblem),
			on("wire/empty batch", failsWith(codeInvalidRequest))),
		should(w.id("RPC-12"), "No answer shows a stack trace.", "002 §12.5",
			"Write the exception to your own log, and a short message into the error.", on("answer", noTrace), w.anywhere()),
		must(w.id("RPC-13"), "It continues to answer after broken requests.", "003 §6.3.3",
			"Catch every exception of a call in one place, and answer it; no input may end the process.", on("misuse/survival", found)),
		should(w.id("RPC-14"), "It answers ping, without params and without a token.", "003 §5.12.2",
			"Serve the method ping: people and managers call it to test whether the agent runs.", on("wire/ping", hasResult)),
	}
}

func (w wire) envelopeRules() []rule {
	return []rule{
		should(w.id("ENV-01"), "Its messages have the protocol league.v2 and the right message_type.", "003 §2.4.1",
			`Set "protocol": "league.v2" and the message_type of the message, also in answers.`, on("envelope", every(has("protocol", protocol.Name), rightType))),
		should(w.id("ENV-02"), "The sender of its messages is "+w.sender+".", "003 §2.4.4", "Set sender to "+w.sender+".", on("envelope", hasSender)),
		should(w.id("ENV-03"), "The timestamp of its messages is UTC, with Z or +00:00.", "003 §2.4.2",
			"Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc).", on("envelope", timestamps("timestamp"))),
		should(w.id("ENV-04"), "The timestamp of its messages is the present time.", "003 §2.4.1",
			"Take the time when the message is made, and synchronize the clock of the computer.", on("envelope", clockIsRight)),
		should(w.id("ENV-05"), "Its messages have a conversation_id.", "003 §2.4.1", "Add conversation_id to every message, also to answers.",
			on("envelope", filled("conversation_id"))),
		should(w.id("ENV-06"), "Its answers have the conversation_id of the request.", "003 §2.4.1",
			"Copy conversation_id from the request into the answer.", on("envelope", sameConversation)),
	}
}
