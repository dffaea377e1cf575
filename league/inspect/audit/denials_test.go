package audit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/store"
)

// A history that somebody kept names the recorded matches of which nothing reached its player.
func TestHistoryNamesMatchesOfWhichItKnowsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(matches []store.HistoryMatch) []store.HistoryMatch
		want   string
	}{
		"all matches":                     {func(m []store.HistoryMatch) []store.HistoryMatch { return m }, ""},
		"the first is missing":            {func(m []store.HistoryMatch) []store.HistoryMatch { return m[1:] }, "knows nothing of R1M1, which REF01 reported"},
		"it was collected before the end": {func(m []store.HistoryMatch) []store.HistoryMatch { return m[:2] }, ""},
		"the standings alone told the first": {func(m []store.HistoryMatch) []store.HistoryMatch {
			first := &m[0]
			first.FromStandings, first.DrawCommitment, first.Entropy = true, "", ""
			return m
		}, "knows nothing of R1M1, which REF01 reported"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSavedLeague(t, 3)
			h := w.history("P01")
			h.Matches = tt.change(h.Matches)
			w.setHistory(h)
			report, err := audit.Run(w.dir, audit.Options{Games: games(), Histories: w.dir.Path})
			require.NoError(t, err)
			l := report.Leagues[0]
			assert.Empty(t, l.Findings, listed(l.Findings))
			found := listed(slices.DeleteFunc(l.Notes, func(n audit.Finding) bool { return n.Rule != audit.RuleHistory }))
			assert.Contains(t, found, tt.want)
			assert.Equal(t, tt.want != "", found != "", found)
		})
	}
}

func TestDenialThatDoesNotCountNeedsAnAnswerInTheTranscript(t *testing.T) {
	denied := func(w *savedLeague) {
		w.insertAfter("match_reported", "R1M1", `"type":"result_denied","data":{"match_id":"R1M1","attempt":1,"player_id":"P01","answered":true}`)
	}
	w := newSavedLeague(t, 3)
	w.transcript(func(d *store.Match) { d.Digested = len(d.Transcript) })
	denied(w)
	l := w.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Contains(t, listed(l.Notes), "the denial does not count")
	w = newSavedLeague(t, 3)
	w.transcript(func(d *store.Match) {
		d.Transcript = slices.DeleteFunc(d.Transcript, func(x store.Exchange) bool { return x.Direction == store.Received && x.PlayerID == "P01" })
		d.Digested = len(d.Transcript)
	})
	denied(w)
	assert.Contains(t, listed(w.audit().Findings), "so that its denial does not count; there is none")
}
