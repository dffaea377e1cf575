package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// HistoryLines returns the path of the history.jsonl that belongs to a history.json. The
// player appends its matches to it. It is never made from other files, because it is
// evidence of its own; history.json derives from it.
func HistoryLines(history string) string { return history + "l" }

// HistoryOf returns the path of the history.json of a league beside that of another league.
func HistoryOf(usual, leagueID string) string {
	if !protocol.ValidLeagueID(leagueID) {
		return usual
	}
	return filepath.Join(filepath.Dir(usual), "history."+leagueID+".json")
}

// A HistoryHeader is the first line of history.jsonl. Each further line is a
// HistoryMatch, a HistoryDecision, a HistoryDifference, a HistoryHead or HistoryTotals. A later line of the same match
// replaces the earlier one, but has its part of the draw if it names none of the same attempt; decisions, differences,
// heads and totals replace nothing.
type HistoryHeader struct {
	Header
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name"`
	LeagueID    string `json:"league_id"`
}

// ReadHistoryLines reads history.jsonl. The history has no last_updated. lines are the
// numbers of the lines of its matches. An incomplete last line, of torn bytes, does not
// count. A file without a complete line is fs.ErrNotExist, too.
func ReadHistoryLines(d disk.Disk, path string) (h *History, lines []int, torn int, err error) {
	return readHistory(d, path, nil)
}

// readHistory is ReadHistoryLines without the lines for which omit returns true; nil for all lines.
func readHistory(d disk.Disk, path string, omit func(text []byte) bool) (h *History, lines []int, torn int, err error) {
	h = &History{Matches: []HistoryMatch{}}
	index := map[string]int{}
	unknown, damage, torn, err := readLines(d, path, &h.HistoryHeader, func(number int, text []byte) error {
		if omit != nil && omit(text) {
			return nil
		}
		var l historyLine
		unknown, err := readLine(text, &l)
		if err != nil {
			return err
		}
		if unknown != nil {
			h.Unknown = append(h.Unknown, &LineError{number, unknown})
		}
		m := &l.HistoryMatch
		switch {
		case l.Decision != nil:
			d := HistoryDecision{MatchID: m.MatchID, Attempt: m.Attempt, Decision: *l.Decision, Line: number}
			h.Decisions = append(h.Decisions, d)
			return nil
		case l.Difference != nil:
			d := HistoryDifference{MatchID: m.MatchID, Attempt: m.Attempt, Difference: *l.Difference, Line: number}
			h.Differences = append(h.Differences, d)
			return nil
		case l.Head != nil:
			h.Heads = append(h.Heads, HistoryHead{Head: *l.Head, Line: number})
			return nil
		case l.Model != nil:
			h.addModel(l.Model)
			return nil
		}
		if i, known := index[m.MatchID]; known {
			if old := &h.Matches[i]; m.Attempt == old.Attempt {
				m.DrawCommitment, m.Entropy = cmp.Or(m.DrawCommitment, old.DrawCommitment), cmp.Or(m.Entropy, old.Entropy)
			} else {
				h.Earlier = append(h.Earlier, EarlierMatch{*old, lines[i]})
			}
			h.Matches[i], lines[i] = *m, number
			return nil
		}
		index[m.MatchID] = len(lines)
		h.Matches, lines = append(h.Matches, *m), append(lines, number)
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, 0, err
	case len(damage) > 0:
		return nil, nil, 0, fmt.Errorf("%s: %w", path, damage[0])
	case h.SchemaVersion == "":
		return nil, nil, torn, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	h.Stats, h.Unknown = StatsOf(h.Matches), append(unknown, h.Unknown...)
	return h, lines, torn, nil
}

// A historyLine is any line after the first.
type historyLine struct {
	HistoryMatch
	Decision   *Decision             `json:"decision"`
	Difference *Difference           `json:"difference"`
	Head       *SignedHead           `json:"head"`
	Model      *protocol.ModelTotals `json:"model"`
}

// An EarlierMatch is an entry that one of a later attempt at the match has replaced.
type EarlierMatch struct {
	HistoryMatch
	Line int // from 2
}

// A HistoryDecision is the line of a decision, which the player writes before it answers
// the question.
type HistoryDecision struct {
	MatchID  string   `json:"match_id"`
	Attempt  int      `json:"attempt"`
	Decision Decision `json:"decision"`
	Line     int      `json:"-"` // from 2, where it was read
}

// A Decision is the move of a player, with everything that it signed. Without a signature
// it is one of a league that does not sign.
type Decision struct {
	Turn               int                      `json:"turn"`
	Choice             string                   `json:"choice"`
	Entropy            string                   `json:"entropy,omitzero"`
	RefereeID          string                   `json:"referee_id,omitzero"`
	Started            string                   `json:"started,omitzero"`
	RoleInMatch        string                   `json:"role_in_match,omitzero"`
	DrawCommitment     string                   `json:"draw_commitment,omitzero"`
	EntropyCommitments league.PerPlayer[string] `json:"entropy_commitments,omitzero"`
	MovesHash          string                   `json:"moves_hash,omitzero"` // "" in turn 1 without an opening
	ViewHash           string                   `json:"view_hash,omitzero"`  // "" unless the game hides something
	Fallback           bool                     `json:"fallback,omitzero"`   // as in the reply; not signed
	Signature          string                   `json:"signature,omitzero"`

	// Refused are the earlier answers to the question, all free text, that the referee has refused, oldest first. Each has
	// a line of its own before this one.
	Refused []RefusedText `json:"refused,omitzero"`
}

// A RefusedText is an answer in free text that the referee has refused, and why, as it said in GAME_ERROR.
type RefusedText struct {
	Choice string `json:"choice"`
	Reason string `json:"reason,omitzero"`
}

// Statement returns what a player signed with the decision.
func (d *HistoryDecision) Statement(playerID string) *protocol.MoveStatement {
	return &protocol.MoveStatement{
		Started: d.Decision.Started, MatchID: d.MatchID, Attempt: d.Attempt, RefereeID: d.Decision.RefereeID,
		PlayerID:           playerID,
		DrawCommitment:     d.Decision.DrawCommitment,
		EntropyCommitments: protocol.InOrder(d.Decision.EntropyCommitments, playerID, d.Decision.RoleInMatch),
		Turn:               d.Decision.Turn, Move: d.Decision.Choice, Entropy: d.Decision.Entropy,
		MovesHash: d.Decision.MovesHash, ViewHash: d.Decision.ViewHash,
	}
}

// A HistoryDifference is the line of a difference between what a player was shown in a match of a game that hides
// something and what follows from the rules. The player writes it after the match, if it has the game.
type HistoryDifference struct {
	MatchID    string     `json:"match_id"`
	Attempt    int        `json:"attempt"`
	Difference Difference `json:"difference"`
	Line       int        `json:"-"` // from 2, where it was read
}

// A Difference is what was shown, and what is right: hashes of views, outcomes of draws, or moves.
type Difference struct {
	Turn     int    `json:"turn"`
	Member   string `json:"member"` // "view", "draws", "moves", or "draw", the opened nonce and entropies
	Shown    string `json:"shown"`
	Computed string `json:"computed"`
}

// HistoryTotals are the line that a process of a player with a language model writes when it ends.
type HistoryTotals struct {
	Model *protocol.ModelTotals `json:"model"`
}

// A ModelUse is what a player has asked its language model in a league.
type ModelUse struct {
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name"`
	protocol.ModelTotals
}

// addModel adds the totals of a process. The latencies are those of the process with the most requests.
func (h *History) addModel(m *protocol.ModelTotals) {
	if h.Model == nil {
		h.Model = &ModelUse{PlayerID: h.PlayerID, DisplayName: h.DisplayName}
	}
	sum := &h.Model.ModelTotals
	if m.Requests > sum.Requests {
		sum.Name, sum.MedianMS, sum.P90MS = m.Name, m.MedianMS, m.P90MS
	}
	sum.Requests += m.Requests
	sum.TokensIn += m.TokensIn
	sum.TokensOut += m.TokensOut
}

// Models returns the use of models in a league, by the histories in the folder that can be read.
func (f Folder) Models(leagueID string) (all []ModelUse) {
	players, _ := f.Disk.ReadDir(f.Players()) // missing if all players are elsewhere
	for _, p := range players {
		for _, path := range []string{f.History(p.Name()), HistoryOf(f.History(p.Name()), leagueID)} {
			h, _, _, err := ReadHistoryLines(f.Disk, HistoryLines(path))
			if err == nil && h.LeagueID == leagueID && h.Model != nil {
				all = append(all, *h.Model)
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b ModelUse) int { return league.CompareIDs(a.PlayerID, b.PlayerID) })
	return all
}

// A HistoryHead is the line of a signed head of the league's journal.
type HistoryHead struct {
	Head SignedHead `json:"head"`
	Line int        `json:"-"` // from 2, where it was read
}

// A SignedHead is a head of the league's journal that the manager has signed.
type SignedHead struct {
	Round                int    `json:"round"` // that it ended; 0 for the end of the league
	JournalHead          string `json:"journal_head"`
	JournalHeadSignature string `json:"journal_head_signature"`
	ManagerKey           string `json:"manager_key,omitzero"` // by the player's registration
}

// The results of a match for a player, which Technical may precede.
const (
	ResultWin  = "WIN"
	ResultDraw = "DRAW"
	ResultLoss = "LOSS"
	Technical  = "TECHNICAL_" // before a win or a loss
)

// ResultFor is what the result of a match is for one of its players.
func ResultFor(playerID string, r *league.Result) string {
	text := [...]string{
		league.Win: ResultWin, league.Draw: ResultDraw, league.Loss: ResultLoss, league.TechnicalLoss: ResultLoss,
	}[r.Outcome(playerID)]
	if r.Status == league.StatusTechnicalLoss {
		text = Technical + text
	}
	return text
}

// StatsOf counts the matches of a history.
func StatsOf(matches []HistoryMatch) (s protocol.PlayerStats) {
	for i := range matches {
		Count(&s, matches[i].Result, 1)
	}
	return s
}

// Count adds n times a match with a result to the counts.
func Count(s *protocol.PlayerStats, result string, n int) {
	s.TotalMatches += n
	switch strings.TrimPrefix(result, Technical) {
	case ResultWin:
		s.Wins += n
	case ResultDraw:
		s.Draws += n
	default:
		s.Losses += n
	}
}

// ErrOtherLeague is the error of AppendHistory for a file of another league.
var ErrOtherLeague = errors.New("the history of another league has this name")

// AppendHistory appends lines to a history.jsonl, without sync: a *HistoryMatch, a
// *HistoryDecision or a *HistoryHead each. It creates a missing file
// with its header, and cuts off an incomplete last line. Its caller is the only writer.
// The file is not kept open, because a process may have many players. If the file still has
// the size that AppendHistory has set at the last call, AppendHistory does not read it; 0 for a file
// that it must read. The error is ErrOtherLeague for a file of another league, or that of the file system.
func AppendHistory(d disk.Disk, path string, header *HistoryHeader, lines []any, known *int64) error {
	size := *known
	*known = 0
	var f disk.File
	err := inFolder(d, filepath.Dir(path), makeUnsynced, func() (err error) {
		f, err = d.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
		return err
	})
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && (size == 0 || size != info.Size()) {
		size, err = checkHistory(f, header, info.Size())
	}
	var text []byte
	if err == nil && size == 0 {
		text, err = appendLine(text, header)
	}
	for _, line := range lines {
		if err == nil {
			text, err = appendLine(text, line)
		}
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		*known = size + int64(len(text))
	}
	return err
}

// makeUnsynced creates a folder without a sync of its name, as its files are written. Those above it have other files.
func makeUnsynced(d disk.Disk, dir string) error {
	return inFolder(d, filepath.Dir(dir), makeFolder, func() error {
		if err := d.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

// SyncAgain makes a history.jsonl durable after a failed sync: later syncs of the same file succeed, and do not write
// what the failed one has lost.
func SyncAgain(d disk.Disk, path string) error {
	text, err := disk.Read(d, path, maxDerived)
	if err == nil {
		err = atomicfile.WriteFile(d, path, text, 0o644)
	}
	return err
}

func appendLine(text []byte, value any) ([]byte, error) {
	line, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(append(text, appendfile.Seal(line)...), '\n'), nil
}

// checkHistory checks that a file is of the league of a header, cuts off incomplete last
// lines, which a crash or a full disk has left, and returns the size.
func checkHistory(f disk.File, header *HistoryHeader, size int64) (int64, error) {
	whole, torn, err := appendfile.Lines(io.NewSectionReader(f, 0, size), func(number int, text []byte) error {
		if number > 1 {
			return nil
		}
		if err := appendfile.CheckSeal(1, text); err != nil {
			return err
		}
		var there HistoryHeader
		if _, err := readHeader(text, &there); err != nil || there.LeagueID != header.LeagueID {
			return errors.Join(err, ErrOtherLeague)
		}
		return nil
	})
	if err == nil && torn > 0 {
		// the sync keeps a power cut from leaving the torn bytes between later ones
		err = errors.Join(f.Truncate(whole), f.Sync())
	}
	return whole, err
}

// DeriveHistory writes history.json, without sync, from its history.jsonl. A history.json of
// another league stays. A history.jsonl that cannot be read is an error.
func DeriveHistory(d disk.Disk, path, now string) error {
	h, _, _, err := readHistory(d, HistoryLines(path), func(text []byte) bool {
		return bytes.Contains(text, []byte(`,"decision":{`)) // half of the lines, and history.json has none of them
	})
	if err != nil {
		return err
	}
	if other := leagueOf(d, path); other != "" && other != h.LeagueID {
		return nil
	}
	h.LastUpdated = now
	return WriteDerived(d, path, h)
}

// leagueOf returns the league in the header of a history.json, whose matches it does not read; "" for none.
func leagueOf(d disk.Disk, path string) string {
	file, err := disk.Open(d, path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	tokens := jsontext.NewDecoder(io.LimitReader(file, maxPrivate))
	for isLeague := false; ; {
		token, err := tokens.ReadToken()
		if err != nil || tokens.StackDepth() != 1 {
			return ""
		}
		if isLeague {
			return token.String()
		}
		_, read := tokens.StackIndex(1)
		isLeague = read%2 == 1 && token.String() == "league_id" // the name of a member
	}
}

// historyLeague returns the league of the history of a player in a folder; "" for none.
func (f Folder) historyLeague(playerID string) string {
	if h, _, _, err := ReadHistoryLines(f.Disk, HistoryLines(f.History(playerID))); err == nil {
		return h.LeagueID
	}
	if h, err := Read[HistoryHeader](f.Disk, f.History(playerID)); err == nil {
		return h.LeagueID
	}
	return ""
}
