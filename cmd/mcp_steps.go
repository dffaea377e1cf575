package cmd

import (
	"context"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/transport/mcp"
)

// The specification calls steps of an agent tools. The agents take these
// steps themselves. The tools show their state, and change nothing; they are no methods of the
// protocol.

// stepArguments are the arguments of these tools; each uses some of them.
type stepArguments struct {
	MatchID string   `json:"match_id"`
	Players []string `json:"players"`
	Offset  int      `json:"offset"`
}

// stepTool is a tool that shows a step.
func stepTool(name, title, about string, input map[string]any,
	show func(ctx context.Context, bearer string, a *stepArguments) (any, error)) mcp.Tool {
	return withArguments(mcp.Tool{
		Name: name, Title: title, Description: about + " It changes nothing." + untrusted, ReadOnly: true, Input: input,
	}, stepArguments{}, show)
}

// A matchStep is the state of a step of a match. Only a match that is over has choices, number
// and result.
type matchStep struct {
	MatchID      string                    `json:"match_id"`
	State        string                    `json:"state"`
	Attempt      int                       `json:"attempt"`
	Chosen       []string                  `json:"chosen,omitzero"`
	Choices      league.PerPlayer[*string] `json:"choices,omitzero"`
	Commitment   string                    `json:"draw_commitment,omitzero"`
	DrawnNumber  *int                      `json:"drawn_number,omitzero"`
	NumberParity *string                   `json:"number_parity,omitzero"`
	Draw         *protocol.Draw            `json:"draw,omitzero"`
	GameResult   *league.Result            `json:"game_result,omitzero"`
	Reported     *bool                     `json:"reported,omitzero"`
}

// refereeStepTools are the tools of a referee's steps. Each needs the credential of its manager.
func refereeStepTools(r *referee.Referee) []mcp.Tool {
	const needs = " It needs the credential of the referee's manager."
	step := func(name, title, about string, show func(p *referee.Progress, s *matchStep)) mcp.Tool {
		input := objectSchema(properties{"match_id": properties{"type": "string"}}, "match_id")
		return stepTool(name, title, about+needs, input,
			func(_ context.Context, bearer string, a *stepArguments) (any, error) {
				p, err := r.Progress(bearer, a.MatchID)
				if err != nil {
					return nil, err
				}
				s := &matchStep{MatchID: p.MatchID, State: p.State, Attempt: p.Attempt}
				show(p, s)
				return s, nil
			})
	}
	return []mcp.Tool{
		stepTool("register_to_league", "Read the registration", "Returns the registration of this referee at its manager, "+
			"without the token."+needs,
			objectSchema(properties{}), func(_ context.Context, bearer string, _ *stepArguments) (any,
				error) {
				return r.Registration(bearer)
			}),
		step("collect_choices", "Read who has chosen", "Returns which players of a match have chosen, and their choices "+
			"when the match is over.",
			func(p *referee.Progress, s *matchStep) {
				if s.Chosen = p.Chosen; p.GameResult != nil {
					s.Choices = p.GameResult.Choices
				}
			}),
		step("draw_number", "Read the draw", "Returns the commitment to the draw of a match, and the number and its proof "+
			"when the match is over.",
			func(p *referee.Progress, s *matchStep) {
				if s.Commitment, s.Draw = p.Commitment, p.Draw; p.GameResult != nil {
					s.DrawnNumber, s.NumberParity = p.GameResult.DrawnNumber, p.GameResult.NumberParity
				}
			}),
		step("finalize_match", "Read the result", "Returns the result of a match when it is over, and whether the manager "+
			"has acknowledged the report.",
			func(p *referee.Progress, s *matchStep) { s.GameResult, s.Reported = p.GameResult, &p.Reported }),
	}
}

// scheduleTool is the tool of the manager that pairs players. It needs a token of the league.
func scheduleTool(m *manager.Manager) mcp.Tool {
	input := objectSchema(properties{
		"players": properties{"type": "array", "items": properties{"type": "string"}, "minItems": 2, "maxItems": 1000,
			"description": "ids such as P01"},
		"offset": properties{"type": "integer", "minimum": 0, "description": "number of the first match to return, from 0"},
	}, "players")
	const about = "Returns the matches that the league's format makes of players, in the given order: all rounds of a " +
		"round-robin, 400 matches at most from offset on, else the first round. It needs the token of a registered agent."
	return stepTool("create_schedule", "Pair players", about, input,
		func(ctx context.Context, bearer string, a *stepArguments) (any, error) {
			rules, err := m.Read(ctx, bearer, func(v *decide.View) (any, error) { return v.State.Created, nil })
			if err != nil {
				return nil, err
			}
			return decide.CreateSchedule(rules.(*journal.Created), a.Players, a.Offset) // without the manager's lock
		})
}
