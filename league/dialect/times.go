package dialect

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// canonicalTime is a time of another form as the protocol has it; ok is false
// for what is in order, and for what is no time of a form that is known here.
func canonicalTime(v jsontext.Value) (canonical jsontext.Value, ok bool) {
	s := textOf(v)
	if s == "" || protocol.ValidTimestamp(s) {
		return nil, false
	}
	if local, ok := strings.CutSuffix(s, "+00:00Z"); ok && protocol.ValidTimestamp(local+"Z") {
		return quoted(local + "Z"), true
	}
	const compact = "20060102T150405Z"
	if t, err := time.Parse(compact, s); err == nil && len(s) <= len("20060102T150405.000000000Z") {
		return quoted(protocol.FormatTimestamp(t)), true
	}
	return nil, false
}

// mendTime puts a time that is a member of an object into the form of the
// protocol.
func (o *object) mendTime(name string) (mended bool) {
	if t, ok := canonicalTime(o.get(name)); ok {
		o.set(name, t)
		return true
	}
	return false
}
