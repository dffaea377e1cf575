package player

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules/evenodd"
)

// A history is a player's finished matches, and what follows from them: its
// counts, and what its strategy may remember. All of it can be made again from
// the matches alone, so a player that was restarted thinks like one that was
// not.
type history struct {
	matches []store.HistoryMatch
	place   map[string]int // in matches, by match id
	stats   protocol.PlayerStats
	memory  *strategy.Memory
}

// newHistory is that of matches played before, in their order.
func newHistory(past []store.HistoryMatch) *history {
	h := &history{place: map[string]int{}, memory: strategy.NewMemory()}
	for i := range past {
		h.file(&past[i])
	}
	return h
}

// attempt is which attempt at a match the history has from its referee, 0 for
// none.
func (h *history) attempt(matchID string) int {
	place, ok := h.place[matchID]
	if !ok || h.matches[place].FromStandings {
		return 0
	}
	return h.matches[place].Attempt
}

// file takes in a finished match, once; a later attempt at it takes the place
// of an earlier one. It tells whether anything changed.
func (h *history) file(m *store.HistoryMatch) bool {
	place, known := h.place[m.MatchID]
	switch {
	case !known:
		h.place[m.MatchID] = len(h.matches)
		h.matches = append(h.matches, *m)
		h.count(m, 1)
		remember(h.memory, m)
	case m.Attempt > h.attempt(m.MatchID):
		h.count(&h.matches[place], -1)
		h.matches[place] = *m
		h.count(m, 1)
		h.memory = strategy.NewMemory() // strategies may be reading the old one
		for i := range h.matches {
			remember(h.memory, &h.matches[i])
		}
	default:
		return false
	}
	return true
}

func remember(memory *strategy.Memory, m *store.HistoryMatch) {
	parity := ""
	if m.DrawnNumber > 0 {
		parity = evenodd.Parity(m.DrawnNumber)
	}
	memory.Remember(m.OpponentID, m.OpponentChoice, parity)
}

// count adds a match to the counts, or with -1 takes it away again.
func (h *history) count(m *store.HistoryMatch, n int) {
	h.stats.TotalMatches += n
	switch strings.TrimPrefix(m.Result, technical) {
	case resultWin:
		h.stats.Wins += n
	case resultDraw:
		h.stats.Draws += n
	default:
		h.stats.Losses += n
	}
}

// played lists the matches as get_player_state tells them.
func (h *history) played() []protocol.PlayedMatch {
	list := make([]protocol.PlayedMatch, len(h.matches))
	for i := range h.matches {
		list[i] = h.matches[i].PlayedMatch
	}
	return list
}

// How a match ended for the player.
const (
	resultWin  = "WIN"
	resultDraw = "DRAW"
	resultLoss = "LOSS"
	technical  = "TECHNICAL_" // before a win or a loss
)

// forfeit is a match that ends with its announcement, for one of its players;
// nil when it does not, or is not the player's. It has no attempt.
func forfeit(id string, m *protocol.AnnouncedMatch) *store.HistoryMatch {
	opponent := m.PlayerBID
	if id == m.PlayerBID {
		opponent = m.PlayerAID
	}
	if len(m.ForfeitedBy) == 0 || id != m.PlayerAID && id != m.PlayerBID {
		return nil
	}
	result := technical + resultWin
	if slices.Contains(m.ForfeitedBy, id) {
		result = technical + resultLoss
	}
	return &store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: m.MatchID, OpponentID: opponent, Result: result}}
}

// Seen is how an attempt at a match ended for one of its players.
func Seen(id, matchID string, attempt int, result *protocol.GameResult) *store.HistoryMatch {
	h := &store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: matchID}, Attempt: attempt}
	for _, c := range result.Choices {
		choice := ""
		if c.Value != nil {
			choice = *c.Value
		}
		if c.Name == id {
			h.MyChoice = choice
		} else {
			h.OpponentID, h.OpponentChoice = c.Name, choice
		}
	}
	switch {
	case result.Status == protocol.StatusDraw:
		h.Result = resultDraw
	case result.WinnerPlayerID != nil && *result.WinnerPlayerID == id:
		h.Result = resultWin
	default:
		h.Result = resultLoss
	}
	if result.Status == protocol.StatusTechnicalLoss {
		h.Result = technical + h.Result
	}
	if result.DrawnNumber != nil {
		h.DrawnNumber = *result.DrawnNumber
	}
	return h
}
