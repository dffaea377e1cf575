package protocol

import (
	"cmp"
	_ "embed" // of the comments
	"sync"

	"github.com/go-json-experiment/json"

	"evenodd/league/lists"
	"evenodd/league/words"
)

// commentsJSON has the comments above the fields of messages by their names in Go. TestMeanings writes the file.
//
//go:embed meanings.json
var commentsJSON []byte

var comments = sync.OnceValue(func() (all map[string]string) {
	_ = json.Unmarshal(commentsJSON, &all) // a test reads it, too
	return all
})

// meaning says what a member means beyond its name, in Markdown, for docs/protocol.md and the JSON Schemas; "" for
// nothing. It is the comment above the field, or what a member of this name means in all messages.
func (f *Field) meaning(comments map[string]string) string {
	meaning := cmp.Or(comments[f.goName], usualMeanings[f.Name])
	if f.demand != "" {
		meaning += "; " + f.demand
	}
	return meaning
}

// usualMeanings are the meanings of members that several messages have, by name. They need no comment.
var usualMeanings = map[string]string{
	"round_id":               "number of the round, from 1",
	"match_id":               "id of the match, such as `R1M2`: round 1, match 2",
	"game_type":              "game of the match, such as `even_odd`",
	"player_id":              "id of the player, such as `P01`",
	"referee_id":             "id of the referee, such as `REF01`",
	"attempt":                "number of the attempt at the match, from 1; absent means 1",
	"public_key":             "Ed25519 key for [signatures](evidence.md#signatures)",
	"registration_code":      "code of the display name in a [league with a roster](leagues.md#the-roster)",
	"started":                "hash of the journal's event that started the league, in a league with [signatures](evidence.md#signatures)",
	"journal_head":           "hash of the last event of the manager's journal, so that a missing end of the journal is noticed",
	"journal_head_signature": "[signature](evidence.md#signatures) of the manager under the head",
	"total_players":          "rows of the whole table",
	"standings":              "the table, at most 100 rows of it",
	"rank":                   "position in the table, from 1; no two rows have the same",
	"losses":                 "matches lost, technical losses included",
	"shared_rank":            "rank that people see; only in a tied row",
	"role_in_match":          "side of the receiver in the match",
	"draw_commitment":        "[commitment](#the-draw) of the referee to its nonce",
	"deadline":               "time until which an answer counts",
	"move_type":              "kind of the move, such as `place_mark`",
	"game_result":            "the result; in get_match_state only when the match is over",
	"drawn_number":           "number from 1 to 10 that was drawn; null after a technical loss, and in games without a draw",
	"choices":                "the choice or the last move of each player, by id; null for a player that made none",
	"faults":                 "error code of each player that lost technically after a failure, by id",
	"fallbacks":              "number of moves by a fallback of each player that had any, by id",
	"draw":                   "secrets of the draw, so that the receiver can recompute it",
	"entropy_commitments":    "entropy commitment of each player that sent one, by id",
	"winner":                 "id of the winner; null after a draw, and if both players lost technically",
	"turn":                   "number of the question in the match, from 1",
	"signature":              "[signature](evidence.md#signatures) of the move",
	"error_code":             "code of the [catalogue](#error-catalogue)",
	"error_description":      "the same name; a sentence for people is in `context.detail`",
	"retry_count":            "number of the next retry, from 1; the number of retries in the last GAME_ERROR",
	"query_type": words.Or(lists.Map(Queries[:], code)) + "; the organiser also sends " + code(QueryJournal) + " and " +
		code(QueryAgentLog),
}

// code marks a text as code in Markdown.
func code(text string) string { return "`" + text + "`" }
