package dialect_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport/dialect"
)

// Agents that know only the league of the specification take part in one whose id has a date.
func TestLeagueOfTheSpecificationIsThatOfTheManager(t *testing.T) {
	for _, tt := range []struct{ own, said, want string }{
		{"2026-11-29-class-cup", dialect.UsualLeague, "2026-11-29-class-cup"},
		{"2026-11-29-class-cup", "other", "other"},
		{"cup", dialect.UsualLeague, dialect.UsualLeague},
		{"", dialect.UsualLeague, dialect.UsualLeague},
	} {
		q := dialect.ReadRequest([]byte(`{"jsonrpc": "2.0", "id": 1, "method": "report_match_result", "params": {"protocol": "league.v2",
			"message_type": "MATCH_RESULT_REPORT", "sender": "referee:REF01", "timestamp": "2026-11-29T09:00:00Z", "conversation_id": "c",
			"league_id": "` + tt.said + `", "match_id": "R1M1"}}`))
		require.True(t, q.Resolve())
		q.Complete(&dialect.Facts{Now: time.Unix(0, 0), League: tt.own})
		assert.Equal(t, tt.want, q.Params.Text("league_id"), tt)
	}
}
