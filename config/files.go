package config

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A File is one file of the configuration layer: *System,
// *Agents, *League, *Games, *RefereeDefaults or *PlayerDefaults. The words of its tags
// rule are those of messages, explained in package protocol, and those of the function rules.
type File interface {
	head() *Header
	name() string                // path below the folder config, with slashes
	assume(known Known)          // sets the built-in values that depend on the program's games
	complete(r *report, k Known) // sets what list items leave out, and compares members with each other
}

// Header has the members that every file begins with.
type Header struct {
	SchemaVersion string `json:"schema_version" rule:"version"`
	LastUpdated   string `json:"last_updated" rule:"timestamp"`

	path    string         // of the file that was read; "" if all values are built in
	given   map[string]any // the members of the file
	unknown []string       // paths of the members without effect
}

func (h *Header) head() *Header           { return h }
func (h *Header) assume(Known)            {}
func (h *Header) complete(*report, Known) {}

// Path returns the file that the values were read from, "" if all are built in.
func (h *Header) Path() string { return h.path }

// Gives tells whether the file has the member, such as network.base_host. Members
// that it leaves out have their built-in values.
func (h *Header) Gives(member string) bool {
	tree := h.given
	for {
		first, rest, nested := strings.Cut(member, ".")
		value, present := tree[first]
		if !present || !nested {
			return present
		}
		tree, _ = value.(map[string]any)
		member = rest
	}
}

// System is config/system.json: the settings of all agents and leagues.
type System struct {
	Header
	SystemID        string      `json:"system_id" rule:"text"`
	ProtocolVersion string      `json:"protocol_version" rule:"is=league.v2"`
	DefaultLeagueID string      `json:"default_league_id" rule:"league_id" flag:"manager:league-id simulate:league-id up:league-id"`
	Network         Network     `json:"network"`
	Security        Security    `json:"security"`
	Timeouts        Timeouts    `json:"timeouts"`
	RetryPolicy     RetryPolicy `json:"retry_policy"`
	Logs            Logs        `json:"logs"`
	Disk            Disk        `json:"disk"`
}

func (s *System) name() string { return "system.json" }

// Network has the default addresses of agents.
type Network struct {
	BaseHost         string    `json:"base_host" rule:"host" flag:"manager:host up:host referee:host player:host"`
	ManagerPort      int       `json:"default_league_manager_port" rule:"min=1,max=65535" flag:"manager:port up:port"`
	RefereePortRange PortRange `json:"default_referee_port_range" rule:"ports" flag:"referee:port"`
	PlayerPortRange  PortRange `json:"default_player_port_range" rule:"ports" flag:"player:port"`
}

// A PortRange is the first and the last port that an agent may listen on.
type PortRange [2]int

// String returns the range in the form of the flag --port.
func (r PortRange) String() string { return fmt.Sprintf("%d-%d", r[0], r[1]) }

// Security describes the tokens that agents get when they register.
type Security struct {
	EnableAuthTokens bool `json:"enable_auth_tokens" rule:"true"`
	TokenLength      int  `json:"token_length" rule:"min=22,max=43"` // characters of the secret part
	TokenTTLHours    int  `json:"token_ttl_hours" rule:"max=8760"`   // 0: as long as the league
}

// Timeouts are the times in seconds within which agents must answer. The longest time in all files is a year:
// longer ones could overflow.
type Timeouts struct {
	RegisterReferee int `json:"register_referee_timeout_sec" rule:"min=1,max=31536000"`
	RegisterPlayer  int `json:"register_player_timeout_sec" rule:"min=1,max=31536000"`
	GameJoinAck     int `json:"game_join_ack_timeout_sec" rule:"min=1,max=31536000"`
	Move            int `json:"move_timeout_sec" rule:"min=1,max=31536000"`
	Generic         int `json:"generic_response_timeout_sec" rule:"min=1,max=31536000"`
}

// Protocol returns the timeouts of a match.
func (t *Timeouts) Protocol() protocol.Timeouts {
	p := protocol.DefaultTimeouts() // that of GAME_OVER is fixed
	p.GameJoinAck, p.Move, p.Generic = float64(t.GameJoinAck), float64(t.Move), float64(t.Generic)
	return p
}

// A RetryPolicy says how often a call is repeated, after how many seconds (0: at
// once), and how this delay grows.
type RetryPolicy struct {
	MaxRetries int     `json:"max_retries" rule:"max=10"`
	Delay      float64 `json:"delay_sec" rule:"delay"`
	Backoff    string  `json:"backoff_strategy" rule:"is=fixed|linear|exponential"`
}

// Logs bound the files of one log: together they have at most MaxFileMB times MaxFiles.
type Logs struct {
	MaxFileMB int `json:"max_file_mb" rule:"min=1,max=100000"` // units of 1,048,576 bytes
	MaxFiles  int `json:"max_files" rule:"min=1,max=1000"`
}

// Disk has the free space of the data folder's file system below which agents warn.
type Disk struct {
	LowSpaceMB int `json:"low_space_mb" rule:"max=100000000"` // units of 1,048,576 bytes; 0: never
}

// Agents is config/agents/agents_config.json: presets for agents that are started
// with an id. Registrations are not kept here.
type Agents struct {
	Header
	LeagueManager LeagueManager `json:"league_manager"`
	Referees      []Referee     `json:"referees"`
	Players       []Player      `json:"players"`
}

func (a *Agents) name() string { return "agents/agents_config.json" }

func (a *Agents) complete(r *report, _ Known) {
	seen := map[string]bool{}
	once := func(member, id string) {
		if seen[id] {
			r.add(member, "must be an id that no other agent has", id)
		}
		seen[id] = true
	}
	for i := range a.Referees {
		once(fmt.Sprintf("referees[%d].referee_id", i), a.Referees[i].RefereeID)
	}
	for i := range a.Players {
		once(fmt.Sprintf("players[%d].player_id", i), a.Players[i].PlayerID)
	}
}

// LeagueManager is the manager that agents call.
type LeagueManager struct {
	DisplayName string `json:"display_name" rule:"name,min=1"`
	Endpoint    string `json:"endpoint,omitzero" rule:"endpoint" flag:"manager"` // "": from the system's host and port
}

// A Preset has the values that presets of referees and players share. Zero values
// are not preset.
type Preset struct {
	DisplayName string   `json:"display_name,omitzero" rule:"name,min=1" flag:"name"`
	Version     string   `json:"version,omitzero" rule:"version"`
	GameTypes   []string `json:"game_types,omitzero" rule:"games"`
	Active      *bool    `json:"active,omitzero"`

	RegistrationCode string `json:"registration_code,omitzero" rule:"registration_code" flag:"registration-code"` // secret
}

// Inactive tells whether the agent must not be started.
func (p *Preset) Inactive() bool { return p.Active != nil && !*p.Active }

// A Referee is the preset of one referee.
type Referee struct {
	RefereeID string `json:"referee_id" rule:"required,referee_id"`
	Endpoint  string `json:"endpoint,omitzero" rule:"endpoint"`
	// up to protocol.MaxConcurrentMatches
	MaxConcurrentMatches int `json:"max_concurrent_matches,omitzero" rule:"min=1,max=10" flag:"max-concurrent"`
	Preset
}

// A Player is the preset of one player.
type Player struct {
	PlayerID        string `json:"player_id" rule:"required,player_id"`
	DefaultEndpoint string `json:"default_endpoint,omitzero" rule:"endpoint"`
	// the only leagues that it joins; none: any
	PreferredLeagues []string `json:"preferred_leagues,omitzero" rule:"each,league_id" flag:"league-id"`
	Preset
}

// League is config/leagues/<league_id>.json: the rules of one league.
type League struct {
	Header
	LeagueID     string       `json:"league_id" rule:"own_id"`
	DisplayName  string       `json:"display_name" rule:"name,min=1"`
	GameType     string       `json:"game_type" rule:"game" flag:"game"`
	Status       string       `json:"status" rule:"status"` // only a league with StatusActive is played
	Scoring      Scoring      `json:"scoring"`
	Participants Participants `json:"participants"`
	Tournament   string       `json:"tournament" rule:"tournament" flag:"tournament"`
	// of a round-robin or gauntlet; the manager limits the number of matches
	Legs int `json:"legs" rule:"min=1,max=134217728" flag:"legs"`
	// plies with which both matches of a pair in two legs begin; 0: none
	Openings int `json:"openings" rule:"max=32" flag:"openings"`
	Rounds   int `json:"rounds" rule:"max=5000" flag:"rounds"` // of a Swiss system; 0: the usual number
	// the seeds that meet all others in a gauntlet; 0: one
	Gauntlet int `json:"gauntlet" rule:"max=9999" flag:"gauntlet"`
	// display names, best first, of any other format than a round-robin
	Seeding []string `json:"seeding" rule:"each,name,min=1"`
	// time of each side of a match for all of its moves, such as 60s+1s; none: windows alone
	TimeBank           string `json:"time_bank,omitzero" rule:"time_bank" flag:"time"`
	Broadcast          string `json:"broadcast" rule:"is=round|match"` // when the standings are broadcast
	UniqueDisplayNames bool   `json:"unique_display_names"`
	RegistrationWindow int    `json:"registration_window_sec" rule:"max=31536000"` // 0: none
	// after which a registered agent that never answered may lose its slot
	RegistrationGrace int       `json:"registration_grace_sec" rule:"min=1,max=31536000"`
	AnnounceLead      int       `json:"announce_lead_sec" rule:"max=31536000"`
	Lifecycle         Lifecycle `json:"lifecycle"`
	Replies           string    `json:"replies" rule:"is=by_meaning|strict"` // which replies count
	Auth              string    `json:"auth" rule:"is=strict|lenient"`       // lenient: third-party agents need no token
	Signatures        string    `json:"signatures" rule:"is=optional|required"`
	Evidence          string    `json:"evidence" rule:"is=stated|recomputed"`
	Members           string    `json:"members" rule:"is=all|plain" flag:"members"` // plain: those of chapter 4 alone
	// networks of agents, see ParseNetwork; none: it depends on --host
	AllowedEndpoints []string `json:"allowed_endpoints" rule:"each,network"`
	Limits           Limits   `json:"limits"`

	// Members of Timeouts and RetryPolicy that replace those of the system.
	// Loader.Rules returns the result.
	Timeouts    jsontext.Value `json:"timeouts,omitzero" rule:"timeouts"`
	RetryPolicy jsontext.Value `json:"retry_policy,omitzero" rule:"retries"`
}

func (l *League) name() string { return "leagues/" + l.LeagueID + ".json" }

func (l *League) complete(r *report, _ Known) {
	p := l.Participants
	if p.MinPlayers > p.MaxPlayers {
		r.add("participants.min_players", fmt.Sprintf("must not be above max_players, %d", p.MaxPlayers), p.MinPlayers)
	}
	if p.MinReferees > p.MaxReferees {
		r.add("participants.min_referees", fmt.Sprintf("must not be above max_referees, %d", p.MaxReferees), p.MinReferees)
	}
}

// StatusActive is the Status of a league that can be played.
const StatusActive = "ACTIVE"

// Scoring has the points of a match, and the tie-breaks of the table.
type Scoring struct {
	Win           int      `json:"win_points" rule:"max=1000"`
	Draw          int      `json:"draw_points" rule:"max=1000"`
	Loss          int      `json:"loss_points" rule:"max=1000"`
	TechnicalLoss int      `json:"technical_loss_points" rule:"max=1000"`
	Tiebreakers   []string `json:"tiebreakers" rule:"tiebreakers"`
}

// Participants bounds the numbers of agents.
type Participants struct {
	MinPlayers  int `json:"min_players" rule:"min=2,max=10000"`
	MaxPlayers  int `json:"max_players" rule:"min=2,max=10000"`
	MinReferees int `json:"min_referees" rule:"min=1,max=1000"`
	MaxReferees int `json:"max_referees" rule:"min=1,max=1000"`
}

// Limits bound the requests of one agent to the manager: a burst, then a rate.
type Limits struct {
	RequestsPerSecond int `json:"requests_per_sec" rule:"min=1,max=100000"`
	Burst             int `json:"burst" rule:"min=1,max=1000000"`
}

// Lifecycle has the numbers of failures in a row after which an agent is suspended
// and shut down; 0 means never.
type Lifecycle struct {
	SuspendAfter  int `json:"suspend_after" rule:"max=1000"`
	ShutdownAfter int `json:"shutdown_after" rule:"max=1000"`
}

// Anywhere stands for all networks.
const Anywhere = "any"

// ParseNetwork parses a network such as 10.1.0.0/16, or a single address. An IPv4-mapped IPv6 network is one of IPv4,
// as the addresses of callers are.
func ParseNetwork(s string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(s)
	if one, err := netip.ParseAddr(s); err == nil && one.Zone() == "" {
		return netip.PrefixFrom(one.Unmap(), one.Unmap().BitLen()), nil
	}
	if mapped := prefix.Bits() - 96; prefix.Addr().Is4In6() && mapped >= 0 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), mapped)
	}
	return prefix.Masked(), err
}

// AgentDefaults has the members that the defaults of referees and players share.
type AgentDefaults struct {
	Header
	Version   string   `json:"version" rule:"version"`
	GameTypes []string `json:"game_types" rule:"games"`
}

// assume gives agents every game of the program.
func (d *AgentDefaults) assume(known Known) { d.GameTypes = known.gameTypes() }

// RefereeDefaults is config/defaults/referee.json.
type RefereeDefaults struct {
	AgentDefaults
	MaxConcurrentMatches int    `json:"max_concurrent_matches" rule:"min=1,max=10" flag:"max-concurrent"`
	LogLevel             string `json:"log_level" rule:"is=debug|info|warn|error|disabled" flag:"log-level"`

	// networks of players; none: those that the manager allows
	AllowedEndpoints []string `json:"allowed_endpoints" rule:"each,network"`
}

func (d *RefereeDefaults) name() string { return "defaults/referee.json" }

// PlayerDefaults is config/defaults/player.json.
type PlayerDefaults struct {
	AgentDefaults
	Strategy string `json:"strategy" rule:"strategy" flag:"strategy strategies"`
	LogLevel string `json:"log_level" rule:"is=debug|info|warn|error|disabled" flag:"player:log-level"`
}

func (d *PlayerDefaults) name() string { return "defaults/player.json" }

// Rules are the rules of one league: its file over the system's file over the
// built-in values.
type Rules struct {
	League   *League
	System   *System
	Game     *Game
	Games    []string // types of the games registry
	Timeouts Timeouts
	Retry    RetryPolicy
}
