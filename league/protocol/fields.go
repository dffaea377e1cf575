package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A kind is the JSON type of a field.
type kind int

const (
	kindString kind = iota
	kindInteger
	kindNumber
	kindBoolean
	kindObject
	kindArray
)

func (k kind) String() string {
	return [...]string{"string", "integer", "number", "boolean", "object", "array"}[k]
}

// A field holds the rules for a member of a message. The validator, the checks of values
// and the JSON Schemas derive from this table.
type field struct {
	name     string
	kind     kind
	optional bool     // may be absent or null
	null     bool     // may be null
	values   []string // the only legal strings; for an integer, the strings that may replace it
	form     *form    // rule for a string
	min, max int      // characters of a string, value of a number, length of an array; max 0: no limit
	rule     string   // the text of the rule for an integer if a league allows less than max; "" for min and max
	fields   []field  // members of an object
	required uint64   // the fields that are required, one bit each
	items    *field   // the elements of an array, or all members of an object keyed by player
}

// breach is the kind of error that a wrong value of the field is.
func (f *field) breach() breach {
	switch {
	case f.form == timestampForm:
		return breachTime
	case f.name == "protocol" || f.name == "protocol_version":
		return breachVersion
	}
	return breachValue
}

const maxInteger = 1<<31 - 1 // 002 §14.4

// MaxConcurrentMatches is the largest capacity of a referee (002 §3.1.2). The table of
// fields does not contain it, because referees of a simulation may have more.
const MaxConcurrentMatches = 10

var capacityRule = fmt.Sprintf("an integer from 1 to %d", MaxConcurrentMatches)

func text(name string) field { return field{name: name, kind: kindString, min: 1, max: 200} }
func word(name string, values ...string) field {
	return field{name: name, kind: kindString, values: values}
}

func formed(name string, f *form) field {
	return field{name: name, kind: kindString, form: f, max: f.max}
}
func integer(name string, low int) field {
	return field{name: name, kind: kindInteger, min: low, max: maxInteger}
}
func number(name string) field { return field{name: name, kind: kindNumber, max: maxInteger} }
func truth(name string) field  { return field{name: name, kind: kindBoolean} }
func object(name string, fields ...field) field {
	f := field{name: name, kind: kindObject, fields: fields}
	for i := range fields {
		if !fields[i].optional {
			f.required |= 1 << i
		}
	}
	return f
}

func array(name string, low int, item field) field {
	return field{name: name, kind: kindArray, min: low, items: &item}
}

func keyed1(name string, item field) field {
	return field{name: name, kind: kindObject, items: &item}
}
func anything(name string) field { return field{name: name, kind: kindObject} }

func (f field) orAbsent() field          { f.optional = true; return f }
func (f field) orNull() field            { f.null = true; return f }
func (f field) or(words ...string) field { f.values = words; return f }
func (f field) saying(rule string) field { f.rule = rule; return f }

// envelopeFields returns the first fields of every message.
func envelopeFields(messageType string) []field {
	return []field{
		word("protocol", Name),
		word("message_type", messageType),
		formed("sender", senderForm),
		formed("timestamp", timestampForm),
		{name: "conversation_id", kind: kindString, min: 1, max: 128},
		{name: "auth_token", kind: kindString, max: 300, optional: true, null: true},
	}
}

var (
	displayName = field{name: "display_name", kind: kindString, min: 1, max: 50, form: nameForm}
	gameTypes   = array("game_types", 1, text(""))
	endpoint    = field{name: "contact_endpoint", kind: kindString, min: 1, max: 300}

	recordField = object("your_standings",
		integer("wins", 0), integer("losses", 0), integer("draws", 0), integer("points", 0).orAbsent())
	standingField = object("",
		integer("rank", 1), text("player_id"), displayName.orAbsent(),
		integer("played", 0).orAbsent(), integer("wins", 0).orAbsent(), integer("draws", 0).orAbsent(),
		integer("losses", 0).orAbsent(), integer("points", 0), truth("withdrawn").orAbsent(), truth("annulled").orAbsent(),
		integer("byes", 0).orAbsent(), integer("buchholz", 0).orAbsent(), number("sonneborn_berger").orAbsent(),
		truth("tied").orAbsent(), integer("shared_rank", 1).orAbsent(),
		field{name: "decided_by", kind: kindString}.orAbsent(), anything("tiebreak_values").orAbsent())
	choicesField = keyed1("choices", field{kind: kindString, null: true, max: 200})
	faultsField  = keyed1("faults", formed("", codeForm)).orAbsent()
	// fallbacksField counts the fallbacks of a result.
	fallbacksField = keyed1("fallbacks", integer("", 1)).orAbsent()
	drawField      = object("draw",
		formed("commitment", digestForm), formed("nonce", digestForm),
		keyed1("entropies", formed("", digestForm)).orAbsent(),
		keyed1("entropy_commitments", formed("", digestForm)).orAbsent()).orAbsent()
	registrationCode = field{name: "registration_code", kind: kindString, max: maxRegistrationCode}.orAbsent().orNull()

	publicKey  = formed("public_key", keyForm).orAbsent()
	started    = formed("started", digestForm).orAbsent()
	movesField = array("moves", 0, object("", text("player_id"), text("move"))).orAbsent()
	// signatureRequest holds the members of a question that asks for a signature.
	signatureRequest = []field{
		truth("sign").orAbsent(), started, integer("turn", 1).orAbsent(), word("role_in_match", RolePlayerA, RolePlayerB).orAbsent(),
		formed("draw_commitment", digestForm).orAbsent(), keyed1("entropy_commitments", formed("", digestForm)).orAbsent(), movesField,
	}
	evidenceFields = []field{
		keyed1("signatures", object("", integer("turn", 1), formed("signature", signatureForm))).orAbsent(),
		movesField, formed("transcript_digest", digestForm).orAbsent(),
	}
	seatField = func(name string) field {
		return object(name, text("player_id"), formed("endpoint", urlForm), displayName.orAbsent(),
			object("standings", integer("wins", 0), integer("losses", 0), integer("draws", 0), integer("points", 0).orAbsent()).orAbsent(),
			text("access_token").orAbsent(), publicKey)
	}
	registrationFields = []field{
		word("status", StatusAccepted, StatusRejected),
		text("league_id").orAbsent(),
		field{name: "reason", kind: kindString, max: 500}.orAbsent().orNull(),
		formed("error_code", codeForm).orAbsent(), text("error_name").orAbsent(),
		text("manager_auth").orAbsent(), formed("manager_key", keyForm).orAbsent(),
		anything("context").orAbsent(), integer("retry_after_sec", 0).orAbsent(),
	}
	acknowledgement = []field{
		text("status"), text("player_id").orAbsent(), text("referee_id").orAbsent(),
		integer("round_id", 1).orAbsent(), text("match_id").orAbsent(),
	}
)

// shapes are the messages by type, with their envelopes.
var shapes = func() map[string]*field {
	all := map[string]*field{}
	for messageType, body := range bodies {
		message := object("", slices.Concat(envelopeFields(messageType), body)...)
		all[messageType] = &message
	}
	return all
}()

// bodies holds the fields of every message type after the envelope.
var bodies = map[string][]field{
	TypeRefereeRegisterRequest: {object("referee_meta",
		displayName, formed("version", versionForm), formed("protocol_version", versionForm).orAbsent(),
		gameTypes, endpoint, integer("max_concurrent_matches", 1).saying(capacityRule), publicKey, truth("relays_signatures").orAbsent()),
		word("referee_auth", RefereeAuthAccessToken, RefereeAuthNone).orAbsent(), registrationCode},
	TypeRefereeRegisterResponse: append([]field{text("referee_id").orAbsent().orNull()}, registrationFields...),
	TypeLeagueRegisterRequest: {object("player_meta",
		displayName, formed("version", versionForm), formed("protocol_version", versionForm).orAbsent(),
		gameTypes, endpoint, publicKey), registrationCode},
	TypeLeagueRegisterResponse: append([]field{text("player_id").orAbsent().orNull()}, registrationFields...),
	TypeRoundAnnouncement: {text("league_id"), integer("round_id", 1), array("matches", 0, object("",
		text("match_id"), text("game_type"), text("player_A_id"), text("player_B_id"),
		formed("referee_endpoint", urlForm), text("referee_id").orAbsent(),
		word("referee_auth", RefereeAuthAccessToken, RefereeAuthNone).orAbsent(),
		array("forfeited_by", 0, text("")).orAbsent())), integer("total_matches", 1).orAbsent(), started},
	TypeRoundCompleted: {text("league_id"), integer("round_id", 1),
		integer("matches_completed", 0).orAbsent(), integer("matches_played", 0).orAbsent(),
		integer("next_round_id", 1).orNull(),
		object("summary", integer("total_matches", 0), integer("wins", 0), integer("draws", 0),
			integer("technical_losses", 0)).orAbsent(), formed("journal_head", digestForm).orAbsent(),
		formed("journal_head_signature", signatureForm).orAbsent(),
		array("results", 0, object("", text("match_id"), integer("attempt", 1).orAbsent(),
			word("status", StatusWin, StatusDraw, StatusTechnicalLoss), text("winner").orNull(),
			integer("drawn_number", 0).orAbsent().orNull(), choicesField)).orAbsent()},
	TypeLeagueCompleted: {text("league_id"), integer("total_rounds", 1), integer("total_matches", 1),
		object("champion", text("player_id"), displayName, integer("points", 0), field{name: "reason", kind: kindString}.orAbsent()),
		array("final_standings", 1, standingField), integer("total_players", 1).orAbsent(),
		formed("journal_head", digestForm).orAbsent(), formed("journal_head_signature", signatureForm).orAbsent()},
	TypeGameInvitation: {text("league_id"), integer("round_id", 1), text("match_id"), text("game_type"),
		word("role_in_match", RolePlayerA, RolePlayerB), text("opponent_id"),
		integer("attempt", 1).orAbsent(), formed("draw_commitment", digestForm).orAbsent()},
	TypeGameJoinAck: {text("match_id"), text("player_id"), formed("arrival_timestamp", timestampForm), truth("accept"),
		formed("entropy_commitment", digestForm).orAbsent()},
	TypeChooseParityCall: append([]field{text("match_id"), text("player_id"), text("game_type"),
		object("context", text("opponent_id").orAbsent(), integer("round_id", 1).orAbsent(), recordField.orAbsent()).orAbsent(),
		formed("deadline", timestampForm)}, signatureRequest...),
	TypeChooseParityResponse: {text("match_id"), text("player_id"), word("parity_choice", "even", "odd"),
		formed("entropy", digestForm).orAbsent(), formed("signature", signatureForm).orAbsent(), truth("fallback").orAbsent()},
	TypeGameMoveCall: append([]field{text("match_id"), text("player_id"), text("game_type"),
		object("move_request", text("move_type"), array("valid_options", 0, text("")).orAbsent(), anything("context").orAbsent()),
		formed("deadline", timestampForm)}, signatureRequest...),
	TypeGameMoveResponse: {text("match_id"), text("player_id"), text("game_type"),
		object("move_data", text("move_type"), text("choice")), formed("entropy", digestForm).orAbsent(),
		formed("signature", signatureForm).orAbsent(), truth("fallback").orAbsent()},
	TypeGameOver: {text("match_id"), text("game_type"),
		object("game_result", word("status", StatusWin, StatusDraw, StatusTechnicalLoss),
			text("winner_player_id").orAbsent().orNull(),
			integer("drawn_number", 0).orAbsent().orNull(), text("number_parity").orAbsent().orNull(),
			choicesField, field{name: "reason", kind: kindString, max: 500}.orAbsent(), faultsField, fallbacksField),
		drawField, field{name: "reason", kind: kindString, max: 500}.orAbsent()},
	TypeMatchResultReport: append([]field{text("league_id"), integer("round_id", 1), text("match_id"), text("game_type"),
		integer("attempt", 1).orAbsent(),
		object("result", text("winner").orNull(), keyed1("score", integer("", 0)),
			object("details", integer("drawn_number", -maxInteger).orAbsent().orNull(), choicesField.orAbsent(), // the manager judges the number
				word("status", StatusWin, StatusDraw, StatusTechnicalLoss).orAbsent(),
				field{name: "reason", kind: kindString, max: 500}.orAbsent(), faultsField, fallbacksField).orAbsent()),
		drawField}, evidenceFields...),
	TypeStandingsUpdate: {text("league_id"), integer("round_id", 1), array("standings", 1, standingField),
		integer("total_players", 1).orAbsent()},
	TypeLeagueQuery: {text("league_id"), text("query_type"),
		object("query_params", text("player_id").orAbsent(), integer("round_id", 1).or(allRounds).orAbsent(),
			integer("offset", 0).orAbsent(), integer("limit", 1).orAbsent()).orAbsent()},
	TypeLeagueQueryResponse: {text("query_type"), truth("success").orAbsent(), anything("data").orAbsent(),
		object("error", formed("error_code", codeForm), text("error_name"),
			field{name: "error_description", kind: kindString, max: 500}).orAbsent(),
		integer("current_round", 0).orAbsent(), array("standings", 0, standingField).orAbsent(),
		integer("total_players", 0).orAbsent(), integer("offset", 0).orAbsent(),
		text("state").orAbsent(), integer("rounds", 0).orAbsent(), integer("matches", 0).orAbsent(),
		integer("recorded", 0).orAbsent(), integer("players", 0).orAbsent(), integer("referees", 0).orAbsent(),
		array("games", 0, text("")).orAbsent(),
		object("agent_states", integer("REGISTERED", 0), integer("ACTIVE", 0), integer("SUSPENDED", 0), integer("SHUTDOWN", 0)).orAbsent(),
		array("inactive", 0, object("", text("agent_id"), text("state"), field{name: "reason", kind: kindString, max: 500},
			integer("failures", 0))).orAbsent(),
		array("awaited", 0, text("")).orAbsent(), text("tournament").orAbsent(), truth("paused").orAbsent(),
		formed("start_at", timestampForm).orAbsent(), formed("registration_until", timestampForm).orAbsent(),
		object("roster", integer("players", 0), integer("referees", 0)).orAbsent()},
	TypeLeagueError: {formed("error_code", codeForm), text("error_name").orAbsent(),
		field{name: "error_description", kind: kindString, max: 500},
		text("original_message_type").orAbsent(), anything("context").orAbsent(), truth("retryable").orAbsent()},
	TypeGameError: {text("match_id"), text("player_id").orAbsent(), formed("error_code", codeForm),
		text("error_name").orAbsent(), field{name: "error_description", kind: kindString, max: 500},
		text("affected_player"), text("action_required"), text("game_state").orAbsent(), truth("retryable").orAbsent(),
		integer("retry_count", 0).orAbsent(), integer("max_retries", 0).orAbsent(),
		object("retry_info", integer("retry_count", 0), integer("max_retries", 0),
			formed("next_retry_at", timestampForm).orAbsent(), number("time_remaining").orAbsent()).orAbsent(),
		anything("context").orAbsent(), field{name: "consequence", kind: kindString, max: 500}.orAbsent()},
	TypeMatchAssignment: {text("league_id"), integer("round_id", 1), text("match_id"), integer("attempt", 1),
		text("game_type"), seatField("player_A"), seatField("player_B"),
		object("timeouts", number("game_join_ack_timeout_sec"), number("move_timeout_sec"),
			number("game_over_timeout_sec"), number("generic_response_timeout_sec")),
		object("retry_policy", integer("max_retries", 0), number("delay_sec"), word("backoff_strategy", BackoffFixed, BackoffLinear, BackoffExponential).orAbsent()),
		object("scoring", integer("win_points", 0), integer("draw_points", 0), integer("loss_points", 0),
			integer("technical_loss_points", 0)),
		word("replies", RepliesStrict).orAbsent(), text("referee_id").orAbsent(), word("auth", AuthLenient).orAbsent(), started,
		array("allowed_endpoints", 1, formed("", networkForm)).orAbsent(), integer("annulled_attempts", 1).orAbsent()},
	TypeMatchAssignmentAck: {word("status", StatusAccepted, StatusBusy, StatusRejected), text("match_id"),
		integer("attempt", 1), text("referee_id").orAbsent(), formed("draw_commitment", digestForm).orAbsent(),
		field{name: "reason", kind: kindString, max: 500}.orAbsent()},
	TypeRoundAnnouncementAck: acknowledgement,
	TypeStandingsUpdateAck:   acknowledgement,
	TypeRoundCompletedAck:    acknowledgement,
	TypeLeagueCompletedAck:   acknowledgement,
	TypeGameOverAck:          acknowledgement,
	TypeGameErrorAck:         acknowledgement,
	TypeMatchResultAck:       acknowledgement,
}

// allowsText tells whether a string breaks no rule.
func (f *field) allowsText(s string) bool {
	switch {
	case f.values != nil:
		for _, word := range f.values { // slices.Contains takes longer
			if s == word {
				return true
			}
		}
		return false
	case f.form != nil && !f.form.valid(s):
		return false
	}
	return len(s) >= f.min && (f.max == 0 || short(s, f.max))
}

// checkText returns the rule that a string breaks; "" for none.
func (f *field) checkText(s string) (rule string) {
	switch {
	case f.allowsText(s):
		return ""
	case f.values != nil:
		return oneOf(f.values)
	case f.form != nil && !f.form.valid(s):
		return f.form.rule
	}
	return fmt.Sprintf("a string of %d to %d characters", f.min, f.max)
}

// checkLiteral returns the rule that a JSON value breaks that is neither null nor
// of the kind of a string or container field; "" for none.
func (f *field) checkLiteral(literal string) (rule string) {
	first := literal[0]
	switch f.kind {
	case kindString:
		if f.form == timestampForm {
			return timestampForm.rule
		}
		return "a string"
	case kindInteger:
		return f.checkInteger(literal)
	case kindNumber:
		n, err := strconv.ParseFloat(literal, 64)
		if err != nil || !f.allows(n) {
			return fmt.Sprintf("a number from 0 to %d", f.max)
		}
	case kindBoolean:
		if first != 't' && first != 'f' {
			return "true or false"
		}
	case kindObject:
		if first != '{' {
			return "an object"
		}
	case kindArray:
		return "an array"
	}
	return ""
}

// allows tells whether a number is in the range of f. NaN is not.
func (f *field) allows(n float64) bool { return n >= float64(f.min) && n <= float64(f.max) }

// checkInteger returns the rule that a JSON value breaks; "" for none.
func (f *field) checkInteger(literal string) (rule string) {
	instead := ""
	if f.values != nil {
		if literal[0] == '"' && slices.Contains(f.values, Unquote(jsontext.Value(literal))) {
			return ""
		}
		instead = " or " + oneOf(f.values)
	}
	n, err := strconv.ParseInt(literal, 10, 64)
	switch {
	case err != nil:
		return "an integer" + instead
	case f.allows(float64(n)):
		return ""
	case f.rule != "":
		return f.rule
	}
	return fmt.Sprintf("an integer from %d to %d%s", f.min, f.max, instead)
}

func oneOf(values []string) string {
	if len(values) == 1 {
		return "exactly " + strconv.Quote(values[0])
	}
	return "one of " + strings.Join(Each(values, strconv.Quote), ", ")
}
