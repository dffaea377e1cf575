package cmd

import (
	"bytes"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/view/record"
)

func TestManagerSaysWhatATimeInThePastMeans(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	const past, future = "2026-11-23T08:00:00Z", "2026-11-23T10:00:00Z"
	for name, c := range map[string]struct {
		status manager.Status
		want   string
	}{
		"no time":             {want: "", status: manager.Status{}},
		"start in the future": {want: "", status: manager.Status{StartAt: future}},
		"league has begun":    {want: "", status: manager.Status{StartAt: past, Counts: decide.Counts{Matches: 6}}},
		"start in the past":   {want: "as soon as enough agents", status: manager.Status{StartAt: past}},
		"nobody can register": {want: "cannot start",
			status: manager.Status{RegistrationUntil: past, StartAt: past,
				Counts: decide.Counts{Players: 1, Referees: 1}}},
		"no referee can register": {want: "later --registration-until",
			status: manager.Status{RegistrationUntil: past, StartAt: past, Counts: decide.Counts{Players: 2}}},
		"agents have not answered": {want: "as soon as enough agents",
			status: manager.Status{RegistrationUntil: past, StartAt: past,
				Counts: decide.Counts{Players: 2, Referees: 1}}},
		"planned start is still open": {want: "", status: manager.Status{StartAt: future}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tooLate(c.status, now)
			if c.want == "" {
				assert.Empty(t, got)
			}
			assert.Contains(t, got, c.want)
		})
	}
}

func TestSeedingFileIsUTF8AndOfLimitedSize(t *testing.T) {
	for _, tt := range []struct{ name, text, problem string }{
		{"byte order mark and CRLF", "\ufeffJörg\r\n\r\n Ann B \r\n", ""},
		{"Latin-1", "J\xf6rg\nAnn B\n", ": the file is not in UTF-8: save it as UTF-8"},
		{"too large", strings.Repeat("a\n", 4<<20), ": the file has more than 4194304 bytes"},
	} {
		path := writeFile(t, tt.text, t.TempDir(), "seeds.txt")
		chosen, err := (&leagueSettings{format: "swiss", seeding: path}).tournament(2, 1, nil)
		if tt.problem != "" {
			assert.ErrorContains(t, err, path+tt.problem, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		assert.Equal(t, []string{"Jörg", "Ann B"}, chosen.Seeding, tt.name)
	}
}

// A roster that lists no referee admits any, and the league waits for the usual number.
func TestStatusOfRosterWithoutRefereesExpectsReferees(t *testing.T) {
	for listed, want := range map[journal.Roster]journal.Roster{
		{Players: 20}:              {Players: 20, Referees: 1},
		{Players: 20, Referees: 3}: {Players: 20, Referees: 3},
	} {
		r := newLeagueRecord()
		r.Created = &journal.Created{}
		r.Configuration = &journal.Configuration{Participants: journal.Participants{Players: 4, Referees: 1}, Roster: &listed}
		assert.Equal(t, &want, r.status().Expected)
	}
}

func TestAgentWithAnotherKeyIsShown(t *testing.T) {
	r := newLeagueRecord()
	r.Created, r.Started = &journal.Created{}, &journal.Started{}
	r.Agents["P01"] = &journal.Agent{AgentRegistered: journal.AgentRegistered{AgentID: "P01"}, Player: true, Answered: true, KeyChanged: 57}
	r.Agents["P02"] = &journal.Agent{AgentRegistered: journal.AgentRegistered{AgentID: "P02"}, Player: true, Answered: true}
	r.Agents["P03"] = &journal.Agent{
		AgentRegistered: journal.AgentRegistered{AgentID: "P03"}, Player: true, Answered: true, KeyChanged: 58,
		Withdrawn: &journal.Made{Decision: journal.Decision{By: "Ann"}},
	}
	shown := r.status().Agents
	require.Len(t, shown, 2)
	assert.Contains(t, shown[1].Reason, "; has had another key since event 58")
	assert.Equal(t, []string{"P01", "ACTIVE", "has had another key since event 57"}, []string{shown[0].AgentID, shown[0].State, shown[0].Reason})
	assert.Equal(t, "P01 has had another key since event 57", matchRemark(&record.Match{KeyMarks: []string{"P01 " + shown[0].Reason}}))
}

// An agent warns once when the disk is almost full, and shows the state in its health.
func TestLowDiskSpaceIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var free atomic.Uint64
		var unknown atomic.Bool
		w := &diskWatch{folder: "data", low: 100 * megabyte, free: func(string) (uint64, error) {
			if unknown.Load() {
				return 0, errors.ErrUnsupported
			}
			return free.Load(), nil
		}}
		free.Store(500 * megabyte)
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.warn(t.Context(), zerolog.New(&log))
		}()
		look := func(bytes uint64) map[string]any {
			free.Store(bytes)
			time.Sleep(10 * diskInterval) // virtual time
			synctest.Wait()
			return w.health(map[string]any{"status": "ok"})
		}
		assert.Equal(t, map[string]any{"status": "ok"}, look(500*megabyte))
		assert.Empty(t, log.String())
		assert.Equal(t, map[string]any{"status": "warning", "disk": diskHealth{FreeMB: 99, LowSpaceMB: 100, Low: true}}, look(100*megabyte-1))
		<-done
		assert.Equal(t, 1, strings.Count(log.String(), "DISK_SPACE_LOW"))
		assert.Equal(t, "ok", look(110 * megabyte)["status"])
		unknown.Store(true)
		assert.Equal(t, map[string]any{"status": "ok"}, look(0), "unknown is not low")
	})
}

func TestNoDiskIsWatchedWithoutADataFolder(t *testing.T) {
	w, stop := watchDisk("", 100, zerolog.Nop())
	defer stop()
	assert.Equal(t, map[string]any{"status": "ok"}, w.health(map[string]any{"status": "ok"}))
}
