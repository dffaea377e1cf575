package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

func TestReportedResultMayLackDetails(t *testing.T) {
	const short = `{"winner":"P01","score":{"P01":3,"P02":0}}`
	for _, text := range []string{short, `{"winner":"P01","score":{"P01":3,"P02":0},"details":null}`} {
		var r protocol.ReportedResult
		require.NoError(t, json.Unmarshal([]byte(text), &r))
		assert.Equal(t, protocol.ReportedResult{
			Result: league.Result{WinnerPlayerID: new("P01")}, Score: league.Both("P01", 3, "P02", 0),
		}, r)
		again, err := json.Marshal(&r)
		require.NoError(t, err)
		assert.Equal(t, short, string(again))
	}
}
