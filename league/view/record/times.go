package record

import (
	"strings"
	"time"

	"evenodd/league/words"
)

// timestamp finds the times of the protocol, of the journal and of its sentences, which are in UTC.
var timestamp = words.Pattern(`\b\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|\+00:00)| \d\d:\d\d UTC\b)`)

// minutes is the form of times for people.
const minutes = "2006-01-02 15:04 MST"

// LocalTimes is a text for people: each time in it that is in UTC, such as 2026-11-29T09:04:05.250Z, becomes a time to
// the minute in a zone, with the name of the zone: 2026-11-29 10:04 CET. The zone nil is UTC.
func LocalTimes(text string, zone *time.Location) string {
	return inZone(text, minutes, zone)
}

// LocalClock is LocalTimes with times of day to the millisecond, for events of a match that follow each other:
// 10:04:05.250.
func LocalClock(text string, zone *time.Location) string { return inZone(text, "15:04:05.000", zone) }

func inZone(text, layout string, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	return timestamp().ReplaceAllStringFunc(text, func(found string) string {
		form := time.RFC3339
		if strings.HasSuffix(found, "UTC") {
			form = minutes
		}
		at, err := time.Parse(form, found)
		if err != nil { // such as month 13
			return found
		}
		return at.In(zone).Format(layout)
	})
}
