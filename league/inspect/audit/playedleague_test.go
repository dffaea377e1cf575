package audit_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
)

// A playedLeague is the data folder of a league that a simulation has played.
type playedLeague struct {
	*savedLeague

	options audit.Options
}

// play plays a league of two players that sign, with a match in each of two legs.
func play(t *testing.T, game rules.Game, program referee.Program) *playedLeague {
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
		o.Programs = map[string]referee.Program{gameType: program}
	}
	_, err = simulation.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	return &playedLeague{&savedLeague{t: t, dir: folder}, audit.Options{Games: rules.NewRegistry(game), Views: true}}
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
	require.Empty(t, l.Findings, listed(l.Findings))
	require.Empty(t, l.Notes, listed(l.Notes))
}

var _ = context.Background
var _ sync.Mutex
