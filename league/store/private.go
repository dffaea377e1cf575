package store

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// An Identity is what an agent needs to return to its league under the same id. It is
// secret.
type Identity struct {
	Header
	Role        string `json:"role"` // player or referee
	DisplayName string `json:"display_name"`
	LeagueID    string `json:"league_id"`
	AgentID     string `json:"agent_id"`
	AuthToken   string `json:"auth_token"`
	ManagerAuth string `json:"manager_auth,omitzero"`
	ManagerKey  string `json:"manager_key,omitzero"` // the manager's public key; "" if it signs nothing
	// 64 hexadecimal digits: the source of the agent's randomness and of its signing key
	Secret string `json:"secret"`
}

// An Application is a registration that was sent and whose answer is not stored yet.
// Repeated in the same conversation, with the same public key, it gets the same answer. It is
// secret.
type Application struct {
	Header
	Role           string `json:"role"`
	DisplayName    string `json:"display_name"`
	ConversationID string `json:"conversation_id"`
	// as in Identity: the registration has the public key that follows from it
	Secret string `json:"secret,omitzero"`
}

// A Person is what the page of a player knows its person's browser by: see page.Access. It is secret.
type Person struct {
	Header
	DisplayName string `json:"display_name"`
	Secret      string `json:"secret"`     // 64 hexadecimal digits, from which code and cookie follow
	Generation  int    `json:"generation"` // from 1; a new one ends the cookie of the one before
	Used        bool   `json:"used"`       // the code of this generation
}

// Application is the path of an agent's registration while it has no answer.
func (f Folder) Application(role, name string) string {
	return strings.TrimSuffix(f.Identity(role, name), ".json") + ".registering.json"
}

// Identity is the path of the identity of the agent with a role and a name. Many agents
// share a folder.
func (f Folder) Identity(role, name string) string {
	readable := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	sum := sha256.Sum256([]byte(name)) // different names may have the same readable form
	return f.private(fmt.Sprintf("%s-%s-%x.json", role, readable[:min(len(readable), 40)], sum[:4]))
}

// makePrivate creates a folder that only its owner can read, in a folder that all can
// read, durably.
func makePrivate(d disk.Disk, dir string) error { return atomicfile.MakeFolder(d, dir, 0o700) }

// Identities are the paths of all identities of a role.
func (f Folder) Identities(role string) []string {
	var paths []string
	entries, _ := f.Disk.ReadDir(f.private("")) // a missing folder has none
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, role+"-") && !strings.HasSuffix(name, ".registering.json") {
			paths = append(paths, f.private(name))
		}
	}
	return paths
}

// WritePrivate writes an Identity, an Application or a Person that only its owner can read, with a checksum: a damaged
// one is not read.
func WritePrivate(d disk.Disk, path string, document any) error {
	text, err := json.Marshal(document)
	if err == nil {
		err = writePrivate(d, path, append(appendfile.Seal(text), '\n'))
	}
	return err
}

// writePrivate writes a file that only its owner can read, durably.
func writePrivate(d disk.Disk, path string, text []byte) error {
	if err := makePrivate(d, filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteFile(d, path, text, 0o600)
}

// Secret returns the 32 bytes from which the tokens of a league are derived. Only the
// owner can read their file. A league that has begun its journal needs the secret of its
// tokens: a missing or invalid file is an error with the remedy. A new league gets a new secret,
// even if an older league with the same id left one.
func (f Folder) Secret(leagueID string, begun bool) (secret [32]byte, err error) {
	path := f.private(leagueID + ".key")
	if !begun {
		_, _ = crand.Read(secret[:]) // never fails
		return secret, writePrivate(f.Disk, path, fmt.Appendf(nil, "%s %08x\n", hex.EncodeToString(secret[:]),
			appendfile.Checksum(secret[:])))
	}
	raw, err := disk.Read(f.Disk, path, maxPrivate)
	switch {
	case missing(err):
		return secret, fmt.Errorf("%s is missing: without it the tokens of the agents are unknown; restore it, or start "+
			"a new league with --new-league", path)
	case err != nil:
		return secret, err
	}
	digits, sum, sealed := strings.Cut(strings.TrimSpace(string(raw)), " ")
	secret, ok := protocol.ParseSecret(digits)
	if !ok || sealed && sum != fmt.Sprintf("%08x", appendfile.Checksum(secret[:])) {
		return secret, fmt.Errorf("%s: not a key of 64 hexadecimal digits with their checksum: restore it, or start a new "+
			"league with --new-league", path)
	}
	return secret, nil
}

// LeagueFiles are the files of a league outside its journal. A league without a journal has
// none.
func (f Folder) LeagueFiles(leagueID string) []string {
	paths := []string{f.Standings(leagueID), f.Rounds(leagueID), f.Matches(leagueID), f.Agents(leagueID)}
	return slices.DeleteFunc(paths, func(path string) bool {
		_, absent := f.Disk.Stat(path)
		entries, err := f.Disk.ReadDir(path) // an error for a file, and for a folder that may have files
		return absent != nil || err == nil && len(entries) == 0
	})
}

// A LockedError means that another process runs the league.
type LockedError struct{ Path string }

// Error tells what to do.
func (e *LockedError) Error() string {
	return fmt.Sprintf(
		"another manager runs this league (it holds %s): stop it first, or use another --data or --league-id", e.Path)
}

// Lock locks a league for other managers until the returned function is called or the
// process ends. A locked league is a *LockedError. Somebody may remove the lock file: the
// journal has a lock of its own (appendfile.OpenLocked).
func (f Folder) Lock(leagueID string) (unlock func() error, err error) {
	path := f.private(leagueID + ".lock")
	if err := makePrivate(f.Disk, filepath.Dir(path)); err != nil {
		return nil, err
	}
	unlock, err = f.Disk.LockFile(path, true)
	switch {
	case errors.Is(err, disk.ErrInUse):
		return nil, &LockedError{path}
	case err != nil:
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	return unlock, nil
}

// Running tells whether a process runs a league. It says no if it may not look.
func (f Folder) Running(leagueID string) bool {
	used, err := appendfile.InUse(f.Disk, f.Journal(leagueID))
	if !errors.Is(err, errors.ErrUnsupported) {
		return used // not after another error: see above
	}
	unlock, err := f.Disk.LockFile(f.private(leagueID+".lock"), false)
	if err == nil {
		_ = unlock() // the file was only read
	}
	return errors.Is(err, disk.ErrInUse)
}

// Archive moves all files of a league, including the players' histories, into a folder
// below archive/, and returns its name; "" if there are none. The folder has the same
// structure, so that it can be audited. The caller must hold the league's lock. After an error
// of the file system some of the files may be in the archive already.
func (f Folder) Archive(leagueID, stamp string) (string, error) {
	into := Folder{f.Disk, f.path("archive", leagueID+"-"+strings.ReplaceAll(stamp, ":", ""))}
	var in Folder // its paths are relative
	// The key comes first: the files that are left without it cannot be resumed.
	paths := []string{in.private(leagueID + ".key"), filepath.Dir(in.Journal(leagueID)), in.Matches(leagueID)}
	players, err := f.Disk.ReadDir(f.Players())
	if err != nil && !missing(err) {
		return "", err
	}
	for _, p := range players {
		if f.historyLeague(p.Name()) == leagueID {
			paths = append(paths, in.History(p.Name()), HistoryLines(in.History(p.Name())))
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		_, err := f.Disk.Lstat(f.path(path))
		return missing(err)
	})
	if len(paths) == 0 {
		return "", nil
	}
	if err := makeFolder(f.Disk, f.path("archive")); err != nil {
		return "", err
	}
	if err := f.Disk.Mkdir(into.Path, 0o755); err != nil { // an archive is never replaced
		return "", err
	}
	for _, path := range paths {
		to, open := into.path(path), makeFolder
		if filepath.Dir(to) == into.private("") {
			open = makePrivate
		}
		if err := open(f.Disk, filepath.Dir(to)); err != nil {
			return into.Path, err
		}
		if err := f.Disk.Rename(f.path(path), to); err != nil {
			return into.Path, err
		}
	}
	return into.Path, nil
}

// ManagerURL is the URL at which the manager of a league answers on this machine; "" if no
// manager has told it. A manager that was killed leaves it.
func (f Folder) ManagerURL(leagueID string) string {
	text, err := disk.Read(f.Disk, f.private(leagueID+".url"), 1000)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// TellManagerURL stores the URL of a league's manager until the returned function is called.
// The caller must hold the league's lock.
func (f Folder) TellManagerURL(leagueID, url string) (forget func() error, err error) {
	path := f.private(leagueID + ".url")
	return func() error { return f.Disk.Remove(path) }, writePrivate(f.Disk, path, []byte(url+"\n"))
}

// KeepLink writes a file of HTML for the browser of a person, which only its owner can read, until the returned
// function is called.
func (f Folder) KeepLink(player string, text []byte) (path string, forget func() error, err error) {
	path = strings.TrimSuffix(f.Identity("person", player), ".json") + ".html"
	return path, func() error { return f.Disk.Remove(path) }, writePrivate(f.Disk, path, text)
}

// KeepRoster stores the roster of a league, which has secret codes, and returns its path.
func (f Folder) KeepRoster(leagueID string, text []byte) (path string, err error) {
	path = f.private(leagueID + ".roster.csv")
	return path, writePrivate(f.Disk, path, text)
}
