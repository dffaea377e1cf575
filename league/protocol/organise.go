package protocol

import "fmt"

const organiseMethod = "organise_league"

// The commands of organise_league.
const (
	CommandStart    = "start"
	CommandPause    = "pause"
	CommandResume   = "resume"
	CommandSuspend  = "suspend"
	CommandReadmit  = "readmit"
	CommandWithdraw = "withdraw"
	CommandRematch  = "rematch"
	CommandRule     = "rule"
)

// The winners that a rule command can name beside the id of a player.
const (
	WinnerDraw = "draw" // the match is a draw
	WinnerNone = "none" // both players lose it
)

// StatusDone is the status of an organiser's command that was carried out.
const StatusDone = "DONE"

// The limits of the texts of an organiser, in characters.
const (
	MaxOrganiserName = 64
	MaxReason        = 500
)

// OrganiseRequest is the request of organise_league: a command of the organiser, with the
// admin token as auth_token.
type OrganiseRequest struct {
	Envelope
	LeagueID string `json:"league_id,omitzero"`
	Command  string `json:"command,omitzero"`
	By       string `json:"by,omitzero"`       // the organiser's name, unverified
	Reason   string `json:"reason,omitzero"`   // required for suspend, withdraw, rematch and rule
	AgentID  string `json:"agent_id,omitzero"` // of suspend, readmit and withdraw
	MatchID  string `json:"match_id,omitzero"` // of rematch and rule
	Winner   string `json:"winner,omitzero"`   // of rule: the id of a player, WinnerDraw or WinnerNone
	StartAt  string `json:"start_at,omitzero"` // of start: RFC 3339; "" for now
}

// Organised answers organise_league, when the decision is durable.
type Organised struct {
	Envelope
	Status  string `json:"status"` // StatusDone
	Command string `json:"command"`
	Event   int    `json:"event"` // number of the event in the journal; 0 without a journal
	At      string `json:"at"`    // time of the event
	About   string `json:"about"` // one sentence: what was decided and what happens next
}

// printableForm is the form of the texts of organisers, which other people print.
func printableForm(most int) *form {
	return &form{
		rule:    fmt.Sprintf("at most %d characters without control characters", most),
		pattern: nameForm.pattern, valid: func(s string) bool { return harmless(s) && short(s, most) }, max: most,
	}
}

// organiseFields are the params of organise_league after the envelope.
var organiseFields = []field{
	text("league_id"),
	word("command", CommandStart, CommandPause, CommandResume, CommandSuspend, CommandReadmit, CommandWithdraw, CommandRematch, CommandRule),
	{name: "by", kind: kindString, form: printableForm(MaxOrganiserName), min: 1, max: MaxOrganiserName},
	formed("reason", printableForm(MaxReason)).orAbsent(),
	text("agent_id").orAbsent(), text("match_id").orAbsent(), text("winner").orAbsent(), text("start_at").orAbsent(),
}

// organiseShape is what a request of organise_league must be, apart from its envelope.
var organiseShape = object("", organiseFields...)
