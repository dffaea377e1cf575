package simulation_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// ruleForTheLoser has the league end after a ruling about the match, for its loser.
func (o *organiser) ruleForTheLoser() {
	t, winner := o.t, o.ids[1]
	t.Helper()
	ruling := &journal.Decided{
		Command: protocol.CommandRule, Decision: journal.Decision{By: "A. Smith", Reason: "a wrong draw"}, MatchID: o.match.MatchID, Winner: winner,
	}
	o.other = func(e *journal.Event) []*journal.Event {
		if _, ends := e.Data.(*journal.LeagueCompleted); ends {
			return []*journal.Event{{At: e.At, Data: ruling}, e}
		}
		return []*journal.Event{e}
	}
	path := o.dir.Match("cup", o.match.MatchID.String())
	doc, err := store.Read[store.Match](path)
	require.NoError(t, err)
	require.NoError(t, store.WriteDerived(o.dir.Attempt("cup", doc.MatchID, doc.Attempt), doc))
	result := league.Result{Status: league.StatusWin, WinnerPlayerID: &winner, Reason: "ruled by A. Smith: a wrong draw"}
	for _, c := range o.match.Choices {
		result.Choices = append(result.Choices, league.Member[*string]{Name: c.Name})
	}
	doc.Attempt, doc.RefereeID, doc.Draw, doc.Result = 0, "", nil, &store.MatchResult{Result: result, Score: league.Both(o.match.Score[0].Name, o.match.Score[1].Value, o.match.Score[1].Name, o.match.Score[0].Value)}
	withoutRecord(doc)
	require.NoError(t, store.WriteDerived(path, doc))
	for _, id := range []string{"P01", "P02", "P03", "P04"} { // they name the end of the journal as it was
		o.edit(store.HistoryLines(o.dir.History(id)), func(text string) string {
			return strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool { return strings.Contains(line, `"head":`) }), "")
		})
	}
}

// A ruling does not excuse what a referee or a manager did before it: an annulled result still
// needs the players' signatures.
func TestSignaturesOfAnAnnulledResultAreVerified(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(o *organiser, r *journal.MatchReported)
		want   []string
	}{
		{"as it was", func(*organiser, *journal.MatchReported) {}, nil},
		{"a made-up signature", func(_ *organiser, r *journal.MatchReported) {
			r.Signatures = slices.Clone(r.Signatures)
			r.Signatures[0].Value.Signature = strings.Repeat("0123456789abcdef", 8)
		}, []string{audit.RuleMatchFile, audit.RuleSignature}},
		{"no signatures", func(_ *organiser, r *journal.MatchReported) { r.Signatures = nil }, []string{audit.RuleMatchFile, audit.RuleSignature}},
		{"another winner", func(o *organiser, r *journal.MatchReported) { r.WinnerPlayerID = &o.ids[1] },
			[]string{audit.RuleHistory, audit.RuleMatchFile, audit.RuleVerdict}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOrganiser(t)
			o.ruleForTheLoser()
			o.rewrite(func(r *journal.MatchReported) { tt.change(o, r) })
			assert.Equal(t, tt.want, auditOf(t, o.dir, audit.Options{}))
		})
	}
}
