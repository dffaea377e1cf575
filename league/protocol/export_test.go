package protocol

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
