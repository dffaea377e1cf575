package player

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A historyFile is the file of a player's history (spec 003 §9.4.4). Only the player
// writes it. The player writes no other file except its identity.
type historyFile struct {
	mu     sync.Mutex // held during a write; p.mu is never held then
	path   string     // "" for no file
	member *membership.Membership
	causes map[string]bool // of failures that were logged since the last success
}

// open opens the file of a new membership, and returns the history of a returning
// player; nil for none. A file of another league, or one that cannot be used, is renamed
// and never overwritten. p.file.mu is held.
func (p *Player) open(m *membership.Membership, back bool) *history {
	d := &p.file
	d.path, d.member = "", m
	folder, log := p.options.Folder, &p.options.Log
	switch {
	case folder == "":
		return nil
	case !protocol.ValidLeagueID(m.AgentID): // the id comes from a third-party manager, and names a folder
		log.Error().Str("player_id", m.AgentID).Str("event_type", protocol.EventHistoryUnnamable).Msg("history is not stored: the player's id cannot name a folder")
		return nil
	}
	path := folder.History(m.AgentID)
	if own := pathForLeague(path, m.LeagueID); back && protocol.ValidLeagueID(m.LeagueID) {
		if _, err := os.Lstat(own); err == nil {
			path = own
		}
	}
	doc, err := store.Read[store.History](path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.path = path
		return nil
	case err == nil && back && doc.PlayerID == m.AgentID && doc.LeagueID == m.LeagueID:
		d.path = path
		return newHistory(true, doc.Matches)
	case err != nil:
		log.Error().Err(err).Str("event_type", protocol.EventHistoryUnusable).Msg("the history file cannot be used")
	}
	moved, err := renameAside(path, p.options.Clock.Timestamp())
	if err != nil {
		log.Error().Err(err).Str("event_type", protocol.EventHistoryNotMoved).Msg("history is not stored: the existing file cannot be renamed")
		return nil
	}
	log.Info().Str("path", moved).Str("event_type", protocol.EventHistoryMoved).Msg("renamed the previous history file")
	d.path = path
	return nil
}

// pathForLeague returns the path of a history whose usual path holds the history of
// another league.
func pathForLeague(path, leagueID string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "." + leagueID + extension
}

// renameAside renames a file to a free name with a timestamp, and returns the name.
func renameAside(path, stamp string) (string, error) {
	extension := filepath.Ext(path)
	stem := strings.TrimSuffix(path, extension) + "-" + strings.ReplaceAll(stamp, ":", "")
	to := stem + extension
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); err != nil {
			return to, os.Rename(path, to)
		}
		to = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
}

// save writes the history if it has changed. It takes the state after the previous write
// has ended, so that an older state never replaces a newer one.
func (p *Player) save() error {
	d := &p.file
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.path == "" {
		return nil
	}
	m := d.member
	p.mu.Lock()
	if !p.unsaved {
		p.mu.Unlock()
		return nil
	}
	doc := &store.History{
		SchemaVersion: store.SchemaVersion, LastUpdated: p.options.Clock.Timestamp(),
		PlayerID: m.AgentID, DisplayName: p.options.Name, LeagueID: m.LeagueID,
		Stats: p.history.stats, Matches: p.history.matches(),
	}
	p.unsaved = false
	p.mu.Unlock()
	if other, err := store.Read[store.History](d.path); err == nil && other.LeagueID != m.LeagueID && protocol.ValidLeagueID(m.LeagueID) {
		d.path = pathForLeague(d.path, m.LeagueID) // a player with the same id in another league uses this folder
	}
	err := store.Write(d.path, doc)
	if err != nil {
		p.mu.Lock()
		p.unsaved = true
		p.mu.Unlock()
		return err
	}
	clear(d.causes)
	return nil
}

// saveAfterRound saves the history. It logs an error once for each cause; the player
// continues, and the next round saves again.
func (p *Player) saveAfterRound() {
	err := p.save()
	if err == nil {
		return
	}
	cause := err.Error()
	if errno, ok := errors.AsType[syscall.Errno](err); ok { // the full text contains the name of a temporary file
		cause = errno.Error()
	}
	d := &p.file
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.causes[cause] {
		d.causes[cause] = true
		p.options.Log.Error().Err(err).Str("event_type", protocol.EventHistoryNotWritten).Msg("cannot write the history file, retrying after the next round")
	}
}

// Close saves the history if it has changed. It waits for a write in progress.
func (p *Player) Close() error {
	if err := p.save(); err != nil {
		return fmt.Errorf("cannot write the last matches of %s to its history file: %w", p.ID(), err)
	}
	return nil
}
