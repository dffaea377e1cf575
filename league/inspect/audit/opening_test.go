package audit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules/connectfour"
	"evenodd/rules/rulestest"
)

// withOpenings lets each pair of legs begin with the same plies.
func withOpenings(plies int) func(*simulation.Options) {
	return func(o *simulation.Options) { o.Openings = plies }
}

func TestHonestLeagueWithOpeningsHasNoFindings(t *testing.T) {
	program := rulestest.NewProgram("fours", connectfour.Game{})
	for _, p := range []*playedLeague{
		play(t, connectfour.Game{}, nil, withOpenings(6)), play(t, program.Rules(), program, withOpenings(6)),
	} {
		for range 2 {
			l := p.audit()
			assert.Empty(t, l.Findings, listed(l.Findings))
			for _, n := range l.Notes {
				assert.Equal(t, audit.RuleGame, n.Rule, "the second time the program is not given: %v", n)
			}
			p.options.Programs = nil
		}
	}
}

func TestForgedOpeningsAreFound(t *testing.T) {
	program := rulestest.NewProgram("fours", connectfour.Game{})
	p := play(t, program.Rules(), program, withOpenings(4))
	files := snapshot(t, p.dir)
	for _, tt := range []struct {
		name  string
		forge func(p *playedLeague)
		want  []shown
	}{
		{"another opening", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Opening[0] = other(e.Opening[0]) })
		}, []shown{{audit.RuleOpening, journalFile, []string{"R1M1", "by the start of the league"}},
			{audit.RuleOpening, r1m1, []string{"R1M1"}}}},
		{"no opening", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Opening = nil })
		}, []shown{{audit.RuleOpening, journalFile, []string{"R1M1"}}, {audit.RuleOpening, r1m1, []string{"R1M1"}}}},
		{"a ply that is not legal", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Opening[3] = "9" })
		}, []shown{{audit.RuleOpening, journalFile, []string{"R1M1"}}, {audit.RuleOpening, r1m1, []string{`"9"`}}}},
		{"the opening of the match file alone", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Opening = slices.Clone(d.Opening[:3]) })
		}, []shown{{audit.RuleOpening, r1m1, []string{"R1M1"}}}},
		{"a question with another opening", func(p *playedLeague) {
			p.exchanges(store.Sent, "P01", protocol.MakeMove.Name, func(raw []byte) any {
				q := leaguetest.Decode[protocol.GameMoveCall](raw)
				q.Opening[1] = other(q.Opening[1])
				return q
			})
		}, []shown{{audit.RuleTranscript, r1m1, []string{"opening"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, without := range []bool{false, true} {
				forged := p.restore(t, files)
				tt.forge(forged)
				if forged.options.Programs = nil; !without {
					forged.options.Programs = p.options.Programs
				}
				findings := forged.audit().Findings
				require.NotEmpty(t, findings, "without the program: %t", without)
				for _, want := range tt.want {
					assert.True(t, without || finds(findings, want.rule, want.file, want.texts...), "%v in %s", want, listed(findings))
				}
			}
		})
	}
}

// other is another column of the board.
func other(column string) string {
	if column == "3" {
		return "2"
	}
	return "3"
}
