package web

// A rating is the strength of a player with its interval.
type rating struct {
	Value, Low, High int
	Rank             string // "1", or "1–3"
}
