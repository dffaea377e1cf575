package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// Matches is the folder of a league's match files.
func (f Folder) Matches(leagueID string) string { return f.path("data", "matches", leagueID) }

// Match is the path of the file of a match: of the attempt whose result counts.
func (f Folder) Match(leagueID, matchID string) string {
	return filepath.Join(f.Matches(leagueID), matchID+".json")
}

// Attempt is the path of the file of any other attempt at a match that a player knows of: it was
// abandoned, or its result was refused or annulled.
func (f Folder) Attempt(leagueID, matchID string, attempt int) string {
	return filepath.Join(f.Matches(leagueID), fmt.Sprintf("%s-a%d.json", matchID, attempt))
}

// ParseMatchFile parses the name of a file in the folder of match files. The attempt is 0 in the
// name of the file of a match.
func ParseMatchFile(name string) (matchID string, attempt int, ok bool) {
	matchID, ok = strings.CutSuffix(name, ".json")
	if at := strings.LastIndex(matchID, "-a"); at > 0 {
		if n, err := strconv.Atoi(matchID[at+2:]); err == nil && n > 0 {
			matchID, attempt = matchID[:at], n
		}
	}
	return matchID, attempt, ok && protocol.ValidLeagueID(matchID)
}

// Digest is the transcript digest of a match: hex SHA-256 of the compact JSON of its exchanges up
// to the result.
func (m *Match) Digest() string {
	text, err := m.Transcript[:min(m.Digested, len(m.Transcript))].appendTo(nil)
	if err != nil { // an exchange that was read or written has an encoding
		return ""
	}
	sum := sha256.Sum256(protocol.HideTokens(text))
	return hex.EncodeToString(sum[:])
}

// HasAnswer tells whether a player has answered a question or an invitation by the part of the transcript that
// Digest covers. An acknowledgement of GAME_ERROR is none: it shows the player only that it has missed them.
func (m *Match) HasAnswer(playerID string) bool {
	return slices.ContainsFunc(m.Transcript[:min(m.Digested, len(m.Transcript))], func(x Exchange) bool {
		asked := x.Method == protocol.Invite.Name || protocol.AsksForMove(x.Method)
		return asked && x.Direction == Received && x.PlayerID == playerID && (len(x.Message) > 0 || x.MessageOmitted != "")
	})
}

// Contradicts tells whether two documents of one attempt have different results or nonces.
func (m *Match) Contradicts(other *Match) bool {
	return m.Result != nil && other.Result != nil && !reflect.DeepEqual(m.Result, other.Result) ||
		m.Draw != nil && other.Draw != nil && m.Draw.Nonce != other.Draw.Nonce
}

// encode returns the JSON of a match file in one line. It hides tokens, for example in the name
// of a player that looks like one.
func (m *Match) encode() ([]byte, error) {
	short := *m
	short.Transcript = nil
	text, err := m.Transcript.marshal(&short)
	if err != nil {
		return nil, err
	}
	return append(protocol.HideTokens(text), '\n'), nil
}

// WriteMatch writes a match file without syncs: see WriteDerived.
func WriteMatch(d disk.Disk, path string, m *Match) error {
	text, err := m.encode()
	if err == nil {
		err = writeUnsynced(d, path, text)
	}
	return err
}

// AddMatch writes a match file that is missing. An existing file stays, and is no error: its referee
// may write it meanwhile.
func AddMatch(d disk.Disk, path string, m *Match) error {
	text, err := m.encode()
	if err == nil {
		err = makeFolder(d, filepath.Dir(path))
	}
	if err == nil {
		err = atomicfile.CreateFile(d, path, text, 0o644)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// LoadMatch reads the file of a match. A missing file is fs.ErrNotExist; any other error names
// the file.
func (f Folder) LoadMatch(leagueID, matchID string) (*Match, error) {
	return Read[Match](f.Disk, f.Match(leagueID, matchID))
}

// LoadAttempt reads an attempt at a match, from the file of the match or from its own. A missing
// file is fs.ErrNotExist; any other error names the file.
func (f Folder) LoadAttempt(leagueID, matchID string, attempt int) (*Match, error) {
	doc, err := f.LoadMatch(leagueID, matchID)
	if err == nil && doc.Attempt == attempt {
		return doc, nil
	}
	other, problem := Read[Match](f.Disk, f.Attempt(leagueID, matchID, attempt))
	if errors.Is(problem, fs.ErrNotExist) && err != nil {
		return nil, err
	}
	return other, problem
}

// WriteAttempt writes the file of an attempt, without syncs. A file that was written before under
// the name of the attempt is removed when that of the match is there. The file of an earlier attempt,
// whose result was annulled, gets the name of that attempt.
func (f Folder) WriteAttempt(m *Match) error {
	path, before := f.pathOf(m)
	own := f.Attempt(m.LeagueID, m.MatchID, m.Attempt)
	if before != nil && before.Attempt != m.Attempt && before.WrittenBy == WrittenByReferee {
		if err := f.KeepAttempt(before); err != nil {
			return err
		}
	}
	if err := WriteMatch(f.Disk, path, m); err != nil {
		return err
	}
	if own != path {
		_ = f.Disk.Remove(own) // usually there is none
	}
	return nil
}

// KeepAttempt gives an attempt, as it was read from the file of the match, a file of its own, before
// another one takes its place. It takes nothing away: another process may have done that
// meanwhile.
func (f Folder) KeepAttempt(m *Match) error {
	return AddMatch(f.Disk, f.Attempt(m.LeagueID, m.MatchID, m.Attempt), m)
}

// CountAttempt gives an attempt, as it was read from a file of its own and perhaps changed, the file of the match,
// durably: its own file may be the last copy. It does not rename that, because the referee may write it between a
// change and the renaming.
func (f Folder) CountAttempt(m *Match) error {
	text, err := m.encode()
	if err == nil {
		err = atomicfile.WriteFile(f.Disk, f.Match(m.LeagueID, m.MatchID), text, 0o644)
	}
	if err != nil {
		return err
	}
	if err := f.Disk.Remove(f.Attempt(m.LeagueID, m.MatchID, m.Attempt)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pathOf is the path at which the referee writes an attempt: that of the match for one that the
// manager has acknowledged, unless the match has a later attempt. There is what the file of the match has; nil if it is
// not the path, missing or damaged.
func (f Folder) pathOf(m *Match) (path string, there *Match) {
	path, own := f.Match(m.LeagueID, m.MatchID), f.Attempt(m.LeagueID, m.MatchID, m.Attempt)
	if m.Lifecycle.State != protocol.StateAcknowledged {
		return own, nil
	}
	there, err := Read[Match](f.Disk, path)
	if err == nil && there.Attempt > m.Attempt {
		return own, nil
	}
	return path, there
}

// restore writes the file of an attempt again, always or if it is not whole. The file of an acknowledged attempt
// stays where the manager may have moved it; one of its earlier state is removed.
func (f Folder) restore(m *Match, always bool) error {
	path, _ := f.pathOf(m)
	if own := f.Attempt(m.LeagueID, m.MatchID, m.Attempt); path != own {
		switch there, err := Read[Match](f.Disk, own); {
		case errors.Is(err, fs.ErrNotExist):
		case err == nil && there.Lifecycle.State != protocol.StateAcknowledged:
			_ = f.Disk.Remove(own)
		default:
			path = own
		}
	}
	there, err := Read[Match](f.Disk, path)
	if !always && err == nil && there.Attempt == m.Attempt && len(there.Transcript) >= len(m.Transcript) {
		return nil
	}
	return WriteMatch(f.Disk, path, m)
}

// OldMatches describe the match files in a folder at one moment. An agent that
// registers in a new league recognizes by them the files of an older league with the
// same id: files that were there before it registered, in folders that have not changed
// since.
type OldMatches struct {
	folder  Folder
	changed map[string]time.Time // by the clock of the disk, which may differ from that of the agent
}

// OldMatches describes the match files that are there now.
func (f Folder) OldMatches() *OldMatches {
	old := &OldMatches{folder: f, changed: map[string]time.Time{}}
	entries, err := f.Disk.ReadDir(f.path("data", "matches"))
	if err != nil {
		return old // no file is known to be old
	}
	for _, e := range entries {
		if c, ok := f.changes(e.Name()); ok {
			old.changed[e.Name()] = c
		}
	}
	return old
}

// changes is the modification time of a league's match folder.
func (f Folder) changes(leagueID string) (at time.Time, ok bool) {
	info, err := f.Disk.Stat(f.Matches(leagueID))
	if err != nil || !info.IsDir() {
		return at, false
	}
	return info.ModTime(), true
}

// Archive moves a league's old match files into a folder below archive/ and returns
// its name. It returns "" if there are none, or if the folder has changed since: then
// the new league has begun, and another agent has moved the old files. Many agents may
// call Archive at the same time. An error is that of the file system.
func (o *OldMatches) Archive(leagueID, stamp string) (string, error) {
	if _, err := o.folder.Disk.Lstat(o.folder.Journal(leagueID)); err == nil {
		return "", nil // the journal is here, so the manager archives the files
	}
	before, known := o.changed[leagueID]
	now, there := o.folder.changes(leagueID)
	if !known || !there || now != before {
		return "", nil
	}
	archive := o.folder.path("archive")
	if err := makeFolder(o.folder.Disk, archive); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s-matches", leagueID, strings.ReplaceAll(stamp, ":", ""))
	into := filepath.Join(archive, name)
	for n := 2; ; n++ {
		err := o.folder.Disk.Rename(o.folder.Matches(leagueID), into)
		switch {
		case err == nil:
			return into, nil
		case missing(err):
			return "", nil // another agent has moved them
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
		into = filepath.Join(archive, fmt.Sprintf("%s-%d", name, n)) // two leagues within a second
	}
}

// The bounds of a transcript. A match of our agents has some twenty exchanges of
// a few hundred bytes; the bounds keep a player from filling the disk.
const (
	MaxExchanges      = 4000     // a match of 400 turns has 1,600 if each answer is refused once, and both sides move
	ReservedExchanges = 4        // of MaxExchanges: GAME_OVER to both players and its acknowledgements
	MaxMessage        = 64 << 10 // bytes of one message
	MaxDetail         = 1000     // bytes of ExchangeError.Detail
	MaxAnswer         = 500      // bytes of Exchange.Answer
)

// The directions of an exchange, as the referee sees it.
const (
	Sent     = "sent"
	Received = "received"
)

// The codes of Exchange.MessageOmitted.
const (
	OmittedTooLarge  = "too_large" // it has more than MaxMessage bytes
	OmittedUnencoded = "unencoded" // it has no encoding as JSON
)

// An Exchange is one message of a transcript without its token; or, received,
// the error that came instead of one.
type Exchange struct {
	At          string         `json:"at"` // with milliseconds
	Direction   string         `json:"direction"`
	PlayerID    string         `json:"player_id"`
	Method      string         `json:"method"`
	MessageType string         `json:"message_type,omitzero"`
	Try         int            `json:"try"` // from 1: which call attempt at this question it is
	Message     jsontext.Value `json:"message,omitzero"`
	Error       *ExchangeError `json:"error,omitzero"` // what was wrong with the response, or why there is none

	// MessageOmitted is why there was a message that the file does not hold: one
	// of the codes above. Read it with Omission.
	MessageOmitted string `json:"message_omitted,omitzero"`

	// Answer is the beginning of a response with an error as it arrived, without tokens: prose,
	// a page of HTML, a member with another name. At most MaxAnswer bytes and an ellipsis; "" if the
	// response came in memory.
	Answer string `json:"answer,omitzero"`

	// UnreadableMembers are the members of the message that the referee could not
	// read. Ask for one with Unreadable.
	UnreadableMembers []string `json:"unreadable_members,omitzero"`

	// WrongToken says that the auth_token of the message, which the file does not hold, was neither that of the
	// question nor "none".
	WrongToken bool `json:"wrong_token,omitzero"`

	Timing *protocol.Timing `json:"timing,omitzero"` // received: where the time went, as far as the carrier knows

	// Void is a sentence for people: why a call attempt is void, because the fault
	// was the referee's and not the player's. The evidence is At, if the referee read
	// a response too late (protocol.Deadline), queued_ms of the timing, or one of the
	// two members below.
	Void    string  `json:"void,omitzero"`
	Stalled float64 `json:"stalled_ms,omitzero"` // how long the referee's process stalled when the window ended
	Local   bool    `json:"local,omitzero"`      // the call failed at the referee's side and never reached the player

	// Used is what the attempt took from the time bank of the player, received; nil without one, if the attempt is void,
	// and for what costs no time: an invitation, a ready turn, a notice.
	Used *protocol.TimeUsed `json:"time_used,omitzero"`
}

// An ExchangeError is a failure by the catalogue.
type ExchangeError struct {
	ErrorCode string `json:"error_code"`
	ErrorName string `json:"error_name"`
	Detail    string `json:"detail"` // for people; no code reads it
}

// Omission is the code of a message that the file does not hold; "" for none.
func (e *Exchange) Omission() string {
	if len(e.Message) > 0 || e.Error == nil {
		return ""
	}
	return e.MessageOmitted
}

// Unreadable tells whether the referee could not read a member of the message.
func (e *Exchange) Unreadable(member string) bool {
	return slices.Contains(e.UnreadableMembers, member)
}
