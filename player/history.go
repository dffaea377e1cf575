package player

import (
	"cmp"
	"slices"
	"unique"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
)

// A history holds a player's finished matches, and the counts and the strategy's memory
// that follow from them. Both are computed from the matches alone, so that a player
// decides the same after a restart. A league may have many players in one process, so a
// match takes few bytes here.
type history struct {
	entries []entry
	others  []string // match ids in another form than this program's
	sorted  bool     // entries are in ascending order of their keys
	stats   protocol.PlayerStats
	memory  *strategy.Memory // nil until a strategy needs it
}

// An entry is a finished match. Most matches have the same few results, which they share.
type entry struct {
	key      matchKey
	opponent unique.Handle[string]
	result   unique.Handle[result]
}

// A matchKey stands for a match id. For an id in another form than R1M1 the round is 0,
// and the number is its index in others.
type matchKey struct{ round, number int32 }

func (k matchKey) compare(other matchKey) int {
	return cmp.Or(cmp.Compare(k.round, other.round), cmp.Compare(k.number, other.number))
}

// A result is what a match and many others have in common.
type result struct {
	attempt, drawn      int
	result, mine, other string
	fromStandings       bool
}

// newHistory returns the history of matches in the order in which they were played.
func newHistory(past []store.HistoryMatch) *history {
	h := &history{sorted: true}
	for i := range past {
		h.add(&past[i])
	}
	return h
}

// keyOf returns the key of a match id; for an unknown id in another form, the next one.
func (h *history) keyOf(matchID string) matchKey {
	if id, ok := league.ParseMatchID(matchID); ok {
		return matchKey{int32(id.Round), int32(id.Number)} //nolint:gosec // at most 9 digits
	}
	i := slices.Index(h.others, matchID)
	if i < 0 {
		i = len(h.others)
	}
	return matchKey{0, int32(i)} //nolint:gosec // memory holds fewer
}

// find returns the index of a match in the entries.
func (h *history) find(key matchKey) (i int, known bool) {
	if h.sorted {
		return slices.BinarySearchFunc(h.entries, key, func(e entry, key matchKey) int { return e.key.compare(key) })
	}
	i = slices.IndexFunc(h.entries, func(e entry) bool { return e.key == key })
	return i, i >= 0
}

// of returns the result of a match.
func (h *history) of(matchID string) (r result, known bool) {
	i, known := h.find(h.keyOf(matchID))
	if known {
		r = h.entries[i].result.Value()
	}
	return r, known
}

// attempt returns the attempt at a match whose GAME_OVER the history has; 0 for none.
func (h *history) attempt(matchID string) int {
	if r, _ := h.of(matchID); !r.fromStandings {
		return r.attempt
	}
	return 0
}

// reached returns the last attempt at a match that has a result, also by the standings; 0
// for none.
func (h *history) reached(matchID string) int {
	r, _ := h.of(matchID)
	return r.attempt
}

// add adds a finished match, or replaces an earlier attempt at it. It is idempotent, and
// tells whether the history has changed.
func (h *history) add(m *store.HistoryMatch) bool {
	e := entry{
		key: h.keyOf(m.MatchID), opponent: unique.Make(m.OpponentID),
		result: unique.Make(result{m.Attempt, m.DrawnNumber, m.Result, m.MyChoice, m.OpponentChoice, m.FromStandings}),
	}
	i, known := h.find(e.key)
	switch {
	case !known:
		h.sorted = h.sorted && i == len(h.entries)
		h.entries = append(h.entries, e)
		if e.key.round == 0 {
			h.others = append(h.others, m.MatchID)
		}
		store.Count(&h.stats, m.Result, 1)
		if h.memory != nil {
			remember(h.memory, m)
		}
	case m.Attempt > h.attempt(m.MatchID):
		store.Count(&h.stats, h.entries[i].result.Value().result, -1)
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
	r := e.result.Value()
	m := store.HistoryMatch{Attempt: r.attempt, PlayedMatch: protocol.PlayedMatch{
		MatchID:    league.MatchID{Round: int(e.key.round), Number: int(e.key.number)}.String(),
		OpponentID: e.opponent.Value(), Result: r.result,
		MyChoice: r.mine, OpponentChoice: r.other, DrawnNumber: r.drawn, FromStandings: r.fromStandings,
	}}
	if e.key.round == 0 {
		m.MatchID = h.others[e.key.number]
	}
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
		parity = protocol.Parity(m.DrawnNumber)
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
	h.Result, h.DrawnNumber = store.ResultFor(id, result), protocol.ValueOf(result.DrawnNumber)
	return h
}
