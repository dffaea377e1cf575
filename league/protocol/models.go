package protocol

import (
	"fmt"

	"evenodd/league/words"
)

// ModelTotals count the requests of a player to its language model. They are no part of a message: a player
// writes them to its history.
type ModelTotals struct {
	Name      string `json:"name"`
	Requests  int    `json:"requests"`
	TokensIn  int    `json:"tokens_in,omitzero"` // if the endpoint counts them
	TokensOut int    `json:"tokens_out,omitzero"`
	MedianMS  int64  `json:"median_ms"` // of the answers
	P90MS     int64  `json:"p90_ms"`    // 90 of 100 answers took at most this
}

// Words are the totals for people.
func (m *ModelTotals) Words() string {
	tokens := ""
	if m.TokensIn > 0 {
		tokens = fmt.Sprintf(", %d tokens in, %d out", m.TokensIn, m.TokensOut)
	}
	return fmt.Sprintf("%s%s, median %d ms, 90 %% within %d ms", words.Counted(m.Requests, "request"), tokens, m.MedianMS,
		m.P90MS)
}
