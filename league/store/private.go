package store

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/gofrs/flock"

	"evenodd/league/store/atomicfile"
)

// An Identity is what an agent keeps, to come back as who it was. It is a
// secret of that agent.
type Identity struct {
	SchemaVersion string `json:"schema_version"`
	LastUpdated   string `json:"last_updated"`
	Role          string `json:"role"` // player or referee
	DisplayName   string `json:"display_name"`
	LeagueID      string `json:"league_id"`
	AgentID       string `json:"agent_id"`
	AuthToken     string `json:"auth_token"`
	ManagerAuth   string `json:"manager_auth,omitzero"`
	Secret        string `json:"secret"` // 64 hexadecimal digits: what the agent derives its own randomness from
}

// An Application is a registration that was sent and whose answer was not kept
// yet: repeated in the same conversation, it gets that answer.
type Application struct {
	SchemaVersion  string `json:"schema_version"`
	LastUpdated    string `json:"last_updated"`
	Role           string `json:"role"`
	DisplayName    string `json:"display_name"`
	ConversationID string `json:"conversation_id"`
}

// Application is the path of an agent's registration while it has no answer.
func (f Folder) Application(role, name string) string {
	return strings.TrimSuffix(f.Identity(role, name), ".json") + ".registering.json"
}

// Identity is the path of an agent's identity: one for each role and name, and
// what else tells agents apart, so that many share a folder.
func (f Folder) Identity(role, name string) string {
	readable := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name)) // names that look alike in ASCII are still apart
	return f.private(fmt.Sprintf("%s-%s-%x.json", role, readable[:min(len(readable), 40)], sum[:4]))
}

// makePrivate makes a folder for its owner's eyes only; the one that it is in is
// for everybody.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Identities are the paths of all identities of a role.
func (f Folder) Identities(role string) []string {
	var paths []string
	entries, _ := os.ReadDir(f.private("")) // none, when there is no such folder
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, role+"-") && !strings.HasSuffix(name, ".registering.json") {
			paths = append(paths, f.private(name))
		}
	}
	return paths
}

// WritePrivate writes an Identity or an Application, for the owner's eyes only.
func WritePrivate(path string, document any) error {
	raw, err := encode(document)
	if err == nil {
		err = makePrivate(filepath.Dir(path))
	}
	if err == nil {
		err = atomicfile.WriteFile(path, raw, 0o600)
	}
	return err
}

// Secret is what the tokens of a league are derived from: 32 bytes in a file
// that only its owner can read. A league that has agents needs the one they got
// their tokens from; a new league gets a new one, whatever an older league of
// the name has left.
func (f Folder) Secret(leagueID string, hasAgents bool) (secret [32]byte, err error) {
	path := f.private(leagueID + ".key")
	if !hasAgents {
		_, _ = crand.Read(secret[:]) // never fails
		if err = makePrivate(filepath.Dir(path)); err == nil {
			err = atomicfile.WriteFile(path, []byte(hex.EncodeToString(secret[:])+"\n"), 0o600)
		}
		return secret, err
	}
	raw, err := os.ReadFile(path)
	switch {
	case missing(err):
		return secret, fmt.Errorf("%s is missing: without it the agents' tokens are not known; restore it, or begin again with --new-league", path)
	case err != nil:
		return secret, err
	}
	text := strings.TrimSpace(string(raw))
	if n, err := hex.Decode(secret[:], []byte(text[:min(len(text), 2*len(secret))])); err != nil || n != len(secret) || len(text) != 2*n {
		return secret, fmt.Errorf("%s: not a key of 64 hexadecimal digits: restore it, or begin again with --new-league", path)
	}
	return secret, nil
}

// Traces are files that a league has left outside its journal: what a league
// that has none cannot have.
func (f Folder) Traces(leagueID string) []string {
	var found []string
	for _, path := range []string{f.Standings(leagueID), f.Rounds(leagueID), f.Matches(leagueID), f.Agents(leagueID)} {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			entries, _ := os.ReadDir(path) // one that cannot be read is not empty, as far as is known
			if len(entries) == 0 {
				continue
			}
		}
		if err == nil {
			found = append(found, path)
		}
	}
	return found
}

// A LockedError says that another process runs the league.
type LockedError struct{ Path string }

// Error says what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf("another manager runs this league (it holds %s): stop it first, or use another --data or --league-id", e.Path)
}

// Lock keeps other managers out of a league until the returned function is
// called or the process is gone. A league that is locked is a *LockedError.
func (f Folder) Lock(leagueID string) (unlock func() error, err error) {
	path := f.private(leagueID + ".lock")
	if err := makePrivate(filepath.Dir(path)); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	case !locked:
		return nil, &LockedError{path}
	}
	return lock.Close, nil
}

// Archive moves what there is of a league out of the way, the players' histories
// included, into a folder below archive/ whose name it returns; "" when there
// was nothing. What is there is laid out as it was, so that it can be audited.
// The league must be locked.
func (f Folder) Archive(leagueID, stamp string) (string, error) {
	into := Folder(filepath.Join(string(f), "archive", leagueID+"-"+strings.ReplaceAll(stamp, ":", "")))
	type move struct{ from, to string }
	// The key first: what is left behind without it begins nothing.
	moves := []move{
		{f.private(leagueID + ".key"), into.private(leagueID + ".key")},
		{filepath.Dir(f.Journal(leagueID)), filepath.Dir(into.Journal(leagueID))},
		{f.Matches(leagueID), into.Matches(leagueID)},
	}
	players, err := os.ReadDir(f.Players())
	if err != nil && !missing(err) {
		return "", err
	}
	for _, p := range players {
		history, err := Read[History](f.History(p.Name()))
		if err == nil && history.LeagueID == leagueID {
			moves = append(moves, move{f.History(p.Name()), into.History(p.Name())})
		}
	}
	moved := ""
	for _, m := range moves {
		if _, err := os.Lstat(m.from); missing(err) {
			continue
		}
		if moved == "" {
			if err := os.MkdirAll(filepath.Dir(string(into)), 0o755); err != nil {
				return "", err
			}
			if err := os.Mkdir(string(into), 0o755); err != nil { // an archive is never written over
				return "", err
			}
		}
		moved = string(into)
		open := func(dir string) error { return os.MkdirAll(dir, 0o755) }
		if filepath.Base(filepath.Dir(m.to)) == "private" {
			open = makePrivate
		}
		if err := open(filepath.Dir(m.to)); err != nil {
			return moved, err
		}
		if err := os.Rename(m.from, m.to); err != nil {
			return moved, err
		}
	}
	return moved, nil
}
