package protocol

import "slices"

// A Tool describes a method to clients of the Model Context Protocol (spec 003 §1.2, §7.2).
// Every method but organise_league is idempotent: agents repeat calls whose answer is lost.
type Tool struct {
	Name, Title, About string
	ReadOnly           bool           // a call changes nothing
	OpenWorld          bool           // a call reaches an address that the input names
	Input              map[string]any // JSON Schema of the params
	Output             map[string]any // JSON Schema of the result
}

// Tools returns a tool for each method of the table, in the order of the table. Its input
// needs no envelope, because Handle completes it.
func Tools() []Tool {
	tools := make([]Tool, 0, len(methodRows))
	for _, m := range methodRows {
		t := Tool{Name: m.Name, Title: m.Title, About: m.About, ReadOnly: m.ReadOnly, OpenWorld: m.OpenWorld}
		fields := slices.Concat(envelopeFields(m.Name), toolFields)
		switch {
		case m.Request != "":
			fields = slices.Clone(shapes[m.Request].fields)
		case m.Name == organiseMethod:
			fields = slices.Concat(envelopeFields(m.Name), organiseFields)
		}
		for i := range fields[:envelopeSize] {
			fields[i].optional = true
		}
		t.Input = objectSchema(fields)
		result, ok := shapes[m.Result]
		if !ok {
			shape := object("", slices.Concat(envelopeFields(m.Result), toolResults[m.Result])...)
			result = &shape
		}
		t.Output = objectSchema(result.fields)
		tools = append(tools, t)
	}
	return tools
}

// NeedsAdminToken tells whether a method is for the organiser alone.
func NeedsAdminToken(method string) bool {
	return method == StartLeague.Name || method == OrganiseLeague.Name
}

var envelopeSize = len(envelopeFields(""))

// toolFields are the params of the methods without a message type (spec 003 §8.11), except
// organise_league.
var toolFields = []field{text("league_id").orAbsent(), text("match_id").orAbsent(), text("player_id").orAbsent(), integer("attempt", 1).orAbsent()}

// toolResults are the fields of the results of these methods.
var toolResults = map[string][]field{
	GetMatchState.Result: {text("match_id"), text("state"), integer("attempt", 0), text("player_A_id"), text("player_B_id"),
		object("game_result", text("status"), text("winner_player_id").orNull(), integer("drawn_number", 0).orNull(),
			text("number_parity").orNull(), choicesField, faultsField).orAbsent(),
		drawField},
	GetMatchTranscript.Result: {text("match_id"), integer("attempt", 1), array("records", 1, anything(""))},
	GetPlayerState.Result: {text("player_id"), text("state"), text("strategy").orAbsent(), playerStats("stats"),
		array("matches", 0, object("", text("match_id"), text("opponent_id"), text("result"),
			text("my_choice").orAbsent(), text("opponent_choice").orAbsent(), integer("drawn_number", 0).orAbsent(),
			truth("from_standings").orAbsent())),
		playerStats("league_stats").orAbsent()},
	Ping.Result: {text("status"), text("role"), text("state").orAbsent(), text("league_id").orAbsent(), truth("asked").orAbsent()},
	StartLeague.Result: {text("status"), text("league_id"), integer("players", 0), integer("referees", 0),
		integer("rounds", 0), integer("matches", 0)},
	OrganiseLeague.Result: {word("status", StatusDone), text("command"), integer("event", 0), text("at"),
		field{name: "about", kind: kindString, max: 2 * MaxReason}},
}

func playerStats(name string) field {
	return object(name, integer("total_matches", 0), integer("wins", 0), integer("losses", 0), integer("draws", 0))
}
