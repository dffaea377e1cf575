package membership_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

// Retry ends with the first error that a further call would not mend.
func ExampleRetry() {
	err := membership.Retry(context.Background(), protocol.SystemClock().Sleep, func(context.Context) error {
		return protocol.Fault(protocol.ErrLeagueNotFound, "there is no league %q", "example")
	}, func(error, time.Duration) { fmt.Println("waiting") })
	var fault *protocol.Error
	fmt.Println(errors.As(err, &fault), err)
	// Output: true E017 LEAGUE_NOT_FOUND: there is no league "example"
}
