package conformance

// wireRequirements are those of JSON-RPC over HTTP, of the form of calls and of the
// envelope, which managers and referees have in common.
func wireRequirements(letter, sender string) []Requirement {
	all := []Requirement{
		{"HTTP-01", Must, "It answers POST at its URL.", "003 §6.3.1", "Start the agent first, and check that it listens at this host, port and path."},
		{"HTTP-02", Should, "It answers nothing with an HTTP status of 500 or more.", "003 §6.3.3", "Catch the exceptions of your handlers, and answer with a JSON-RPC error object and HTTP status 200."},
		{"HTTP-03", Should, "Its JSON-RPC answers have the HTTP status 200, errors too.", "003 §6.3.1", "Put what went wrong into the JSON-RPC error object; HTTP only carries it."},
		{"HTTP-04", Should, "Its answers have the Content-Type application/json.", "003 §6.3.1", "Set the header Content-Type: application/json on every answer that has a body."},
		{"HTTP-05", Must, "No answer of it is larger than 64 KB.", "002 §14.1", "Answer with the members of the message only; a message has at most 10 KB."},
		{"HTTP-06", Should, "It refuses a request far larger than 10 KB, and goes on.", "002 §14.1", "Bound what you read of a request, and answer HTTP 413 or the error E023."},
		{"FRM-01", Should, "It understands calls in the form of the specification.", "003 §5.4.1", "Serve POST /mcp with JSON-RPC: method is the name of the specification, and params is the message."},
		{"FRM-02", Should, "Its replies are in the form of the specification.", "004 §1.1", `Put the message itself into "result", by the names of the specification.`},
		{"FRM-03", Should, "Its own calls are in the form of the specification.", "003 §1.4", `Send {"jsonrpc": "2.0", "method": …, "params": the message, "id": 1} with the method of the specification.`},
		{"MSG-01", Must, "The agents of a league accept the messages by which it plays.", "PROTOCOL, strictness", "Add or mend the fields that the detail names: our agents refuse a message without them."},
		{"MSG-02", Should, "The agents of a league accept its notices.", "PROTOCOL, strictness", "Add or mend the fields that the detail names: our agents refuse a notice without them."},
		{"RPC-01", Should, `Its answers are JSON with "jsonrpc": "2.0" and a result that is an object, or an error.`, "004 §1.1", `Wrap what you answer: {"jsonrpc": "2.0", "result": {…}, "id": the id of the request}.`},
		{"RPC-02", Should, "No answer has a result and an error, not even one that is null.", "JSON-RPC 2.0 §5", `Leave "error" out when there is none; some callers only look whether it is there.`},
		{"RPC-03", Should, "Its errors are objects with an integer code and a message.", "004 §1.1", `Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …}.`},
		{"RPC-04", Should, "It returns an id that is an integer unchanged.", "004 §1.1", "Copy the id of the request, a number as a number."},
		{"RPC-05", Should, "It returns an id that is a string unchanged.", "004 §1.1", "Take ids of any type."},
		{"RPC-06", Should, "It returns ids that are zero, negative, large or null unchanged.", "JSON-RPC 2.0 §4", "Do not test an id for being true, and keep it as raw JSON."},
		{"RPC-07", Should, "It answers a notification, a call without an id, with no body.", "JSON-RPC 2.0 §4.1", "Where the request has no member id, carry it out and answer HTTP 204 without a body."},
		{"RPC-08", Should, "It answers an unknown method with the error -32601.", "JSON-RPC 2.0 §5.1", `Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`},
		{"RPC-09", Should, "It answers a body that is no JSON with the error -32700.", "JSON-RPC 2.0 §5.1", "Parse the body yourself, catch the exception, and answer with that error object and the id null."},
		{"RPC-10", Should, "It answers JSON that is no request with the error -32600.", "JSON-RPC 2.0 §5.1", `Check first that "jsonrpc" is "2.0" and that the method is a string.`},
		{"RPC-11", Should, "It answers a batch with an array of answers, and an empty one with the error -32600.", "JSON-RPC 2.0 §6", "Where the body is an array, answer each call that has an id, and put the answers into one array."},
		{"RPC-12", Should, "No answer shows a stack trace.", "002 §12.5", "Log the exception, and answer with a code and a sentence."},
		{"RPC-13", Must, "It goes on answering after broken requests.", "003 §6.3.3", "Catch what your parser throws, for each request by itself."},
		{"RPC-14", Should, "It answers ping, without params and without a token.", "003 §5.12.2", "Serve the method ping: people and managers call it to see whether the agent is there."},
		{"ENV-01", Should, "Its messages have protocol league.v2 and the right message_type.", "003 §2.4.1", `Set "protocol": "league.v2" and the message_type of this very message, also in answers.`},
		{"ENV-02", Should, "The sender of its messages is " + sender + ".", "003 §2.4.4", "Set sender to " + sender + "."},
		{"ENV-03", Should, "The timestamp of its messages is UTC, with Z or +00:00.", "003 §2.4.2", "Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc)."},
		{"ENV-04", Should, "The timestamp of its messages is the present time.", "003 §2.4.1", "Take the time when the message is made, and have the system set its clock."},
		{"ENV-05", Should, "Its messages have a conversation_id.", "003 §2.4.1", "Add conversation_id to every message, answers too."},
		{"ENV-06", Should, "Its answers have the conversation_id of the request.", "003 §2.4.1", "Copy conversation_id from the request into the answer."},
	}
	for i := range all {
		all[i].ID = letter + "-" + all[i].ID
	}
	return all
}
