package simulation_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// If the journal cannot be written while agents register, the simulation ends with the
// reason, and does not try for ever.
func TestFullDiskDuringRegistrationEndsTheSimulation(t *testing.T) {
	folder := store.Folder(t.TempDir())
	o := options(4)
	files, _, err := manager.OpenFiles(folder, o.LeagueID, false, nil)
	require.NoError(t, err)
	leaguetest.FillDisk(t, folder.Journal(o.LeagueID))
	o.Files = files
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = simulation.Run(ctx, o)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, files.Close(), syscall.ENOSPC)
}
