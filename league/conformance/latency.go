package conformance

import (
	"fmt"
	"slices"
	"time"
)

// percentile is the time within which p of 100 calls were answered; 0 of none.
func percentile(took []time.Duration, p int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := (len(sorted)*p + 99) / 100 // the nearest rank
	return sorted[max(at, 1)-1]
}

// latencies says how long calls took.
func latencies(took []time.Duration) string {
	return fmt.Sprintf("%d calls: p50 %s, p95 %s, p99 %s", len(took),
		short(percentile(took, 50)), short(percentile(took, 95)), short(percentile(took, 99)))
}

func short(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}
