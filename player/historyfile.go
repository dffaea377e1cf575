package player

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/player/strategy"
)

// A historyFile is the file of a player's history, history.jsonl, with the history.json that
// derives from it (spec 003 §9.4.4). Only the player writes them. The player writes no other
// file except its identity.
type historyFile struct {
	mu     sync.Mutex // held during a write; p.mu is never held then
	disk   disk.Disk
	path   string // of history.json; "" for no file
	member *membership.Membership
	failed bool // a failure was logged since the last success

	tail     int64     // the size of history.jsonl after the last append
	unsynced bool      // history.jsonl has matches that may not be durable
	unsafe   bool      // the last sync of it has failed
	named    bool      // the name of history.jsonl is durable
	stale    bool      // history.json lacks matches of history.jsonl
	due      time.Time // when history.json is next written while the league goes on
}

// While a history has at most shortHistory matches, history.json is written when a match ends. Later the
// pause between two writes grows with the number of matches, because a write takes all of them and a
// process may have many players.
const (
	shortHistory   = 100
	derivePause    = 10 * time.Second
	pausePerRecord = 100 * time.Millisecond
)

// open opens the file of a new membership, and returns the matches and the signed decisions
// of a returning player, and whether these are all that it had signed before. Files of another
// league, or ones that cannot be used, are renamed and never overwritten. p.file.mu is held.
func (p *Player) open(m *membership.Membership, back bool) (past []store.HistoryMatch, decisions []store.HistoryDecision,
	complete bool,
) {
	d := &p.file
	d.path, d.member, d.tail, d.due = "", m, 0, time.Time{}
	d.unsynced, d.unsafe, d.named, d.stale = false, false, false, false
	folder, log := p.options.Folder, &p.options.Log
	switch {
	case folder.IsZero():
		return nil, nil, false
	case !protocol.ValidLeagueID(m.AgentID): // the id comes from a third-party manager, and names a folder
		log.Error().Str("player_id", m.AgentID).Str("event_type", "HISTORY_UNNAMABLE").
			Msg("history is not stored: the player's id cannot name a folder")
		return nil, nil, false
	}
	d.disk = folder.Disk
	path := folder.History(m.AgentID)
	if own := store.HistoryOf(path, m.LeagueID); back && exists(d.disk, store.HistoryLines(own)) {
		path = own
	}
	h, _, _, err := store.ReadHistoryLines(d.disk, store.HistoryLines(path))
	switch {
	case err == nil && back && h.PlayerID == m.AgentID && h.LeagueID == m.LeagueID:
		d.path, d.stale = path, true
		return h.Matches, h.Decisions, true
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		log.Error().Err(err).Str("event_type", "HISTORY_UNUSABLE").Msg("the history file cannot be used")
	}
	for _, name := range []string{path, store.HistoryLines(path)} {
		if !exists(d.disk, name) {
			continue
		}
		moved, err := renameAside(d.disk, name, p.options.Clock.Timestamp())
		if err != nil {
			log.Error().Err(err).Str("event_type", "HISTORY_NOT_MOVED").
				Msg("history is not stored: the existing file cannot be renamed")
			return nil, nil, false
		}
		log.Info().Str("path", moved).Str("event_type", "HISTORY_MOVED").Msg("renamed the previous history file")
	}
	d.path = path
	// A player that is given its matches has signed nothing in a rematch if it has no file, or an empty one: those
	// decisions are durable before they are sent.
	return nil, nil, p.options.Past != nil && errors.Is(err, fs.ErrNotExist)
}

func exists(d disk.Disk, path string) bool {
	_, err := d.Lstat(path)
	return err == nil
}

// renameAside renames a file to a free name with a timestamp, and returns the name.
func renameAside(d disk.Disk, path, stamp string) (string, error) {
	extension := filepath.Ext(path)
	stem := strings.TrimSuffix(path, extension) + "-" + strings.ReplaceAll(stamp, ":", "")
	to := stem + extension
	for n := 2; ; n++ {
		if _, err := d.Lstat(to); err != nil {
			return to, d.Rename(path, to)
		}
		to = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
}

// add adds a finished match to the history, with the reason of its result, "" for none, and tells whether that changes
// the history. p.mu is held.
func (p *Player) add(m *store.HistoryMatch, reason string) bool {
	added := p.history.add(m)
	if added && p.watcher != nil {
		played := m.PlayedMatch // a copy, as below
		p.watcher.Ended(&played, reason)
	}
	if added && p.options.Ended != nil {
		played := m.PlayedMatch
		p.options.Ended(&played, reason)
	}
	if added && !p.options.Folder.IsZero() {
		line := *m // a copy, so that m stays on the stack of a player without a folder
		p.line(&line)
	}
	return added
}

// line adds a line for history.jsonl. p.mu is held.
func (p *Player) line(line any) {
	if !p.options.Folder.IsZero() {
		p.unsaved = append(p.unsaved, line)
	}
}

// A moment is when the history is saved.
type moment int

const (
	afterMatch moment = iota // new lines are appended to history.jsonl, without sync; a short history.json is written
	afterRound               // and a long history.json is written from time to time
	atEnd                    // of the league or the process: history.jsonl becomes durable, and history.json is written
)

// save saves the history. After an error of history.jsonl the next save writes the new lines.
func (p *Player) save(when moment) error {
	if p.options.Folder.IsZero() {
		return nil
	}
	d := &p.file
	d.mu.Lock()
	defer d.mu.Unlock()
	p.mu.Lock()
	added, count := p.unsaved, len(p.history.entries)
	p.unsaved = nil
	p.mu.Unlock()
	if d.path == "" {
		return nil
	}
	if len(added) > 0 {
		if err := d.write(p.options.Name, added); err != nil {
			p.mu.Lock()
			p.unsaved = append(added, p.unsaved...)
			p.mu.Unlock()
			return err
		}
		d.stale = true
	}
	short := count <= shortHistory && !p.options.SlowHistory
	if when == afterMatch && !short {
		return nil
	}
	derives := d.stale && (short || when == atEnd || !time.Now().Before(d.due))
	// A power cut takes no match of a long history.json from history.jsonl. A short one is not worth a sync for each
	// match: a returning player writes it again from history.jsonl.
	if when == atEnd || derives && !short {
		if err := d.sync(); err != nil {
			return err
		}
	}
	if derives {
		if err := store.DeriveHistory(d.disk, d.path, p.options.Clock.Timestamp()); err != nil {
			return err
		}
		d.stale, d.due = false, time.Now().Add(derivePause+time.Duration(count)*pausePerRecord)
	}
	d.failed = false
	return nil
}

// write appends lines to history.jsonl, if there is one. If a player with the same id in another
// league uses this folder, the file gets another name. d.mu is held.
func (d *historyFile) write(name string, lines []any) error {
	if d.path == "" {
		return nil
	}
	m := d.member
	header := &store.HistoryHeader{Header: store.NewHeader(""), PlayerID: m.AgentID, DisplayName: name,
		LeagueID: m.LeagueID}
	err := store.AppendHistory(d.disk, store.HistoryLines(d.path), header, lines, &d.tail)
	if own := store.HistoryOf(d.path, m.LeagueID); errors.Is(err, store.ErrOtherLeague) && own != d.path {
		d.path = own
		err = store.AppendHistory(d.disk, store.HistoryLines(own), header, lines, &d.tail)
	}
	d.unsynced = d.unsynced || err == nil
	return err
}

// sync makes history.jsonl durable. d.mu is held.
func (d *historyFile) sync() error {
	if !d.unsynced {
		return nil
	}
	write := store.SyncFile
	if d.unsafe {
		write = store.SyncAgain
	}
	err := write(d.disk, store.HistoryLines(d.path))
	d.unsynced, d.unsafe = err != nil, err != nil
	return err
}

// syncAll makes history.jsonl durable, and also its name, which is that of a file without a sync otherwise. D.mu is held.
func (d *historyFile) syncAll() error {
	if d.path == "" {
		return nil
	}
	err := d.sync()
	dir := filepath.Dir(d.path)
	for range 3 { // of the player, of all players, and of the data: those above have other durable files
		if err == nil && !d.named {
			err = d.disk.SyncFolder(dir)
		}
		dir = filepath.Dir(dir)
	}
	d.named = d.named || err == nil
	return err
}

// trySave saves the history. It logs the first of several errors; the player continues, and the next match or
// round saves again.
func (p *Player) trySave(when moment) {
	err := p.save(when)
	if err == nil {
		return
	}
	d := &p.file
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.failed {
		d.failed = true
		p.options.Log.Error().Err(err).Str("event_type", "HISTORY_NOT_WRITTEN").
			Msg("cannot write the history file, retrying after the next match or round")
	}
}

// Close saves the history, durably, with the totals of a language model. It waits for a write in progress. An error
// means that the last matches are not in the file.
func (p *Player) Close() error {
	p.telling.Wait()
	if counted, ok := p.options.Strategy.(interface{ Totals() strategy.Totals }); ok {
		if m := counted.Totals().Model; m != nil && m.Requests > 0 {
			p.mu.Lock()
			p.line(&store.HistoryTotals{Model: m})
			p.mu.Unlock()
		}
	}
	if err := p.save(atEnd); err != nil {
		return fmt.Errorf("cannot write the last matches of %s to its history file: %w", p.ID(), err)
	}
	return nil
}
