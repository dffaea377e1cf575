package protocol

import "reflect"

// What tests outside the package compare with its exported judgement.

// Window onto unexported functions.
var (
	ValidSender   = validSender
	FastTimestamp = validTimestamp
	FastURL       = soundURL
)

// IsRequest tells whether q is judged on its way in.
func IsRequest(q any) bool {
	_, ok := q.(request)
	return ok
}

// Sound is the fast check of a request that comes as a value.
func Sound(q any) bool { return q.(request).sound() }

// FastCheck is the fast check of a request that comes encoded; q is what it
// was decoded into.
func FastCheck(messageType string, raw []byte, q any) bool {
	return Sound(q) && whole(raw, bodies[messageType])
}

// NewSound is the check of a request that is a value.
func NewSound(messageType string, q any) bool {
	return allHold(requestTypes[messageType].checks, reflect.ValueOf(q).UnsafePointer())
}

func NewExamine(messageType string, raw []byte) []FieldError {
	return examineValid(shapes[messageType], raw)
}

var OldExamine = oldExamine

// Bare is a field error without what only the validator needs.
func Bare(all []FieldError) []FieldError {
	for i := range all {
		all[i].order = 0
	}
	return all
}
