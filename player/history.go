package player

import (
	"slices"
	"unique"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules/evenodd"
)

// A history holds a player's finished matches, and the counts and the strategy's memory
// that follow from them. Both are computed from the matches alone, so that a player
// decides the same after a restart. A league may have many players in one process, so a
// match takes few bytes here.
type history struct {
	entries []entry
	ordered bool // no entry is of an earlier round than the one before
	stats   protocol.PlayerStats
	memory  *strategy.Memory // nil until a strategy needs it
}

// An entry is a finished match. Most matches have the same few results, which they share. They
// have no ids.
type entry struct {
	matchID  string
	opponent unique.Handle[string]
	result   unique.Handle[store.HistoryMatch]
}

// newHistory returns the history of matches in the order in which they were played.
func newHistory(past []store.HistoryMatch) *history {
	h := &history{ordered: true}
	for i := range past {
		h.add(&past[i])
	}
	return h
}

// find returns the index of a match in the entries. It is usually among the last ones.
func (h *history) find(matchID string) (i int, known bool) {
	round := roundOf(matchID)
	for i = len(h.entries) - 1; i >= 0; i-- {
		switch id := h.entries[i].matchID; {
		case id == matchID:
			return i, true
		case h.ordered && roundOf(id) < round:
			return i, false
		}
	}
	return i, false
}

// roundOf returns the round in a match id; 0 for an id in another form than this program's.
func roundOf(matchID string) int {
	id, _ := league.ParseMatchID(matchID)
	return id.Round
}

// of returns the result of a match.
func (h *history) of(matchID string) (r store.HistoryMatch, known bool) {
	i, known := h.find(matchID)
	if known {
		r = h.entries[i].result.Value()
	}
	return r, known
}

// attempt returns the attempt at a match whose GAME_OVER the history has; 0 for none.
func (h *history) attempt(matchID string) int {
	if r, _ := h.of(matchID); !r.FromStandings {
		return r.Attempt
	}
	return 0
}

// reached returns the last attempt at a match that has a result, also by the standings; 0
// for none.
func (h *history) reached(matchID string) int {
	r, _ := h.of(matchID)
	return r.Attempt
}

// add adds a finished match, or replaces an earlier attempt at it. It is idempotent, and
// tells whether the history has changed.
func (h *history) add(m *store.HistoryMatch) bool {
	r := store.HistoryMatch{PlayedMatch: m.PlayedMatch, Attempt: m.Attempt}
	r.MatchID, r.OpponentID = "", ""
	e := entry{m.MatchID, unique.Make(m.OpponentID), unique.Make(r)}
	i, known := h.find(m.MatchID)
	switch {
	case !known:
		last := len(h.entries) - 1
		h.ordered = h.ordered && (last < 0 || roundOf(h.entries[last].matchID) <= roundOf(m.MatchID))
		h.entries = append(h.entries, e)
		store.Count(&h.stats, m.Result, 1)
		if h.memory != nil {
			remember(h.memory, m)
		}
	case m.Attempt > h.attempt(m.MatchID):
		store.Count(&h.stats, h.entries[i].result.Value().Result, -1)
		h.entries[i] = e
		store.Count(&h.stats, m.Result, 1)
		h.memory = nil // a strategy may still read the old one
	default:
		return false
	}
	return true
}

// match returns a finished match, without the player's part of the draw, which only the file
// has.
func (h *history) match(i int) store.HistoryMatch {
	e := &h.entries[i]
	m := e.result.Value()
	m.MatchID, m.OpponentID = e.matchID, e.opponent.Value()
	return m
}

// remembered returns the memory of the strategy.
func (h *history) remembered() *strategy.Memory {
	if h.memory == nil {
		h.memory = strategy.NewMemory()
		for i := range h.entries {
			m := h.match(i)
			remember(h.memory, &m)
		}
	}
	return h.memory
}

func remember(memory *strategy.Memory, m *store.HistoryMatch) {
	parity := ""
	if m.DrawnNumber > 0 {
		parity = evenodd.Parity(m.DrawnNumber)
	}
	memory.Remember(m.OpponentID, m.OpponentChoice, parity)
}

// played returns the matches in the form of get_player_state.
func (h *history) played() []protocol.PlayedMatch {
	list := make([]protocol.PlayedMatch, len(h.entries))
	for i := range list {
		list[i] = h.match(i).PlayedMatch
	}
	return list
}

// forfeit returns the result of an announced match that is forfeited; nil for any other
// match, and for a match of other players. There is no attempt at such a match.
func forfeit(id string, m *protocol.AnnouncedMatch) *store.HistoryMatch {
	opponent := m.PlayerBID
	if id == m.PlayerBID {
		opponent = m.PlayerAID
	}
	if len(m.ForfeitedBy) == 0 || id != m.PlayerAID && id != m.PlayerBID {
		return nil
	}
	result := store.Technical + store.ResultWin
	if slices.Contains(m.ForfeitedBy, id) {
		result = store.Technical + store.ResultLoss
	}
	return &store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: m.MatchID, OpponentID: opponent, Result: result}}
}

// Seen returns the result of an attempt at a match for one of its players.
func Seen(id, matchID string, attempt int, result *league.Result) store.HistoryMatch {
	h := store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: matchID}, Attempt: attempt}
	for _, c := range result.Choices {
		choice := protocol.ValueOf(c.Value)
		if c.Name == id {
			h.MyChoice = choice
		} else {
			h.OpponentID, h.OpponentChoice = c.Name, choice
		}
	}
	switch {
	case result.Status == league.StatusDraw:
		h.Result = store.ResultDraw
	case result.WinnerPlayerID != nil && *result.WinnerPlayerID == id:
		h.Result = store.ResultWin
	default:
		h.Result = store.ResultLoss
	}
	if result.Status == league.StatusTechnicalLoss {
		h.Result = store.Technical + h.Result
	}
	h.DrawnNumber = protocol.ValueOf(result.DrawnNumber)
	return h
}
