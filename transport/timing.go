package transport

import (
	"math"
	"time"

	"github.com/go-json-experiment/json"
)

// A Timing says where the time of a call went. The four parts are consecutive and
// add up to the whole call, without the encoding of the request and the decoding of
// the result. A call that failed has the parts that are known: one that was never
// sent how long it was queued and tried to connect, one without a response how long
// it waited.
//
// As JSON it has queued_ms, connecting_ms, waiting_ms and reading_ms, rounded to a tenth
// of a millisecond.
type Timing struct {
	Queued     time.Duration // at this side, for a slot among its connections
	Connecting time.Duration // DNS, TCP and TLS
	Waiting    time.Duration // until the first byte of the response
	Reading    time.Duration // until its last byte
	Departed   time.Time     // when the request began to be written, for the last time; zero when it never was
	Body       []byte        // of the response as it arrived, before a dialect translated it; nil without one
}

type timingJSON struct {
	Queued     float64 `json:"queued_ms"`
	Connecting float64 `json:"connecting_ms"`
	Waiting    float64 `json:"waiting_ms"`
	Reading    float64 `json:"reading_ms"`
}

// MarshalJSON writes milliseconds.
func (t Timing) MarshalJSON() ([]byte, error) {
	return json.Marshal(timingJSON{
		Queued: Milliseconds(t.Queued), Connecting: Milliseconds(t.Connecting),
		Waiting: Milliseconds(t.Waiting), Reading: Milliseconds(t.Reading),
	})
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
