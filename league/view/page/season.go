package page

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"sync"
	"time"

	"evenodd/league/decide"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A Season has the leagues of a data folder: the page that lists them, and the pages of each. The pages of one of them,
// the chosen league, have it as an option. It is safe for concurrent use.
type Season struct {
	folder store.Folder
	chosen string // id of the league that the other pages show

	reading sync.Mutex
	known   map[string]*readLeague // by id
	table   *record.Season         // of known
	looked  time.Time              // at the folder, for table

	mu   sync.Mutex
	open map[string]*openLeague // by id
}

// A readLeague is a league as its journal told it when it was of this size and time.
type readLeague struct {
	record.SeasonLeague

	size    int64
	changed time.Time
}

// An openLeague has the pages of a league.
type openLeague struct {
	board  *Board
	mux    *http.ServeMux
	users  int // requests that are being answered
	lastly time.Time
}

// Limits of a season.
const (
	seasonPause = 3 * time.Second  // between two looks at the folder
	seasonTime  = 10 * time.Second // to read the leagues that have changed
	mostLeagues = 200              // that are listed
	mostOpen    = 8                // leagues with open pages, besides the chosen one
)

// NewSeason returns the leagues of a folder. Close must follow.
func NewSeason(folder store.Folder, chosen string) *Season {
	return &Season{folder: folder, chosen: chosen, known: map[string]*readLeague{}, open: map[string]*openLeague{}}
}

// Close ends the pages of all leagues. No request may run.
func (s *Season) Close() {
	for _, one := range s.open {
		one.board.Close()
	}
}

// several tells whether the folder has several leagues.
func (s *Season) several() bool { return s != nil && len(s.folder.Leagues()) > 1 }

// read reads the leagues that have changed. A league that cannot be read has only its id and its problem.
func (s *Season) read(ctx context.Context, p *Pages) *record.Season {
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.table != nil && time.Since(s.looked) < seasonPause {
		return s.table
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), seasonTime)
	defer cancel()
	ids, same := s.folder.Leagues(), s.table != nil
	ids = ids[max(len(ids)-mostLeagues, 0):] // those whose ids have the latest dates
	for id := range s.known {
		if !slices.Contains(ids, id) {
			delete(s.known, id)
			same = false
		}
	}
	for _, id := range ids {
		if s.readOne(ctx, id, p) {
			same = false
		}
	}
	if !same {
		all := make([]record.SeasonLeague, 0, len(s.known))
		for _, one := range s.known {
			all = append(all, one.SeasonLeague)
		}
		s.table = record.NewSeason(all, record.NameOf)
	}
	s.looked = time.Now()
	return s.table
}

// readOne reads a league unless its journal is as before. It returns whether it has read it. The caller holds reading.
func (s *Season) readOne(ctx context.Context, id string, p *Pages) bool {
	info, err := s.folder.Disk.Stat(s.folder.Journal(id))
	before := s.known[id]
	if errors.Is(err, fs.ErrNotExist) ||
		err == nil && before != nil && before.size == info.Size() && before.changed.Equal(info.ModTime()) {
		return false
	}
	one := &readLeague{SeasonLeague: record.ReadSeasonLeague(ctx, s.folder, id, p.options.Games)}
	if err == nil && ctx.Err() == nil {
		one.size, one.changed = info.Size(), info.ModTime()
	}
	if s.known[id] = one; one.Problem != nil && (before == nil || before.Problem == nil) {
		p.failed("season", one.Problem)
	}
	return true
}

// use returns the pages of a league, until done; nil for an unknown one, or while too many others are being read.
func (s *Season) use(id string, p *Pages) (pages http.Handler, done func(), err error) {
	if !slices.Contains(s.folder.Leagues(), id) {
		return nil, nil, errNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.open[id]
	if one == nil {
		if err := s.makeRoom(); err != nil {
			return nil, nil, err
		}
		one = &openLeague{board: NewBoard(NewFolder(s.folder, id)), mux: http.NewServeMux()}
		made, err := New(one.board, Options{Log: p.options.Log, Games: p.options.Games, Zone: p.options.Zone,
			Base: p.options.Base + "/leagues/" + id, within: p})
		if err != nil {
			one.board.Close()
			return nil, nil, err
		}
		for _, r := range made.Routes() {
			one.mux.Handle(r.Pattern, r.Handler)
		}
		s.open[id] = one
	}
	one.users++
	return one.mux, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		one.users--
		one.lastly = time.Now()
	}, nil
}

// errBusy is the error of a league whose pages cannot be opened now.
var errBusy = errors.New("too many leagues are being read")

// makeRoom closes the pages that have not been used for the longest time, if there are too many. The caller holds mu.
func (s *Season) makeRoom() error {
	if len(s.open) < mostOpen {
		return nil
	}
	oldest := ""
	for id, one := range s.open {
		if one.users == 0 && (oldest == "" || one.lastly.Before(s.open[oldest].lastly)) {
			oldest = id
		}
	}
	if oldest == "" {
		return errBusy
	}
	s.open[oldest].board.Close()
	delete(s.open, oldest)
	return nil
}

// other answers a request for a page of another league than the chosen one.
func (p *Pages) other(w http.ResponseWriter, r *http.Request) {
	pages, done, err := p.options.Season.use(r.PathValue("league"), p)
	if err != nil {
		p.problem(w, &route{template: "season"}, err)
		return
	}
	defer done()
	pages.ServeHTTP(w, r)
}

// A seasonView is the page of a season.
type seasonView struct {
	Leagues []seasonLeague // the last one first
	Tables  []seasonTable
	Unread  []seasonLeague
}

// A seasonLeague is a league in the list.
type seasonLeague struct {
	ID, Name, Game, State string
	Kind                  string // class of the state
	Begun, Ended          string
	Champions             string
	To                    string // URL of its overview
}

// A seasonTable is the table over the leagues of a game.
type seasonTable struct {
	Number  int
	Game    string
	Columns []seasonLeague
	Rows    []seasonRow
	Notes   []string
}

// A seasonRow is a player in such a table.
type seasonRow struct {
	Name            string
	Points, Matches int
	Rating          string // with its interval; "" without one
	Places          []record.Place
}

// buildSeason makes the view of GET /leagues.
func (p *Pages) buildSeason(_ *Board, r *http.Request) (any, error) {
	s := p.options.Season
	read := s.read(r.Context(), p)
	v := &seasonView{}
	for i := range slices.Backward(read.Leagues) {
		l := &read.Leagues[i]
		if one := s.shown(l, &p.options); l.Problem != nil {
			v.Unread = append(v.Unread, one)
		} else if l.GameType != "" {
			v.Leagues = append(v.Leagues, one)
		}
	}
	for n, t := range read.Tables {
		one := seasonTable{Number: n + 1, Game: shown(p.options.Games.Name(t.Leagues[0].GameType)), Notes: t.Sentences()}
		for i := range t.Leagues {
			one.Columns = append(one.Columns, s.shown(&t.Leagues[i], &p.options))
		}
		met := map[string]bool{}
		for i := range t.Players {
			row := &t.Players[i]
			met[row.Player] = true
			one.Rows = append(one.Rows, seasonRow{shown(row.Player), row.Points, row.Matches, row.Interval(), row.Places})
		}
		for _, name := range p.options.Listed { // those of the roster that never came
			if len(read.Tables) == 1 && !met[name] {
				one.Rows = append(one.Rows, seasonRow{Name: shown(name), Places: make([]record.Place, len(t.Leagues))})
			}
		}
		v.Tables = append(v.Tables, one)
	}
	return v, nil
}

// shown is a league in the list.
func (s *Season) shown(l *record.SeasonLeague, o *Options) seasonLeague {
	one := seasonLeague{ID: l.LeagueID, Name: shown(cmp.Or(l.DisplayName, l.LeagueID)), Begun: l.Begun, Ended: l.Ended,
		Champions: shown(l.Champions), To: o.Base + "/leagues/" + l.LeagueID + "/"}
	if l.GameType != "" {
		one.Game = shown(o.Games.Name(l.GameType))
	}
	if l.LeagueID == s.chosen {
		one.To = o.Base + "/"
	}
	switch {
	case l.Ended != "":
		one.State, one.Kind = "over", "over"
	case !s.folder.Running(l.LeagueID):
		one.State, one.Kind = "no manager runs", "stopped"
	case l.State == decide.StateWaitingForRegistrations:
		one.State, one.Kind = "registration", "waiting"
	default:
		one.State, one.Kind = "running", "running"
	}
	return one
}

// seasonLink is the URL of the page of the season; "" unless the folder has several leagues.
func (p *Pages) seasonLink() string {
	for p.options.within != nil {
		p = p.options.within
	}
	if !p.options.Season.several() {
		return ""
	}
	return p.options.Base + "/leagues"
}

// seasonRoutes are the pages of the season.
func (p *Pages) seasonRoutes() []route {
	if p.options.Season == nil {
		return nil
	}
	return []route{{pattern: "GET /leagues", template: "season", title: "Leagues", build: p.buildSeason, volatile: true,
		ofFolder: true}}
}
