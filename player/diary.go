package player

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A diary is the place of a player's history on disk (spec 003 §9.4.4). The
// player owns that file, and writes no other beside its identity.
type diary struct {
	mu     sync.Mutex // held while the disk is at work: one write at a time; p.mu is never held then
	path   string     // "" while nothing is kept
	member *membership.Membership
	causes map[string]bool // of failures that were logged since the last success
}

// open finds the history of a member: that of a player that came back is the
// one it goes on with. What is there of another league, or cannot be used, is
// moved aside, never written over. Without a history the answer is nil. d.mu is
// held.
func (p *Player) open(m *membership.Membership, back bool) *history {
	d := &p.diary
	d.path, d.member = "", m
	folder, log := p.options.Folder, &p.options.Log
	switch {
	case folder == "":
		return nil
	case !protocol.ValidLeagueID(m.AgentID): // an id of another maker's manager; it also names a folder
		log.Error().Str("player_id", m.AgentID).Str("event_type", protocol.EventHistoryUnnamable).Msg("no history is kept: the player's id cannot name a folder")
		return nil
	}
	path := folder.History(m.AgentID)
	if own := beside(path, m.LeagueID); back && protocol.ValidLeagueID(m.LeagueID) {
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
		return newHistory(doc.Matches)
	case err != nil:
		log.Error().Err(err).Str("event_type", protocol.EventHistoryUnusable).Msg("the history cannot be used")
	}
	moved, err := moveAside(path, p.options.Clock.Timestamp())
	if err != nil {
		log.Error().Err(err).Str("event_type", protocol.EventHistoryNotMoved).Msg("no history is kept: the one that is there cannot be moved aside")
		return nil
	}
	log.Info().Str("path", moved).Str("event_type", protocol.EventHistoryMoved).Msg("the history that was there is now here")
	d.path = path
	return nil
}

// beside is where a history goes when that of another league has its place.
func beside(path, leagueID string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "." + leagueID + extension
}

// moveAside gives a file a name with a moment in it, and returns that.
func moveAside(path, stamp string) (string, error) {
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

// save writes the history, if it has changed since it was written. What is
// written is what is known once the write before has ended, so that an older
// state never takes the place of a newer one.
func (p *Player) save() error {
	d := &p.diary
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
		Stats: p.history.stats, Matches: slices.Clone(p.history.matches),
	}
	p.unsaved = false
	p.mu.Unlock()
	if other, err := store.Read[store.History](d.path); err == nil && other.LeagueID != m.LeagueID && protocol.ValidLeagueID(m.LeagueID) {
		d.path = beside(d.path, m.LeagueID) // a player of the same id, in another league of this folder, is at work
	}
	err := store.Write(d.path, doc)
	if err != nil {
		p.mu.Lock()
		p.unsaved = true
		p.mu.Unlock()
		return err
	}
	d.causes = nil
	return nil
}

// note saves the history once a round. A disk that fails is told of, once for
// each cause, and changes nothing else: the next round tries again.
func (p *Player) note() {
	err := p.save()
	if err == nil {
		return
	}
	cause := err.Error()
	var errno syscall.Errno
	if errors.As(err, &errno) { // the text names another temporary file each time
		cause = errno.Error()
	}
	d := &p.diary
	d.mu.Lock()
	told := d.causes[cause]
	if !told {
		if d.causes == nil {
			d.causes = map[string]bool{}
		}
		d.causes[cause] = true
	}
	d.mu.Unlock()
	if !told {
		p.options.Log.Error().Err(err).Str("event_type", protocol.EventHistoryNotWritten).Msg("the history cannot be written, trying again after the next round")
	}
}

// Close writes what of the history is not on disk yet. It waits for a write
// that is going on.
func (p *Player) Close() error {
	if err := p.save(); err != nil {
		return fmt.Errorf("the history of %s is not complete on disk: %w", p.ID(), err)
	}
	return nil
}
