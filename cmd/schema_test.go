package cmd_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestSchemaListsAllMethods(t *testing.T) {
	table, document := mustRun(t, "schema", "--methods"), mustRun(t, "schema", "--methods", "--format", "json")
	var listed struct {
		Methods []struct {
			Method, Request, Result, Caller, Receiver string
			Timeout                                   float64 `json:"timeout_sec"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(document), &listed))
	require.Len(t, listed.Methods, len(protocol.Methods()))
	for i, m := range protocol.Methods() {
		row := listed.Methods[i]
		assert.Equal(t, []any{m.Name, m.Request, m.Result, m.From, m.To, m.Timeout.Seconds()},
			[]any{row.Method, row.Request, row.Result, row.Caller, row.Receiver, row.Timeout})
		assert.Regexp(t, `\b`+m.Name+`\b.*\b`+m.Result+`\b`, table)
	}
}
