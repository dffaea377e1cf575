package simulation_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// If the journal cannot be written while agents register, the simulation ends with the
// reason, and does not try for ever.
func TestFullDiskDuringRegistrationEndsTheSimulation(t *testing.T) {
	folder := store.In(t.TempDir())
	o := options(4)
	o.Files = openFiles(t, folder, o.LeagueID)
	leaguetest.FillDisk(t, folder.Journal(o.LeagueID))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := simulation.Run(ctx, o)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorIs(t, o.Files.Close(), syscall.ENOSPC)
}
