package record_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/view/record"
)

// People read times in their own zone, in one form, wherever the text has them.
func TestTimesInTextsAreLocal(t *testing.T) {
	cet := time.FixedZone("CET", 3600)
	for text, local := range map[string]string{
		"2026-11-29T23:04:05Z":                                   "2026-11-30 00:04 CET",
		"2026-11-29T09:04:05+00:00":                              "2026-11-29 10:04 CET",
		"from 2026-01-01T00:00:00Z to 2026-01-02T00:00:00.250Z.": "from 2026-01-01 01:00 CET to 2026-01-02 01:00 CET.",
		"by Ada at 2026-06-30 23:30 UTC: lunch":                  "by Ada at 2026-07-01 00:30 CET: lunch",
		"":                                                       "",
		"2026-13-01T00:00:00Z":                                   "2026-13-01T00:00:00Z",
		"2026-11-29T09:04:05+02:00":                              "2026-11-29T09:04:05+02:00",
	} {
		assert.Equal(t, local, record.LocalTimes(text, cet))
	}
	assert.Equal(t, "2026-11-29 09:04 UTC", record.LocalTimes("2026-11-29T09:04:05Z", nil))
	assert.Equal(t, "10:04:05.250", record.LocalClock("2026-11-29T09:04:05.250Z", cet))
}
