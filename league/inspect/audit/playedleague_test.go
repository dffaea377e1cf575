package audit_test

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
)

// A playedLeague is the data folder of a league that a simulation has played.
type playedLeague struct {
	*savedLeague

	options audit.Options
}

// play plays a league of two players that sign, with a match in each of two legs. Of the game of a program, which is nil
// for any other game, the league has version and digest.
func play(t *testing.T, game rules.Game, program *rulestest.Program) *playedLeague {
	t.Helper()
	folder := store.Folder(t.TempDir())
	files, _, err := manager.OpenFiles(folder, leagueID, false, nil)
	require.NoError(t, err)
	gameType := game.Info().Type
	o := simulation.Options{
		Seed: 7, Strategies: []string{"random"}, Transport: simulation.Memory, Sign: true,
		Rules: simulation.Rules{
			Created: journal.Created{LeagueID: leagueID, GameType: gameType, Legs: 2,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: 2, Referees: 1}}},
			Games: rules.NewRegistry(game), Log: zerolog.Nop(), Files: files,
		},
	}
	if program != nil {
		o.Created.GameID = protocol.GameID{Version: game.Info().Version, Digest: program.Digest()}
		o.Programs = map[string]referee.Program{gameType: program}
	}
	_, err = simulation.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	p := &playedLeague{&savedLeague{t: t, dir: folder}, audit.Options{Games: rules.NewRegistry(game), Views: true}}
	if program != nil {
		p.options.Programs = map[string]audit.Program{gameType: asked(t, program)}
	}
	return p
}

// asked is a program as the audit asks it.
func asked(t *testing.T, program *rulestest.Program) audit.Program {
	t.Helper()
	return audit.Program{Digest: program.Digest(), Ask: func(history []rules.Entry) (*rules.State, error) {
		return program.Ask(t.Context(), history)
	}}
}

// audit returns the result of the audit of the league.
func (p *playedLeague) audit() audit.League {
	p.t.Helper()
	report, err := audit.Run(p.dir, p.options)
	require.NoError(p.t, err)
	require.Len(p.t, report.Leagues, 1)
	return report.Leagues[0]
}

func TestHonestLeagueWithHiddenCardsHasNoFindings(t *testing.T) {
	l := play(t, kuhnpoker.Game{}, nil).audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Empty(t, l.Notes, listed(l.Notes))
}

func TestHonestLeagueOfAProgramHasNoFindings(t *testing.T) {
	program := rulestest.NewProgram("fours", connectfour.Game{})
	p := play(t, program.Rules(), program)
	for _, views := range []bool{false, true} {
		before := program.Asked()
		p.options.Views = views
		l := p.audit()
		assert.Empty(t, l.Findings, listed(l.Findings))
		assert.Empty(t, l.Notes, listed(l.Notes))
		t.Log(program.Asked() - before)
	}
}
