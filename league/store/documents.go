package store

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// A Header is the beginning of every file.
type Header struct {
	SchemaVersion string `json:"schema_version"`
	LastUpdated   string `json:"last_updated,omitzero"` // "" in files of lines
}

// NewHeader is the header of a file that this program writes.
func NewHeader(now string) Header { return Header{SchemaVersion, now} }

// Stamp is the header of a document.
func (h Header) Stamp() Header { return h }

// A DerivedHeader is the beginning of a file that the manager derives from the journal.
type DerivedHeader struct {
	Header
	LeagueID    string `json:"league_id"`
	JournalHead string `json:"journal_head"` // hash of the journal's last event when this was written
}

// Head is JournalHead.
func (h DerivedHeader) Head() string { return h.JournalHead }

// Standings is standings.json (spec 003 §9.4.1).
type Standings struct {
	DerivedHeader
	Version         int `json:"version"` // the number of results in it
	RoundsCompleted int `json:"rounds_completed"`
	// JournalHeadSignature is the manager's signature of JournalHead; "" in a league that
	// does not sign.
	JournalHeadSignature string            `json:"journal_head_signature,omitzero"`
	Standings            []league.Standing `json:"standings"`
}

// Agents is agents.json: the registered agents of a league (004 §2, "agents_config
// is updated"). It holds no token.
type Agents struct {
	DerivedHeader
	Referees []Agent `json:"referees"` // in order of ids
	Players  []Agent `json:"players"`  // in order of ids
}

// An Agent is one entry of agents.json.
type Agent struct {
	RefereeID       string   `json:"referee_id,omitzero"`
	PlayerID        string   `json:"player_id,omitzero"`
	DisplayName     string   `json:"display_name"`
	Endpoint        string   `json:"endpoint"`
	Version         string   `json:"version,omitzero"`          // of the agent
	ProtocolVersion string   `json:"protocol_version,omitzero"` // "" if it named none
	GameTypes       []string `json:"game_types,omitzero"`
	MaxConcurrent   int      `json:"max_concurrent_matches,omitzero"` // of a referee
	RegisteredAt    string   `json:"registered_at"`
	Answered        bool     `json:"answered"` // something answered at its endpoint
	State           string   `json:"state"`    // REGISTERED, ACTIVE, SUSPENDED or SHUTDOWN (spec 003 §2.8)
	StateReason     string   `json:"state_reason,omitzero"`
}

// Rounds is rounds.json (spec 003 §9.4.2).
type Rounds struct {
	DerivedHeader
	TotalRounds int     `json:"total_rounds"`
	Rounds      []Round `json:"rounds"`
}

// A Round is one finished round of rounds.json.
type Round struct {
	RoundID     int                   `json:"round_id"`
	AnnouncedAt string                `json:"announced_at"`
	CompletedAt string                `json:"completed_at"`
	Summary     protocol.RoundSummary `json:"summary"`
	Matches     []RoundMatch          `json:"matches"`
}

// A RoundMatch is a match in rounds.json.
type RoundMatch struct {
	MatchID        string  `json:"match_id"`
	PlayerAID      string  `json:"player_A_id"`
	PlayerBID      string  `json:"player_B_id"`
	RefereeID      string  `json:"referee_id"`
	Attempt        int     `json:"attempt"`
	Status         string  `json:"status"`
	WinnerPlayerID *string `json:"winner_player_id"`

	RuledBy         string `json:"ruled_by,omitzero"`         // the organiser that decided the result
	AnnulledResults int    `json:"annulled_results,omitzero"` // earlier results that no longer count
}

// The writers of a match file.
const (
	WrittenByReferee = "referee"
	WrittenByManager = "manager" // from the report, because the referee stores its files elsewhere or not at all
)

// A Match is the file of one match (spec 003 §9.4.3).
type Match struct {
	Header
	LeagueID string `json:"league_id"`
	RoundID  int    `json:"round_id"`
	MatchID  string `json:"match_id"`
	GameType string `json:"game_type"`
	protocol.GameID
	Attempt        int         `json:"attempt"`
	ConversationID string      `json:"conversation_id"`
	RefereeID      string      `json:"referee_id"`
	WrittenBy      string      `json:"written_by"`
	PlayerA        MatchPlayer `json:"player_A"`
	PlayerB        MatchPlayer `json:"player_B"`
	Lifecycle      Lifecycle   `json:"lifecycle"`
	// the error by which the manager rejected a DISPUTED result
	Refusal    *ExchangeError        `json:"refusal,omitzero"`
	Transcript Transcript            `json:"transcript"`                  // empty if the manager wrote the file
	Omitted    int                   `json:"transcript_omitted,omitzero"` // the number of exchanges beyond MaxExchanges
	Digested   int                   `json:"digested_exchanges,omitzero"` // the number of exchanges up to the result
	Draw       *protocol.Draw        `json:"draw,omitzero"`
	Result     *protocol.MatchResult `json:"result"` // null before FINISHED
	Scoring    league.MatchPoints    `json:"scoring"`
	Started    string                `json:"started,omitzero"`         // as in the assignment; "" in a league that does not sign
	Members    string                `json:"members,omitzero"`         // as in the assignment; a plain match has no draw and no evidence
	Conduct    string                `json:"conduct_version,omitzero"` // of the rules of the conversation: conduct.Version

	protocol.Evidence // without the digest, which only the journal has

	// Boards are what the program of the game has shown of the board, before each turn and at the end.
	Boards []Board `json:"boards,omitzero"`
}

// A Board is what a program has shown of the board of its game.
type Board struct {
	Turn  int        `json:"turn"`  // before which it was so, from 1
	Cells [][]string `json:"board"` // rows of cells
}

// A MatchPlayer is one side of a match.
type MatchPlayer struct {
	PlayerID          string `json:"player_id"`
	DisplayName       string `json:"display_name"`
	EntropyCommitment string `json:"entropy_commitment,omitzero"`
}

// A Lifecycle is the current state of a match and all states with their times.
type Lifecycle struct {
	State  string       `json:"state"`
	States []StateEntry `json:"states"`
}

// A StateEntry is a state of a match and the time at which it began.
type StateEntry struct {
	State string `json:"state"`
	At    string `json:"at"`
}

// A History is the file of a player's matches (spec 003 §9.4.4).
type History struct {
	HistoryHeader
	Stats   protocol.PlayerStats `json:"stats"`
	Matches []HistoryMatch       `json:"matches"`

	// Only history.jsonl has these.
	Decisions   []HistoryDecision   `json:"-"`
	Differences []HistoryDifference `json:"-"`
	Heads       []HistoryHead       `json:"-"`
	Model       *ModelUse           `json:"-"` // nil for a player without a language model
	Earlier     []EarlierMatch      `json:"-"` // in the order of the lines that replaced them
	Unknown     []*LineError        `json:"-"` // lines with members that this program does not know
}

// A HistoryMatch is one match as its player knows it.
type HistoryMatch struct {
	protocol.PlayedMatch
	Attempt int `json:"attempt"`
	// DrawCommitment is the referee's commitment in the invitation, Entropy this player's
	// part of the draw; "" for none.
	DrawCommitment string `json:"draw_commitment,omitzero"`
	Entropy        string `json:"entropy,omitzero"`
	// ReportedChoice is the choice that GAME_OVER or the manager's results report for this
	// player, if it differs from the player's own decision.
	ReportedChoice string `json:"reported_choice,omitzero"`
}

// WriteRounds is WriteDerived for rounds.json: r without its rounds, which the function round
// makes by their numbers from 1. It encodes one round at a time and writes a match to a line,
// because a league of 1,000 players has half a million matches. After an error of round the old
// file stays.
func WriteRounds(d disk.Disk, path string, r *Rounds, completed int, round func(number int) (*Round, error)) error {
	if err := makeFolder(d, filepath.Dir(path)); err != nil {
		return err
	}
	start := *r
	start.Rounds = []Round{}
	head, err := json.Marshal(&start, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return atomicfile.WriteUnsynced(d, path, 0o644, func(w io.Writer) error {
		_, _ = w.Write(bytes.TrimSuffix(head, []byte("]\n}"))) // the last write returns its error
		separator, match := "", []byte(`{"match_id":`)
		for number := 1; number <= completed; number++ {
			record, err := round(number)
			if err != nil {
				return err
			}
			text, err := json.Marshal(record)
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(w, "%s\n    %s", separator, bytes.ReplaceAll(text, match, append([]byte("\n      "), match...)))
			separator = ","
		}
		_, err := io.WriteString(w, "\n  ]\n}\n")
		return err
	})
}
