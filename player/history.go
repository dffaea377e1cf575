package player

import (
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules/evenodd"
)

// A history holds a player's finished matches, and the counts and the strategy's memory
// that follow from them. Both are computed from the matches alone, so that a player
// decides the same after a restart.
type history struct {
	matches []store.HistoryMatch
	index   map[string]int // in matches, by match id
	stats   protocol.PlayerStats
	memory  *strategy.Memory
}

// newHistory returns the history of matches in the order in which they were played.
func newHistory(past []store.HistoryMatch) *history {
	h := &history{index: map[string]int{}, memory: strategy.NewMemory()}
	for i := range past {
		h.add(&past[i])
	}
	return h
}

// attempt returns the attempt at a match whose GAME_OVER the history has; 0 for none.
func (h *history) attempt(matchID string) int {
	i, ok := h.index[matchID]
	if !ok || h.matches[i].FromStandings {
		return 0
	}
	return h.matches[i].Attempt
}

// add adds a finished match, or replaces an earlier attempt at it. It is idempotent, and
// tells whether the history has changed.
func (h *history) add(m *store.HistoryMatch) bool {
	i, known := h.index[m.MatchID]
	switch {
	case !known:
		h.index[m.MatchID] = len(h.matches)
		h.matches = append(h.matches, *m)
		h.count(m, 1)
		remember(h.memory, m)
	case m.Attempt > h.attempt(m.MatchID):
		h.count(&h.matches[i], -1)
		h.matches[i] = *m
		h.count(m, 1)
		h.memory = strategy.NewMemory() // a strategy may still read the old one
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

// count adds n times a match to the counts.
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

// played returns the matches in the form of get_player_state.
func (h *history) played() []protocol.PlayedMatch {
	list := make([]protocol.PlayedMatch, len(h.matches))
	for i := range h.matches {
		list[i] = h.matches[i].PlayedMatch
	}
	return list
}

// The results of a match for a player.
const (
	resultWin  = "WIN"
	resultDraw = "DRAW"
	resultLoss = "LOSS"
	technical  = "TECHNICAL_" // before a win or a loss
)

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
	result := technical + resultWin
	if slices.Contains(m.ForfeitedBy, id) {
		result = technical + resultLoss
	}
	return &store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: m.MatchID, OpponentID: opponent, Result: result}}
}

// Seen returns the result of an attempt at a match for one of its players.
func Seen(id, matchID string, attempt int, result *protocol.GameResult) store.HistoryMatch {
	h := store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: matchID}, Attempt: attempt}
	for _, c := range result.Choices {
		choice := valueOf(c.Value)
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
	h.DrawnNumber = valueOf(result.DrawnNumber)
	return h
}

// valueOf returns the value that a pointer points to; the zero value for nil.
func valueOf[V any](p *V) (value V) {
	if p != nil {
		value = *p
	}
	return value
}
