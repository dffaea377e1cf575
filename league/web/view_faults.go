package web

import "evenodd/league/protocol"

// A faultText explains an error code of a technical loss to the owner of an agent.
type faultText struct {
	Code  string
	Short string // follows the name of a player: "did not answer in time"
	Long  string // what it means, and what helps
}

// fault explains an error code.
func fault(code string) faultText {
	for _, f := range faultTexts() {
		if f.Code == code {
			return f
		}
	}
	name := protocol.Code(code).Name()
	if name == "" {
		return faultText{code, "failed", "The agent failed. The transcript of the match has the details."}
	}
	return faultText{code, "failed (" + code + " " + name + ")", "The agent failed with " + name + ". The transcript of the match has the details."}
}

func faultTexts() []faultText {
	return []faultText{
		{string(protocol.ErrTimeout), "did not answer in time",
			"The agent received the question, but no answer came before the deadline, also after the tries. Answer faster, or answer a default move before the deadline."},
		{string(protocol.ErrConnection), "could not be reached",
			"No connection to the agent's endpoint was possible. Check that the process runs, and that its address and port are those that it registered."},
		{string(protocol.ErrInvalidFieldType), "sent an answer with a wrong type",
			"A member of the answer has the wrong type. The transcript shows the answer and the member."},
		{string(protocol.ErrMissingField), "sent an incomplete answer",
			"The answer lacks a required member. The transcript shows the answer and the member."},
		{string(protocol.ErrInvalidParityChoice), "chose neither even nor odd",
			"The choice must be the word even or odd, in lower case."},
		{string(protocol.ErrIllegalMove), "made an illegal move",
			"The move is not one of those that the question offered (valid_options)."},
		{string(protocol.ErrMessageTooLarge), "sent too large an answer",
			"The answer is larger than the protocol allows."},
		{string(protocol.ErrMatchIDMismatch), "answered for another match",
			"The answer names another match than the question."},
		{string(protocol.ErrProtocolVersion), "answered in another protocol version",
			"The answer must have the protocol version of the question."},
	}
}
