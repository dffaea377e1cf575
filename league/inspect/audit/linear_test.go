package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// withExchanges replaces the transcript of R1M1 by exchanges that never happened, each in lines of its own.
func withExchanges(w *savedLeague, number int) {
	const one = `{
  "at": "2026-01-01T12:00:00.000Z", "direction": "sent", "player_id": "P01", "method": "choose_parity",
  "message_type": "CHOOSE_PARITY_CALL", "try": 1,
  "message": {"a": 1}
}`
	w.edit(r1m1, `(?s)"transcript": \[.*?\n  \]`, `"transcript": [`+strings.Repeat(one+",\n", number-1)+one+"\n  ]")
}

// Memory that is allocated stands for time, because it does not depend on the machine: a search of the whole file
// for each finding allocates four times as much for twice the exchanges.
func TestAuditIsLinearInAMatchFile(t *testing.T) {
	allocations := func(exchanges int) float64 {
		w := newSavedLeague(t, 3)
		withExchanges(w, exchanges)
		return testing.AllocsPerRun(1, func() { w.audit() })
	}
	none := allocations(1)
	few, many := allocations(1000)-none, allocations(4000)-none
	assert.Less(t, many, 5*few, "%.0f for 1,000 exchanges, %.0f for 4,000", few, many)
}

// Each configuration of the time of a match is tried, but no more than a few: the audit needs no time for the others.
func TestAuditTriesFewConfigurations(t *testing.T) {
	configuration := newCreated().Configuration
	configuration.Evidence = journal.GradeStated
	allocations := func(number int) float64 {
		w := newSavedLeague(t, 3)
		withExchanges(w, 100)
		var events []string
		for i := range number {
			configuration.Timeouts.Move = float64(60 + i)
			text, err := json.Marshal(&configuration)
			require.NoError(t, err)
			events = append(events, `"type":"configured","data":{"configuration":`+string(text)+`}`)
		}
		w.insertAfter("match_accepted", "R1M1", events...)
		return testing.AllocsPerRun(1, func() { w.audit() })
	}
	few, many := allocations(20), allocations(40)
	assert.Less(t, many, few*5/4, "%.0f for 20, %.0f for 40", few, many)
}

func TestAtMost50FindingsOfAFileAreListed(t *testing.T) {
	w := newSavedLeague(t, 3)
	withExchanges(w, 200)
	report := w.audit()
	about := 0
	for _, f := range report.Findings {
		if f.File == r1m1 {
			about++
		}
	}
	assert.LessOrEqual(t, about, 50)
	require.Len(t, report.Unlisted, 1)
	more := report.Unlisted[0]
	assert.Equal(t, audit.Unlisted{Severity: audit.SeverityFinding, File: r1m1, Count: more.Count}, more)
	assert.Greater(t, more.Count, 100)
	assert.Equal(t, fmt.Sprintf("%s: %d more findings not listed", r1m1, more.Count), more.String())
	assert.Contains(t, report.Summary(), fmt.Sprintf("%d findings", len(report.Findings)+more.Count))
}

// The questions of a game whose program is not given tell what the program would say. Views are compared with all.
func TestAuditIsLinearInTheQuestionsOfAProgram(t *testing.T) {
	p, _ := bidding(t)
	p.options.Games, p.options.Programs = games(), nil
	files := snapshot(t, p.dir)
	allocations := func(questions int) float64 {
		p := p.restore(t, files)
		p.transcript(func(d *store.Match) {
			i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Method == protocol.MakeMove.Name })
			d.Transcript = slices.Insert(d.Transcript, i, slices.Repeat([]store.Exchange{d.Transcript[i]}, questions)...)
		})
		return testing.AllocsPerRun(1, func() { p.audit() })
	}
	none := allocations(0)
	few, many := allocations(1000)-none, allocations(4000)-none
	assert.Less(t, many, 5*few, "%.0f for 1,000 questions, %.0f for 4,000", few, many)
}
