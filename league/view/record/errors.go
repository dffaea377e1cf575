package record

import "evenodd/league/protocol"

// explained are the error codes of a match: what the player did, in words that follow its name,
// and what the code means and what to look at.
var explained = map[protocol.Code]struct{ failure, meaning string }{
	protocol.ErrTimeout: {"did not answer in time",
		"The player did not answer in time. Look at what its program does so long, or whether it hangs."},
	protocol.ErrConnection: {"sent no readable answer",
		"The referee could not reach the player, or its answer was no JSON-RPC message. " +
			"Look at the log of the player's program: it may have crashed."},
	protocol.ErrInvalidFieldType: {"sent an answer with a wrong type",
		"A member of the answer has the wrong type or value, or the player answered with an error."},
	protocol.ErrMissingField: {"sent an incomplete answer",
		"A member of the answer is missing. Compare its name with the protocol."},
	protocol.ErrInvalidParityChoice: {"chose neither even nor odd",
		`The choice is not legal. It must be exactly "even" or "odd", in lower case, in the member parity_choice.`},
	protocol.ErrIllegalMove: {"made an illegal move",
		"The move is not legal. It must be exactly one of valid_options, in the member choice of move_data."},
	protocol.ErrMatchIDMismatch: {"answered for another match",
		"The answer is about another match. It must have the match_id of the question."},
	protocol.ErrProtocolVersion: {"answered in another protocol version",
		"The answer must have the protocol version of the question."},
	protocol.ErrRateLimited: {"asked to wait",
		"The player asked the referee to wait."},
	protocol.ErrMessageTooLarge: {"sent too large an answer",
		"The answer is too large."},
}

// ErrorInWords says what an error code of a match means, and what to look at; "" for an unknown
// one.
func ErrorInWords(code string) string { return explained[protocol.Code(code)].meaning }

// FailureInWords says what a player did that failed with an error code. It follows the name of
// the player: "did not answer in time".
func FailureInWords(code string) string {
	if e, ok := explained[protocol.Code(code)]; ok {
		return e.failure
	}
	if name := protocol.Code(code).Name(); name != "" {
		return "failed (" + code + " " + name + ")"
	}
	return "failed"
}
