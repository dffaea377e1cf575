package protocol

import (
	"fmt"
	"strings"
	"time"
)

const timestampLimit = 40 // characters; no fraction of a second needs more

// FormatTimestamp formats t as the protocol requires: UTC, whole seconds,
// YYYY-MM-DDTHH:MM:SSZ (spec 003 §4.12.3).
func FormatTimestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ParseTimestamp reads a timestamp that the protocol accepts: Z or +00:00,
// with or without fractions of a second (spec 003 §2.4.2). Local zones and
// times without a zone are errors.
func ParseTimestamp(s string) (time.Time, error) {
	if !strings.HasSuffix(s, "Z") && !strings.HasSuffix(s, "+00:00") {
		return time.Time{}, fmt.Errorf("%q is not in UTC: end it with Z or +00:00", clip(s))
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	// time.Parse takes T1:30:00Z too
	if err != nil || len(s) > timestampLimit || s[13] != ':' || strings.ContainsRune(s, ',') {
		return time.Time{}, fmt.Errorf("%q is not a time of the form YYYY-MM-DDTHH:MM:SSZ", clip(s))
	}
	return t.UTC(), nil
}

// ValidTimestamp tells whether ParseTimestamp accepts s.
func ValidTimestamp(s string) bool {
	_, err := ParseTimestamp(s)
	return err == nil
}

// OptionalTimestamp is FormatTimestamp; "" for the zero time.
func OptionalTimestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return FormatTimestamp(t)
}

// clip shortens an untrusted text for an error text.
func clip(s string) string { return Clip(s, 60) }

// Clip cuts a text to limit bytes, and removes invalid UTF-8.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return strings.ToValidUTF8(s, "")
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
