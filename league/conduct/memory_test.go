package conduct_test

import (
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// A referee keeps the results of 1,000 matches.
func TestResultKeepsNoMatchInMemory(t *testing.T) {
	m := conduct.New(conduct.Version, assignmentOf(evenodd.Type), evenodd.Game{}, "REF01", protocol.Secret{2},
		protocol.FormatTimestamp)
	score, draw := m.ScoreAndDraw(&league.Result{Status: league.StatusDraw})
	alone := m.Draw()
	match := weak.Make(m)
	runtime.GC()
	assert.Nil(t, match.Value())
	runtime.KeepAlive([]any{score, draw, alone})
}
