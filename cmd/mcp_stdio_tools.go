package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/transport/mcp"
)

// Bounds of a query.
const (
	maxItems  = 500 // rows or matches; the last page may exceed it
	queryTime = 20 * time.Second
)

// textSchema is the JSON Schema of a text.
var textSchema = properties{"type": "string"}

// described returns a schema with a description.
func described(schema properties, description string) properties {
	schema = maps.Clone(schema)
	schema["description"] = description
	return schema
}

// choiceOf returns the JSON Schema of one of some words.
func choiceOf(words []string) properties { return properties{"type": "string", "enum": words} }

// argumentsSchema returns the JSON Schema of the arguments of a tool that has no others.
func argumentsSchema(p properties, required ...string) map[string]any {
	s := objectSchema(p, required...)
	s["additionalProperties"] = false
	return s
}

// queryTools returns a tool for each query.
func (d *desktop) queryTools() []mcp.Tool {
	round := properties{"description": "the round, or all (default: the current round)",
		"type": []string{"integer", "string"}, "minimum": 1, "pattern": "^all$"}
	return []mcp.Tool{
		queryTool[protocol.StandingsData](d, "standings", "standings", mcp.Tool{
			Title: "Standings", Description: "Returns the table of the running league.", Input: argumentsSchema(properties{}),
		}),
		queryTool[protocol.ScheduleData](d, "schedule", "matches", mcp.Tool{
			Title: "Schedule", Description: fmt.Sprintf("Returns the matches of a round or of all rounds of the running "+
				"league, about %d at most.", maxItems),
			Input: argumentsSchema(properties{"round": round}),
		}),
		queryTool[protocol.NextMatchData](d, "next-match", "next_match", mcp.Tool{
			Title:       "Next match",
			Description: "Returns the next match of a player in the running league; null if none is left.",
			Input: argumentsSchema(properties{"player_id": described(textSchema,
				"such as P01 (default: the agent whose token the server uses)")}),
		}),
	}
}

// queryTool completes a tool that asks the manager a query. The data of the response
// must have the member, and the form of T: managers of other programs could send others,
// which the schema of the output does not allow.
func queryTool[T any](d *desktop, name, member string, t mcp.Tool) mcp.Tool {
	t.Name, t.ReadOnly, t.Output = strings.ReplaceAll(name, "-", "_"), true, resultSchema[T]()
	t.Description += untrusted
	about := subjects()[name]
	about.enough = maxItems
	type query struct {
		Round    protocol.QueryRound `json:"round"`
		PlayerID string              `json:"player_id"`
	}
	return withArguments(t, query{}, func(ctx context.Context, _ string, given *query) (any, error) {
		q := d.query
		q.subject, q.playerID = name, given.PlayerID
		switch given.Round {
		case 0: // the current one
		case protocol.AllRounds:
			q.round = "all"
		default:
			q.round = strconv.Itoa(int(given.Round))
		}
		ctx, cancel := context.WithTimeout(ctx, queryTime)
		defer cancel()
		_, data, err := q.run(ctx, d.caller, d.files, about)
		if err != nil {
			return nil, err
		}
		var members protocol.Object
		result := new(T)
		if json.Unmarshal(data, &members) != nil || !members.Has(member) || json.Unmarshal(data, result) != nil {
			return nil, fmt.Errorf("the manager at %s answered in another form: run 'evenodd query %s' to see it",
				q.manager, name)
		}
		return result, nil
	})
}

// replayTool returns the tool that shows a match. Only recorded matches have the file
// that it reads: it discloses no choice and no nonce of a running match.
func (d *desktop) replayTool() mcp.Tool {
	type match struct {
		MatchID  string `json:"match_id"`
		LeagueID string `json:"league_id"`
	}
	return withArguments(mcp.Tool{
		Name: "replay_match", Title: "Replay of a match", ReadOnly: true,
		Description: "Returns a finished match from the data folder: each message with its time and a summary, the errors, " +
			"the draw and the result." + untrusted,
		Input: argumentsSchema(properties{
			"match_id":  described(textSchema, "such as R1M1"),
			"league_id": described(textSchema, "default: the running league of the folder, else that with the newest entry"),
		}, "match_id"),
		Output: resultSchema[record.Conversation](),
	}, match{}, func(_ context.Context, _ string, given *match) (any, error) {
		o := &replayOptions{data: d.query.data, matchID: given.MatchID, leagueID: cmp.Or(given.LeagueID, d.query.leagueID)}
		doc, err := o.read(d.streams)
		if err != nil {
			return nil, err
		}
		return record.ConversationOf(doc, games()), nil
	})
}
