package cmd

import (
	"context"
	"time"

	"evenodd/league/protocol"
	"evenodd/player/strategy/external"
	"evenodd/transport/mcp"
)

// A hostAccess gives the MCP host of a player the questions that wait for an answer. Only
// the host token opens it: the tokens of the league grant nothing here.
type hostAccess struct {
	host  *external.Host
	token string
}

// opens tells whether a credential is the host token.
func (a *hostAccess) opens(bearer string) bool {
	return a.host != nil && protocol.SameToken(bearer, a.token)
}

// identifyOr names a caller with the host token, and any other as next does.
func (a *hostAccess) identifyOr(next func(bearer string, body []byte) string) func(string, []byte) string {
	return func(bearer string, body []byte) string {
		if a.opens(bearer) {
			return "host"
		}
		return next(bearer, body)
	}
}

// The time that wait_for_choice waits, in seconds. The server ends every response after
// a minute.
const (
	usualWait = 25
	maxWait   = 50
)

// tools returns the tools of the host; none without a host.
func (a *hostAccess) tools() []mcp.Tool {
	if a.host == nil {
		return nil
	}
	pending := resultSchema[pendingChoices]()
	tools := []mcp.Tool{
		withArguments(mcp.Tool{
			Name: "wait_for_choice", Title: "Wait for a choice", ReadOnly: true,
			Description: "Waits until a match asks this player for a choice, and returns the questions that wait for an " +
				"answer. Returns an empty list after timeout_sec: call it again, unless a message says that the league is over." + untrusted,
			Input: objectSchema(properties{"timeout_sec": properties{"type": "integer", "minimum": 0, "maximum": maxWait,
				"default": usualWait, "description": "seconds to wait"}}),
			Output: pending,
		}, waitRequest{usualWait}, a.wait),
		{
			Name: "list_pending_choices", Title: "List pending choices", ReadOnly: true,
			Description: "Returns the questions that wait for an answer, without waiting." + untrusted,
			Input:       objectSchema(properties{}), Output: pending,
			Call: func(context.Context, string, []byte) (any, error) {
				return pendingChoices{Pending: a.host.Pending()}, nil
			},
		},
		withArguments(mcp.Tool{
			Name: "answer_choice", Title: "Answer a choice", Once: true,
			Description: "Answers a question with one of its valid_options, or with a text of at most " +
				"so many bytes as its member text says, before its deadline. The answer is final.",
			Input: objectSchema(properties{"choice_id": properties{"type": "string"}, "choice": properties{"type": "string",
				"description": "one of the valid_options, or a text of one line"}}, "choice_id", "choice"),
			Output: resultSchema[answeredChoice](),
		}, choiceAnswer{}, a.answer),
	}
	for i := range tools {
		tools[i].Call = a.guarded(tools[i].Call)
	}
	return tools
}

type toolCall = func(ctx context.Context, bearer string, arguments []byte) (any, error)

// guarded makes calls without the host token fail.
func (a *hostAccess) guarded(call toolCall) toolCall {
	return func(ctx context.Context, bearer string, arguments []byte) (any, error) {
		switch {
		case bearer == "":
			return nil, protocol.Fault(protocol.ErrTokenMissing, "send the player's host token in the Authorization header")
		case !a.opens(bearer):
			return nil, protocol.Fault(protocol.ErrTokenInvalid, "the credential is not the player's host token")
		}
		return call(ctx, bearer, arguments)
	}
}

// pendingChoices is the result of the tools that return questions.
type pendingChoices struct {
	Pending []external.Question `json:"pending"`
	// Message says why no more questions come.
	Message string `json:"message,omitzero"`
}

// answeredChoice is the result of answer_choice.
type answeredChoice struct {
	Status   string `json:"status"` // ACCEPTED
	ChoiceID string `json:"choice_id"`
}

// A waitRequest holds the arguments of wait_for_choice.
type waitRequest struct {
	Seconds int `json:"timeout_sec"`
}

func (a *hostAccess) wait(ctx context.Context, _ string, given *waitRequest) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(given.Seconds)*time.Second)
	defer cancel()
	pending, end := a.host.Wait(ctx)
	return pendingChoices{pending, end}, nil
}

// A choiceAnswer holds the arguments of answer_choice.
type choiceAnswer struct {
	ChoiceID string `json:"choice_id"`
	Choice   string `json:"choice"`
}

func (a *hostAccess) answer(_ context.Context, _ string, given *choiceAnswer) (any, error) {
	if err := a.host.Answer(given.ChoiceID, given.Choice); err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%s", err).Because(err)
	}
	return answeredChoice{"ACCEPTED", given.ChoiceID}, nil
}
