package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestDidYouMeanNamesTheClosestWord(t *testing.T) {
	for _, tt := range []struct {
		word, names string
		want        string // "" for none
	}{
		{"simulte", "simulate manager", "simulate"},
		{"plyers", "player players", "players"},
		{"randm", "random even odd", "random"},
		{"tictactoe", "even_odd tic_tac_toe", "tic_tac_toe"},
		{"Even-Odd", "even_odd tic_tac_toe", "even_odd"},
		{"jsn", "table json csv", "json"},
		{"roudn-robin", "round-robin swiss", "round-robin"},
		{"EVENODD_PLAYRS", "EVENODD_PLAYER_PORT EVENODD_PLAYERS", "EVENODD_PLAYERS"},
		{"simul", "simulate schema", "simulate"},
		{"EVENODD_SERVICE_HOST", "EVENODD_REFEREE_HOST EVENODD_HOST", ""},
		{"luck", "random even odd", ""},
		{"x", "csv json", ""},
		{"", "csv json", ""},
		{"json", "", ""},
		{strings.Repeat("a", 1000), strings.Repeat("a", 999), ""},
	} {
		want := ""
		if tt.want != "" {
			want = " (did you mean " + tt.want + "?)"
		}
		assert.Equal(t, want, protocol.DidYouMean(tt.word, strings.Fields(tt.names)), tt.word)
	}
}
