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

// Identity is the path of an agent's identity: one for each role and name, so
// that many agents share a folder.
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

// WritePrivate writes an Identity or an Application, for the owner's eyes only.
func WritePrivate(path string, document any) error {
	raw, err := encode(document)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, raw, 0o600)
	}
	return err
}

// Secret is what the tokens of a league are derived from: 32 bytes in a file
// that only its owner can read. It is made unless it must be there already.
func (f Folder) Secret(leagueID string, mustExist bool) (secret [32]byte, err error) {
	path := f.private(leagueID + ".key")
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		digits := strings.TrimSpace(string(raw))
		key, err := hex.DecodeString(digits[:min(len(digits), 66)])
		if copy(secret[:], key); err != nil || len(key) != len(secret) {
			return secret, fmt.Errorf("%s: not a key of 64 hexadecimal digits: restore it, or begin again with --new-league", path)
		}
		return secret, nil
	case !missing(err):
		return secret, err
	case mustExist:
		return secret, fmt.Errorf("%s is missing: without it the agents' tokens are not known; restore it, or begin again with --new-league", path)
	}
	_, _ = crand.Read(secret[:]) // never fails
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = atomicfile.CreateFile(path, []byte(hex.EncodeToString(secret[:])+"\n"), 0o600)
	}
	return secret, err
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
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
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

// Archive moves what there is of a league out of the way, into a folder below
// archive/ whose name it returns; "" when there was nothing. The league must be
// locked.
func (f Folder) Archive(leagueID, stamp string) (string, error) {
	moves := []struct{ from, name string }{
		{filepath.Dir(f.Journal(leagueID)), "league"},
		{f.Matches(leagueID), "matches"},
		{f.private(leagueID + ".key"), "key"},
	}
	into := ""
	for _, m := range moves {
		if _, err := os.Lstat(m.from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if into == "" {
			into = filepath.Join(string(f), "archive", leagueID+"-"+strings.ReplaceAll(stamp, ":", ""))
			if err := os.MkdirAll(filepath.Dir(into), 0o700); err != nil {
				return "", err
			}
			if err := os.Mkdir(into, 0o700); err != nil {
				return "", err
			}
		}
		if err := os.Rename(m.from, filepath.Join(into, m.name)); err != nil {
			return into, err
		}
	}
	return into, nil
}
