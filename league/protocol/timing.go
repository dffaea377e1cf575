package protocol

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"
)

// A Timing says where the time of a call went, in this order: waiting at this
// side, connecting (DNS, TCP, TLS), waiting for the first byte of the response,
// and reading the rest. As JSON it has queued_ms, connecting_ms, waiting_ms and
// reading_ms, rounded to a tenth of a millisecond.
//
// A call that failed has the parts that are known: without a response, Waiting is
// the time until the call ended.
type Timing struct {
	Queued, Connecting, Waiting, Reading time.Duration
	// Departed is when the request began to be written, for the last time; zero
	// when it never was. It is not part of the JSON.
	Departed time.Time
	// Body is the body of the response as it arrived, before the bridge translated it; nil
	// without one. It is not part of the JSON.
	Body []byte
}

type timingJSON struct {
	Queued     float64 `json:"queued_ms"`
	Connecting float64 `json:"connecting_ms"`
	Waiting    float64 `json:"waiting_ms"`
	Reading    float64 `json:"reading_ms"`
}

// MarshalJSON writes milliseconds.
func (t Timing) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingJSON{Milliseconds(t.Queued), Milliseconds(t.Connecting), Milliseconds(t.Waiting), Milliseconds(t.Reading)})
}

// UnmarshalJSON reads milliseconds.
func (t *Timing) UnmarshalJSON(raw []byte) error {
	var ms timingJSON
	if err := json.Unmarshal(raw, &ms); err != nil {
		return err
	}
	*t = Timing{
		Queued: FromMilliseconds(ms.Queued), Connecting: FromMilliseconds(ms.Connecting),
		Waiting: FromMilliseconds(ms.Waiting), Reading: FromMilliseconds(ms.Reading),
	}
	return nil
}

// Total is the sum of the four parts.
func (t Timing) Total() time.Duration { return t.Queued + t.Connecting + t.Waiting + t.Reading }

// Milliseconds converts a duration to the form in files and messages: rounded to
// a tenth.
func Milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(100*time.Microsecond)) / 10
}

// FromMilliseconds is the reverse of Milliseconds.
func FromMilliseconds(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// Margin is the longest local delay that counts as normal for a question with the
// given window: a twentieth of the window, at least 100 ms and at most 1 s. If this
// side queued the question for longer, or stalled for longer, a missing answer is
// not the player's failure.
func Margin(window time.Duration) time.Duration {
	return min(max(window/20, 100*time.Millisecond), time.Second)
}
