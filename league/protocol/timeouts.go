package protocol

import (
	"math"
	"time"
)

// Timeouts are the response times of a match, in seconds (spec 003 table 5).
type Timeouts struct {
	// for the answer to an invitation
	GameJoinAck float64 `json:"game_join_ack_timeout_sec"`
	// for a choice or a move
	Move float64 `json:"move_timeout_sec"`
	// for the acknowledgement of GAME_OVER
	GameOver float64 `json:"game_over_timeout_sec"`
	// for all other calls
	Generic float64 `json:"generic_response_timeout_sec"`
}

// RetryPolicy holds the number of retries and the delay before them in seconds (spec 003
// §2.9.4). Backoff is BackoffFixed, BackoffLinear or BackoffExponential; empty means
// BackoffFixed.
type RetryPolicy struct {
	MaxRetries int `json:"max_retries"`
	// seconds before a retry
	Delay float64 `json:"delay_sec"`
	// how the delay grows; absent means `fixed`
	Backoff string `json:"backoff_strategy,omitzero" rule:"is=fixed|linear|exponential"`
}

// Pause returns the delay before the n-th retry, from 1.
func (p RetryPolicy) Pause(n int) time.Duration {
	factor := 1.0
	switch p.Backoff {
	case BackoffLinear:
		factor = float64(n)
	case BackoffExponential:
		factor = math.Pow(2, float64(n-1))
	}
	return Seconds(float64(p.Delay * factor))
}

// LongestMatch returns the longest time of an attempt at a match, from assignment to
// report, if every call takes its whole timeout. Turns is the number of questions for a
// move, one after the other. A time bank bounds their time but for that of a ready turn; nil is none.
func (t Timeouts) LongestMatch(retry RetryPolicy, turns int, bank *TimeBank) time.Duration {
	calls := float64(retry.MaxRetries + 1)
	waits := 0.0
	for n := 1; n <= retry.MaxRetries; n++ {
		waits += retry.Pause(n).Seconds()
	}
	seconds := float64(calls*t.GameJoinAck) + waits + t.GameOver + float64(calls*t.Generic)
	moves := float64(float64(turns) * float64(calls*t.Move))
	if bank != nil {
		gameErrors := float64(float64(turns) * calls) // 1 s each
		moves = min(moves, float64(calls*t.Move)+bank.Longest(turns).Seconds()+gameErrors)
	}
	return Seconds(seconds + moves + float64(float64(turns)*waits))
}

// Seconds converts the protocol's seconds to a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// DefaultTimeouts returns the response times of spec 003 table 5, which the table of methods has.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		GameJoinAck: Invite.Timeout.Seconds(), Move: MakeMove.Timeout.Seconds(),
		GameOver: NotifyMatchResult.Timeout.Seconds(), Generic: usualTimeout.Seconds(),
	}
}

// DefaultRetryPolicy returns that of spec 003 §2.9.4: three retries, 2 s apart.
func DefaultRetryPolicy() RetryPolicy { return RetryPolicy{MaxRetries: 3, Delay: 2} }
