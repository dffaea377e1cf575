package protocol_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

func TestTimestamps(t *testing.T) {
	at := func(nanosecond int) time.Time { return time.Date(2025, 1, 15, 10, 30, 0, nanosecond, time.UTC) }
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 23, 59, 59, 0, time.UTC)
	}
	var none time.Time
	tests := []struct {
		text string
		want time.Time // none: refused
	}{
		// Spec 003 §2.4.2 table 3.
		{"2025-01-15T10:30:00Z", at(0)},
		{"2025-01-15T10:30:00+00:00", at(0)},
		{"2025-01-15T10:30:00+02:00", none},
		{"2025-01-15T10:30:00", none},
		// Fractions.
		{"2025-01-15T10:30:00.5Z", at(5e8)},
		{"2025-01-15T10:30:00.123456Z", at(123456e3)},
		{"2025-01-15T10:30:00.123456789+00:00", at(123456789)},
		{"2025-01-15T10:30:00.1234567891Z", at(123456789)},
		{"2025-01-15T10:30:00.1234567890123456789Z", at(123456789)},
		{"2025-01-15T10:30:00.12345678901234567890Z", none},
		{"2025-01-15T10:30:00.Z", none},
		{"2025-01-15T10:30:00,5Z", none},
		// Ends of months.
		{"2025-01-31T23:59:59Z", day(2025, 1, 31)},
		{"2025-02-28T23:59:59Z", day(2025, 2, 28)},
		{"2025-02-29T23:59:59Z", none},
		{"2024-02-29T23:59:59Z", day(2024, 2, 29)},
		{"2024-02-30T23:59:59Z", none},
		{"1900-02-29T23:59:59Z", none},
		{"2000-02-29T23:59:59Z", day(2000, 2, 29)},
		{"2025-03-31T23:59:59Z", day(2025, 3, 31)},
		{"2025-04-29T23:59:59Z", day(2025, 4, 29)},
		{"2025-04-30T23:59:59Z", day(2025, 4, 30)},
		{"2025-04-31T23:59:59Z", none},
		{"2025-12-31T23:59:59Z", day(2025, 12, 31)},
		{"2025-12-32T23:59:59Z", none},
		{"2025-01-00T23:59:59Z", none},
		{"2025-00-15T10:30:00Z", none},
		{"2025-13-15T10:30:00Z", none},
		// Hours, minutes, seconds.
		{"2025-01-15T24:00:00Z", none},
		{"2025-01-15T10:60:00Z", none},
		{"2025-01-15T10:30:60Z", none},
		{"2016-12-31T23:59:60Z", none}, // Go has no leap seconds
		{"2025-01-15T1:30:00Z", none},
		{"2025-01-15T1:30:00.5Z", none},
		{"2025-01-15T10:3:00Z", none},
		// Zones.
		{"2025-01-15T10:30:00-00:00", none},
		{"2025-01-15T10:30:00+00:00Z", none},
		{"2025-01-15T10:30:00+0000", none},
		{"2025-01-15T10:30:00-05:00", none},
		{"2025-01-15T10:30:00z", none},
		{"2025-01-15T10:30:00UTC", none},
		// Garbage.
		{"", none},
		{"Z", none},
		{"+00:00", none},
		{"now", none},
		{"2025-01-15 10:30:00Z", none},
		{"2025-01-15t10:30:00Z", none},
		{"20250115T103000Z", none},
		{"2025-01-15Z", none},
		{"2025-1-15T10:30:00Z", none},
		{"25-01-15T10:30:00Z", none},
		{"+2025-01-15T10:30:00Z", none},
		{" 2025-01-15T10:30:00Z", none},
		{"2025-01-15T10:30:00Z\n", none},
		{"2025-01-1\u0665T10:30:00Z", none},
		{"1736937000", none},
		{"aaaa-aa-aaTaa:aa:aaZ", none},
		{strings.Repeat("2025-01-15T10:30:00Z", 1000), none},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := protocol.ParseTimestamp(test.text)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.want.IsZero(), err != nil)
			assert.Equal(t, err == nil, protocol.ValidTimestamp(test.text))
			if err != nil {
				assert.Less(t, len(err.Error()), 200, "untrusted text is clipped")
			}
		})
	}
}

var timestampForm = regexp.MustCompile(`^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(\.\d+)?(Z|\+00:00)$`)

// expected is another reading of spec 003 §2.4.2: by pattern and calendar.
func expected(s string) bool {
	m := timestampForm.FindStringSubmatch(s)
	if m == nil || len(s) > 40 {
		return false
	}
	number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
	year, month, day := number(1), number(2), number(3)
	long := map[int]int{1: 31, 2: 28, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		long[2] = 29
	}
	return day >= 1 && day <= long[month] && number(4) < 24 && number(5) < 60 && number(6) < 60
}

// someTimestamp draws times of all kinds, most of them nearly right.
func someTimestamp(t *rapid.T) string {
	two := func(most int) string {
		n := rapid.IntRange(0, most).Draw(t, "n")
		return string([]byte{byte('0' + n/10), byte('0' + n%10)})
	}
	s := two(21) + two(99) + "-" + two(13) + "-" + two(32) + "T" + two(24) + ":" + two(60) + ":" + two(60) +
		rapid.SampledFrom([]string{"", "", "", ".0", ".", ".123456", ",5", ".123456789012345678901234"}).Draw(t, "fraction") +
		rapid.SampledFrom([]string{"Z", "Z", "Z", "+00:00", "-00:00", "+01:00", "z", ""}).Draw(t, "zone")
	switch rapid.IntRange(0, 9).Draw(t, "flaw") {
	case 0:
		i := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		return s[:i] + s[i+1:]
	case 1:
		i := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		return s[:i] + string(rapid.ByteRange(' ', '~').Draw(t, "byte")) + s[i+1:]
	}
	return s
}

func TestTimestampsAgreeWithTheCalendar(t *testing.T) {
	valid := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 50 {
			s := someTimestamp(t)
			_, err := protocol.ParseTimestamp(s)
			require.Equal(t, expected(s), err == nil, s)
			if err == nil {
				valid++
			}
		}
	})
	assert.Greater(t, valid, 100, "nearly nothing drawn was valid")
}

// someTime draws a time within the years that the protocol can write.
func someTime(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "second"), rapid.Int64Range(0, 999999999).Draw(t, "nanosecond"))
}

func TestFormattedTimestampsCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		moment := someTime(t)
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		written := protocol.FormatTimestamp(moment.In(zone))
		require.Len(t, written, 20)
		require.True(t, protocol.ValidTimestamp(written), written)
		read, err := protocol.ParseTimestamp(written)
		require.NoError(t, err)
		require.Equal(t, moment.Unix(), read.Unix())
		require.Equal(t, time.UTC, read.Location())
	})
}

func TestClockFormatsLikeFormatTimestamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := protocol.SystemClock()
		base := someTime(t)
		for range 200 {
			// The clock caches some seconds: draw moments inside and outside the cache.
			moment := base.Add(time.Duration(rapid.Int64Range(-200, 200).Draw(t, "seconds")) * time.Second)
			if rapid.Bool().Draw(t, "elsewhere") {
				moment = moment.In(time.FixedZone("", 2*3600))
			}
			require.Equal(t, protocol.FormatTimestamp(moment), clock.Format(moment))
		}
	})
}

func TestClockShowsItsOwnTime(t *testing.T) {
	moment := time.Date(2025, 1, 15, 12, 30, 0, 5, time.FixedZone("", 2*3600))
	var slept time.Duration
	clock := protocol.NewClock(func() time.Time { return moment },
		func(_ context.Context, d time.Duration) error { slept += d; return context.Canceled })
	assert.Equal(t, moment, clock.Now())
	assert.Equal(t, "2025-01-15T10:30:00Z", clock.Timestamp())
	assert.Equal(t, context.Canceled, clock.Sleep(context.Background(), time.Hour))
	assert.Equal(t, time.Hour, slept)
	moment = moment.Add(time.Second)
	assert.Equal(t, "2025-01-15T10:30:01Z", clock.Timestamp())
}
