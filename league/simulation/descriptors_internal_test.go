package simulation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLeagueThatNeedsTooManyDescriptorsIsRefused(t *testing.T) {
	o := Options{Players: 1000, Referees: 2, Concurrency: 16, Transport: HTTP}
	for _, limit := range []uint64{0, 1 << 20, 4096} {
		require.NoError(t, o.checkDescriptors(limit), "limit %d", limit)
	}
	require.EqualError(t, o.checkDescriptors(1024), "1000 players over http need about 3201 file descriptors, but this process may open 1024: "+
		"raise the limit (ulimit -n 3201), or use --transport memory")
	o.Transport = Memory
	require.NoError(t, o.checkDescriptors(10))
}
