package leaguetest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/store"
	"evenodd/rules"
)

// CloseAudited closes the files of the league and audits them.
func (x *ManagerRun) CloseAudited() *journal.State {
	x.World.T.Helper()
	require.NoError(x.World.T, x.CloseFiles())
	return x.World.CheckAudited(x.Folder)
}

// CheckAudited is CheckFiles, and the audit must have no findings.
func (w *World) CheckAudited(folder store.Folder) *journal.State {
	w.T.Helper()
	state := w.CheckFiles(folder)
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
	require.NoError(w.T, err)
	assert.Empty(w.T, report.Leagues[0].Findings)
	return state
}
