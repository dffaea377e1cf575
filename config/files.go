package config

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A File is one file of the configuration layer (spec 003 table 18): *System,
// *Agents, *League, *Games, *RefereeDefaults or *PlayerDefaults. Members that
// this program does not know stand in Extra, at every level, and so survive
// when the file is written again.
type File interface {
	head() *Header
	name() string                // below the folder config, with slashes
	rules(known Known) check     // of the members that stand in the file
	complete(r *report, k Known) // fills in what list items leave out, and checks members against each other
}

// An assuming file has built-in values that follow from what the program has: so
// a game that is added to it need not be written down again.
type assuming interface{ assume(known Known) }

// Header is what every file begins with (spec 003 §9.2.1), and where its values
// come from.
type Header struct {
	SchemaVersion string         `json:"schema_version"`
	LastUpdated   string         `json:"last_updated"`
	Extra         jsontext.Value `json:",embed"`

	path  string         // of the file that was read; "" when all is built in
	given map[string]any // what stands in it
}

func (h *Header) head() *Header { return h }

// Path is the file that the values were read from; "" when all are built in.
func (h *Header) Path() string { return h.path }

// Gives tells whether the file has the member, such as network.base_host. What
// it leaves out has its built-in value.
func (h *Header) Gives(member string) bool {
	tree := h.given
	for {
		first, rest, nested := strings.Cut(member, ".")
		value, there := tree[first]
		if !there || !nested {
			return there
		}
		tree, _ = value.(map[string]any)
		member = rest
	}
}

// System is config/system.json: what holds for all agents and leagues (spec 003
// §9.3.1, §10.3.2).
type System struct {
	Header
	SystemID        string      `json:"system_id"`
	ProtocolVersion string      `json:"protocol_version"`
	DefaultLeagueID string      `json:"default_league_id"`
	Network         Network     `json:"network"`
	Security        Security    `json:"security"`
	Timeouts        Timeouts    `json:"timeouts"`
	RetryPolicy     RetryPolicy `json:"retry_policy"`
}

// Network says where agents listen when nobody says otherwise.
type Network struct {
	BaseHost         string         `json:"base_host"`
	ManagerPort      int            `json:"default_league_manager_port"`
	RefereePortRange PortRange      `json:"default_referee_port_range"`
	PlayerPortRange  PortRange      `json:"default_player_port_range"`
	Extra            jsontext.Value `json:",embed"`
}

// A PortRange is the first and the last of the ports an agent may take.
type PortRange [2]int

// String is the range as the flag --port takes it.
func (r PortRange) String() string { return fmt.Sprintf("%d-%d", r[0], r[1]) }

// Security is about the tokens that agents get when they register.
type Security struct {
	EnableAuthTokens bool           `json:"enable_auth_tokens"` // always true
	TokenLength      int            `json:"token_length"`       // characters of the secret part, 22 to 43
	TokenTTLHours    int            `json:"token_ttl_hours"`    // 0: as long as the league
	Extra            jsontext.Value `json:",embed"`
}

// Timeouts are the times within which agents answer, in whole seconds from 1.
type Timeouts struct {
	RegisterReferee int            `json:"register_referee_timeout_sec"`
	RegisterPlayer  int            `json:"register_player_timeout_sec"`
	GameJoinAck     int            `json:"game_join_ack_timeout_sec"`
	Move            int            `json:"move_timeout_sec"`
	Generic         int            `json:"generic_response_timeout_sec"`
	Extra           jsontext.Value `json:",embed"`
}

// Protocol is what of the timeouts goes with every match.
func (t *Timeouts) Protocol() protocol.Timeouts {
	p := protocol.DefaultTimeouts() // the acknowledgement of a GAME_OVER has a fixed time
	p.GameJoinAck, p.Move, p.Generic = float64(t.GameJoinAck), float64(t.Move), float64(t.Generic)
	return p
}

// RetryPolicy is how often a call is made again, after how many seconds (0: at
// once), and how that delay grows: protocol.BackoffFixed and so on.
type RetryPolicy struct {
	MaxRetries int            `json:"max_retries"`
	Delay      float64        `json:"delay_sec"`
	Backoff    string         `json:"backoff_strategy"`
	Extra      jsontext.Value `json:",embed"`
}

// Protocol is the policy as it goes with every match.
func (p *RetryPolicy) Protocol() protocol.RetryPolicy {
	return protocol.RetryPolicy{MaxRetries: p.MaxRetries, Delay: p.Delay, Backoff: p.Backoff}
}

// Agents is config/agents/agents_config.json: presets for agents that are
// started with an id (spec 003 §9.3.2, §10.3.3). It is only read; who has
// registered in a league is another matter.
type Agents struct {
	Header
	LeagueManager LeagueManager `json:"league_manager"`
	Referees      []Referee     `json:"referees"`
	Players       []Player      `json:"players"`
}

// LeagueManager is the manager that agents look for.
type LeagueManager struct {
	DisplayName string         `json:"display_name"`
	Endpoint    string         `json:"endpoint,omitzero"` // "": made of the system's host and port
	Extra       jsontext.Value `json:",embed"`
}

// A Referee is the preset of one referee. What is zero is not preset.
type Referee struct {
	RefereeID            string         `json:"referee_id"`
	DisplayName          string         `json:"display_name,omitzero"`
	Endpoint             string         `json:"endpoint,omitzero"`
	Version              string         `json:"version,omitzero"`
	GameTypes            []string       `json:"game_types,omitzero"`
	MaxConcurrentMatches int            `json:"max_concurrent_matches,omitzero"`
	Active               bool           `json:"active"` // false: it must not be started
	Extra                jsontext.Value `json:",embed"`
}

// A Player is the preset of one player. What is zero is not preset.
type Player struct {
	PlayerID         string         `json:"player_id"`
	DisplayName      string         `json:"display_name,omitzero"`
	Version          string         `json:"version,omitzero"`
	PreferredLeagues []string       `json:"preferred_leagues,omitzero"` // the only ones it joins; none: any
	GameTypes        []string       `json:"game_types,omitzero"`
	DefaultEndpoint  string         `json:"default_endpoint,omitzero"`
	Active           bool           `json:"active"` // false: it must not be started
	Extra            jsontext.Value `json:",embed"`
}

// League is config/leagues/<league_id>.json: the rules of one league (spec 003
// §9.3.3, §10.3.4).
type League struct {
	Header
	LeagueID           string       `json:"league_id"`
	DisplayName        string       `json:"display_name"`
	GameType           string       `json:"game_type"`
	Status             string       `json:"status"` // only an StatusActive league is run
	Scoring            Scoring      `json:"scoring"`
	Participants       Participants `json:"participants"`
	Legs               int          `json:"legs"`
	Broadcast          string       `json:"broadcast"` // BroadcastRound or BroadcastMatch
	UniqueDisplayNames bool         `json:"unique_display_names"`
	RegistrationWindow int          `json:"registration_window_sec"` // 0: none
	RegistrationGrace  int          `json:"registration_grace_sec"`  // how long a registered agent may be silent before it may lose its slot
	AnnounceLead       int          `json:"announce_lead_sec"`
	Lifecycle          Lifecycle    `json:"lifecycle"`
	Replies            string       `json:"replies"`           // RepliesByMeaning or RepliesStrict
	Auth               string       `json:"auth"`              // AuthStrict or AuthLenient
	AllowedEndpoints   []string     `json:"allowed_endpoints"` // networks that agents may be in, see ParseNetwork; none: it depends on --host
	Limits             Limits       `json:"limits"`

	// What the league has otherwise than the system, if anything: members of
	// Timeouts and of RetryPolicy. Loader.Rules has what is in force.
	Timeouts    jsontext.Value `json:"timeouts,omitzero"`
	RetryPolicy jsontext.Value `json:"retry_policy,omitzero"`
}

// StatusActive is the status of a league that is run.
const StatusActive = "ACTIVE"

// When the standings are broadcast.
const (
	BroadcastRound = "round" // after every round
	BroadcastMatch = "match" // after every match as well
)

// Scoring is what a match is worth, and what separates players.
type Scoring struct {
	Win           int            `json:"win_points"`
	Draw          int            `json:"draw_points"`
	Loss          int            `json:"loss_points"`
	TechnicalLoss int            `json:"technical_loss_points"`
	Tiebreakers   []string       `json:"tiebreakers"`
	Extra         jsontext.Value `json:",embed"`
}

// Participants is how many may take part.
type Participants struct {
	MinPlayers  int            `json:"min_players"`
	MaxPlayers  int            `json:"max_players"`
	MinReferees int            `json:"min_referees"`
	MaxReferees int            `json:"max_referees"`
	Extra       jsontext.Value `json:",embed"`
}

// How the replies of players are judged.
const (
	RepliesByMeaning = "by_meaning" // what is clear counts, and what is not quite as the protocol has it is noted
	RepliesStrict    = protocol.RepliesStrict
)

// Who needs a token.
const (
	AuthStrict  = "strict"  // every agent
	AuthLenient = "lenient" // those of other makers may go without
)

// Limits are what one agent may ask of the manager: so much at once, and then so
// much a second.
type Limits struct {
	RequestsPerSecond int            `json:"requests_per_sec"`
	Burst             int            `json:"burst"`
	Extra             jsontext.Value `json:",embed"`
}

// Anywhere stands for all networks.
const Anywhere = "any"

// ParseNetwork reads a network such as 10.1.0.0/16, or a single address.
func ParseNetwork(s string) (netip.Prefix, error) {
	if one, err := netip.ParseAddr(s); err == nil && one.Zone() == "" {
		return netip.PrefixFrom(one, one.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(s)
	return prefix.Masked(), err
}

// Lifecycle is after how many failures in a row an agent gets nothing to do until
// it answers again, and after how many its part in the league is over (spec 003
// §2.8); 0 for never.
type Lifecycle struct {
	SuspendAfter  int            `json:"suspend_after"`
	ShutdownAfter int            `json:"shutdown_after"`
	Extra         jsontext.Value `json:",embed"`
}

// Games is config/games/games_registry.json: the games that leagues may play
// (spec 003 §9.3.4).
type Games struct {
	Header
	Games []Game `json:"games"`
}

// A Game is what is registered of one game (spec 003 §3.8.3, §9.3.4). ValidChoices
// lists, by kind of move, what may be chosen; 0-8 stands for nine numbers.
type Game struct {
	GameType     string              `json:"game_type"`
	DisplayName  string              `json:"display_name"`
	MoveTypes    []string            `json:"move_types"`
	ValidChoices map[string][]string `json:"valid_choices"`
	RulesModule  string              `json:"rules_module"`
	MaxRoundTime int                 `json:"max_round_time_sec"` // the longest a match may take; 0: it follows from the timeouts
	MinPlayers   int                 `json:"min_players"`        // of a match
	MaxPlayers   int                 `json:"max_players"`
	Extra        jsontext.Value      `json:",embed"`
}

// RefereeDefaults is config/defaults/referee.json: what a referee is when
// nobody says otherwise (spec 003 §9.3.5).
type RefereeDefaults struct {
	Header
	Version              string   `json:"version"`
	GameTypes            []string `json:"game_types"`
	MaxConcurrentMatches int      `json:"max_concurrent_matches"`
	LogLevel             string   `json:"log_level"`
}

// PlayerDefaults is config/defaults/player.json: what a player is when nobody
// says otherwise (spec 003 §9.3.5).
type PlayerDefaults struct {
	Header
	Version   string   `json:"version"`
	GameTypes []string `json:"game_types"`
	Strategy  string   `json:"strategy"`
	LogLevel  string   `json:"log_level"`
}

// Rules are what holds in one league: its file over the system's, over what is
// built in.
type Rules struct {
	League   *League
	System   *System
	Game     *Game
	Timeouts Timeouts
	Retry    RetryPolicy
}

// LongestMatch is the most time a match may take; 0 when that follows from the
// timeouts.
func (r *Rules) LongestMatch() time.Duration { return seconds(r.Game.MaxRoundTime) }

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
