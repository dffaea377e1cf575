package check

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestEachRemedyNamesARequirementWithAHint(t *testing.T) {
	for _, r := range remedies {
		assert.NotEmpty(t, requirements()[r.id].Hint, r.id)
	}
	assert.NotEmpty(t, requirements()[refusal].Hint)
	assert.Equal(t, requirements()[validAnswer], Remedy("choose_parity", protocol.ErrConnection, true))
}

func TestRemedies(t *testing.T) {
	for _, tt := range []struct {
		method string
		code   protocol.Code
		want   string
	}{
		{"handle_game_invitation", protocol.ErrTimeout, "P-INV-06"},
		{"handle_game_invitation", "", "P-INV-04"},
		{"choose_parity", protocol.ErrTimeout, "P-CHO-04"},
		{"choose_parity", protocol.ErrInvalidParityChoice, "P-CHO-03"},
		{"make_move", protocol.ErrIllegalMove, "P-CHO-03"},
		{"choose_parity", protocol.ErrInvalidFieldType, "P-CHO-01"},
		{"choose_parity", protocol.ErrConnection, "P-HTTP-01"},
		{"notify_match_result", protocol.ErrTimeout, "P-OVR-01"},
		{"report_match_result", protocol.ErrInvalidFieldType, "R-REP-10"},
	} {
		assert.Equal(t, tt.want, Remedy(tt.method, tt.code, false).ID, "%s %s", tt.method, tt.code)
	}
}
