package protocol

import (
	"fmt"
	"strings"
	"time"
)

const (
	timestampLayout = "2006-01-02T15:04:05Z"
	timestampLimit  = 40 // characters; no fraction of a second needs more
)

// FormatTimestamp formats t as the protocol requires: UTC, whole seconds,
// YYYY-MM-DDTHH:MM:SSZ (spec 003 §4.12.3).
func FormatTimestamp(t time.Time) string { return t.UTC().Format(timestampLayout) }

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

// ValidTimestamp tells whether ParseTimestamp accepts s. It is fast for the usual form.
func ValidTimestamp(s string) bool {
	if len(s) == 20 && s[4] == '-' && s[7] == '-' && s[10] == 'T' && s[13] == ':' && s[16] == ':' && s[19] == 'Z' {
		month, day := two(s, 5), two(s, 8)
		if two(s, 0) <= 99 && two(s, 2) <= 99 && month >= 1 && month <= 12 && day >= 1 && day <= 28 &&
			two(s, 11) <= 23 && two(s, 14) <= 59 && two(s, 17) <= 59 {
			return true
		}
	}
	_, err := ParseTimestamp(s)
	return err == nil
}

// two reads two digits at i; 100 for other characters.
func two(s string, i int) int {
	a, b := s[i]-'0', s[i+1]-'0'
	if a > 9 || b > 9 {
		return 100
	}
	return int(a)*10 + int(b)
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
