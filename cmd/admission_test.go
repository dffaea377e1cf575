package cmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/manager"
)

func TestManagerSaysWhatATimeInThePastMeans(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	const past, future = "2026-11-23T08:00:00Z", "2026-11-23T10:00:00Z"
	for name, c := range map[string]struct {
		status manager.Status
		want   string
	}{
		"no time":                     {want: "", status: manager.Status{}},
		"start in the future":         {want: "", status: manager.Status{StartAt: future}},
		"league has begun":            {want: "", status: manager.Status{StartAt: past, Matches: 6}},
		"start in the past":           {want: "as soon as enough agents", status: manager.Status{StartAt: past}},
		"nobody can register":         {want: "cannot start", status: manager.Status{RegistrationUntil: past, StartAt: past, Players: 1, Referees: 1}},
		"no referee can register":     {want: "later --registration-until", status: manager.Status{RegistrationUntil: past, StartAt: past, Players: 2}},
		"agents have not answered":    {want: "as soon as enough agents", status: manager.Status{RegistrationUntil: past, StartAt: past, Players: 2, Referees: 1}},
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
