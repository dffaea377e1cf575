package protocol

import (
	"fmt"

	"evenodd/league/lists"
)

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

// A CommandObject is what a command is about.
type CommandObject string

// The objects of commands.
const (
	OfLeague CommandObject = ""
	OfAgent  CommandObject = "agent" // agent_id names it
	OfMatch  CommandObject = "match" // match_id names it
)

// A Command is a command of organise_league.
type Command struct {
	Name     string
	Of       CommandObject
	Reasoned bool // it needs a reason
}

// Commands are the commands of organise_league. Package journal has their rules and effects,
// package cmd their help.
var Commands = [...]Command{
	{CommandStart, OfLeague, false},
	{CommandPause, OfLeague, false},
	{CommandResume, OfLeague, false},
	{CommandSuspend, OfAgent, true},
	{CommandReadmit, OfAgent, false},
	{CommandWithdraw, OfAgent, true},
	{CommandRematch, OfMatch, true},
	{CommandRule, OfMatch, true},
}

func commandNames(commands []Command) []string {
	return lists.Map(commands, func(c Command) string { return c.Name })
}

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
	LeagueID string `json:"league_id,omitzero" rule:"required"`
	Command  string `json:"command,omitzero" rule:"required,command"`
	// name of the organiser, which nobody verifies
	By string `json:"by,omitzero" rule:"required,max=64,printable"`
	// reason for the record
	Reason string `json:"reason,omitzero" rule:"upto=500,printable,reasoned"`
	// of suspend, readmit and withdraw: the id or the name of an agent
	AgentID string `json:"agent_id,omitzero"`
	// of rematch and rule: an id, or two players and a round such as `Alice / Bob / 1`
	MatchID string `json:"match_id,omitzero"`
	// of rule: the id or the name of a player, `draw`, or `none` for a loss of both
	Winner string `json:"winner,omitzero"`
	// of start: time with a zone; absent means now
	StartAt string `json:"start_at,omitzero"`
}

// Organised answers organise_league, when the decision is durable.
type Organised struct {
	Envelope
	Status  string `json:"status" rule:"is=DONE"`
	Command string `json:"command"`
	// number of the event in the journal; 0 without a journal
	Event int    `json:"event"`
	At    string `json:"at"`
	// what was decided and what happens next, for people
	About string `json:"about" rule:"upto=1000"`
}

// printableForm is the form of the texts of organisers, which other people print.
func printableForm(most int) *Form {
	return &Form{
		Rule:    fmt.Sprintf("at most %d characters without control characters", most),
		pattern: nameForm.pattern, valid: func(s string) bool { return harmless(s) && short(s, most) }, max: most,
	}
}
