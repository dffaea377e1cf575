package protocol

import (
	"strings"
	"unicode/utf8"
)

// The fast check of a request, without allocation: sound judges the value of
// every member that the table in fields.go names, and whole (whole.go) what an
// encoding can say and a decoded value cannot. Together they may be stricter
// than Examine, never laxer: a request that fails them is examined, and stands
// when nothing is found.
type request interface {
	message
	sound() bool
}

// filled tells whether all are strings of 1 to 200 characters.
func filled(ss ...string) bool {
	for _, s := range ss {
		if !name(s, 200) {
			return false
		}
	}
	return true
}

// brief tells whether all are strings of at most 200 characters.
func brief(ss ...string) bool {
	for _, s := range ss {
		if !short(s, 200) {
			return false
		}
	}
	return true
}

// name is a string of 1 to limit characters.
func name(s string, limit int) bool { return s != "" && short(s, limit) }

// short is a string of at most limit characters.
func short(s string, limit int) bool {
	return len(s) <= limit || utf8.RuneCountInString(s) <= limit
}

// filledOrNull is a string that may be null, else not empty.
func filledOrNull(s *string) bool { return s == nil || filled(*s) }

func (e *Envelope) sound(messageType string) bool {
	return e.Protocol == Name && e.MessageType == messageType && validSender(e.Sender) &&
		validTimestamp(e.Timestamp) && name(e.ConversationID, 128) && short(e.AuthToken, 300)
}

// counts tells whether all are 1 or more.
func counts(ns ...int) bool {
	for _, n := range ns {
		if n < 1 || n > maxInteger {
			return false
		}
	}
	return true
}

// tallies tells whether all are 0 or more.
func tallies(ns ...int) bool {
	for _, n := range ns {
		if n < 0 || n > maxInteger {
			return false
		}
	}
	return true
}

func tallyOrNull(n *int) bool { return n == nil || tallies(*n) }

// integerOrNull tells whether n is an integer of any sign, or null.
func integerOrNull(n *int) bool { return n == nil || *n >= -maxInteger && *n <= maxInteger }

// lengths tells whether all are numbers of seconds.
func lengths(ss ...float64) bool {
	for _, s := range ss {
		if !(s >= 0 && s <= maxInteger) { // NaN is neither
			return false
		}
	}
	return true
}

func digestOrNone(s string) bool { return s == "" || isDigest(s) }

func isDigest(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := range 64 {
		if hexDigit[s[i]] == 0 {
			return false
		}
	}
	return true
}

// hexDigit marks the lower-case hexadecimal digits.
var hexDigit = [256]byte{
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1,
}

func optionalVersion(s string) bool { return s == "" || versionForm.valid(s) }

// ValidName tells whether s can be a display name: 1 to 50 characters, none of
// which could steer a terminal (002 §3.1.2).
func ValidName(s string) bool { return name(s, 50) && harmless(s) }

// harmless tells whether nothing in s steers a terminal: no control characters,
// no line or paragraph separators, no changes of direction.
func harmless(s string) bool {
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return false
		}
	}
	return true
}

// soundURL is absoluteURL, without cost for the ordinary form: a scheme, a
// host of letters and digits, perhaps a port, and a plain path.
func soundURL(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || len(rest) == len(s)-len("://") || !plain(s[:len(s)-len(rest)-len("://")], "") {
		return false
	}
	if len(s) > formLimit {
		return false
	}
	host, path, _ := strings.Cut(rest, "/")
	host, port, _ := strings.Cut(host, ":")
	if host != "" && plain(host, ".-") && plain(path, "/._-") && len(port) <= 5 && strings.Trim(port, "0123456789") == "" &&
		(s[0] >= 'a' && s[0] <= 'z') {
		return true
	}
	return absoluteURL(s)
}

// plain tells whether s has only letters, digits and the extra characters.
func plain(s, extra string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}

func allNamed(names []string) bool {
	return len(names) > 0 && filled(names...)
}

func (q *RefereeRegisterRequest) sound() bool {
	m := &q.RefereeMeta
	return q.Envelope.sound(TypeRefereeRegisterRequest) && ValidName(m.DisplayName) && versionForm.valid(m.Version) &&
		optionalVersion(m.ProtocolVersion) && allNamed(m.GameTypes) && name(m.ContactEndpoint, 300) &&
		counts(m.MaxConcurrentMatches) && knownAuth(q.RefereeAuth)
}

// knownAuth accepts the ways in which a referee proves itself to players, and none
// named.
func knownAuth(auth string) bool {
	return auth == "" || auth == RefereeAuthAccessToken || auth == RefereeAuthNone
}

func (q *LeagueRegisterRequest) sound() bool {
	m := &q.PlayerMeta
	return q.Envelope.sound(TypeLeagueRegisterRequest) && ValidName(m.DisplayName) && versionForm.valid(m.Version) &&
		optionalVersion(m.ProtocolVersion) && allNamed(m.GameTypes) && name(m.ContactEndpoint, 300)
}

func (q *RoundAnnouncement) sound() bool {
	if !q.Envelope.sound(TypeRoundAnnouncement) || !filled(q.LeagueID) || !counts(q.RoundID) || len(q.Matches) == 0 {
		return false
	}
	for i := range q.Matches {
		m := &q.Matches[i]
		if !filled(m.MatchID, m.GameType, m.PlayerAID, m.PlayerBID) || !brief(m.RefereeID) || !soundURL(m.RefereeEndpoint) {
			return false
		}
		if !knownAuth(m.RefereeAuth) || !filled(m.ForfeitedBy...) {
			return false
		}
	}
	return true
}

func (s *AssignedPlayer) sound() bool {
	return filled(s.PlayerID) && soundURL(s.Endpoint) && short(s.DisplayName, 50) && harmless(s.DisplayName) && brief(s.AccessToken) && s.Standings.sound()
}

func (r *Record) sound() bool { return tallies(r.Wins, r.Losses, r.Draws) && tallyOrNull(r.Points) }

func knownBackoff(b string) bool {
	return b == "" || b == BackoffFixed || b == BackoffLinear || b == BackoffExponential
}

func (q *MatchAssignment) sound() bool {
	t, s := &q.Timeouts, &q.Scoring
	return q.Envelope.sound(TypeMatchAssignment) && filled(q.LeagueID, q.MatchID, q.GameType) &&
		counts(q.RoundID, q.Attempt) && q.PlayerA.sound() && q.PlayerB.sound() &&
		lengths(t.GameJoinAck, t.Move, t.GameOver, t.Generic, q.RetryPolicy.Delay) &&
		knownBackoff(q.RetryPolicy.Backoff) && (q.Replies == "" || q.Replies == RepliesStrict) && (q.Auth == "" || q.Auth == AuthLenient) && brief(q.RefereeID) && tallies(q.RetryPolicy.MaxRetries, s.Win, s.Draw, s.Loss, s.TechnicalLoss)
}

func (q *GameInvitation) sound() bool {
	return q.Envelope.sound(TypeGameInvitation) && filled(q.LeagueID, q.MatchID, q.GameType, q.OpponentID) &&
		counts(q.RoundID) && tallies(q.Attempt) && (q.RoleInMatch == RolePlayerA || q.RoleInMatch == RolePlayerB) &&
		digestOrNone(q.DrawCommitment)
}

func (q *ChooseParityCall) sound() bool {
	c := &q.Context
	return q.Envelope.sound(TypeChooseParityCall) && filled(q.MatchID, q.PlayerID, q.GameType) &&
		validTimestamp(q.Deadline) && brief(c.OpponentID) && tallies(c.RoundID) &&
		(c.YourStandings == nil || c.YourStandings.sound())
}

func (q *GameMoveCall) sound() bool {
	return q.Envelope.sound(TypeGameMoveCall) && filled(q.MatchID, q.PlayerID, q.GameType, q.MoveRequest.MoveType) &&
		filled(q.MoveRequest.ValidOptions...) && validTimestamp(q.Deadline)
}

func soundStatus(s string) bool {
	return s == StatusWin || s == StatusDraw || s == StatusTechnicalLoss
}

func soundChoices(choices PerPlayer[*string]) bool {
	for i := range choices {
		if c := choices[i].Value; c != nil && !brief(*c) {
			return false
		}
	}
	return true
}

func (d *Draw) sound() bool {
	if d == nil {
		return true
	}
	for i := range d.Entropies {
		if e := d.Entropies[i].Value; e == "" || !digestOrNone(e) {
			return false
		}
	}
	return d.Commitment != "" && d.Nonce != "" && digestOrNone(d.Commitment) && digestOrNone(d.Nonce)
}

func (r *GameResult) sound() bool {
	return r != nil && soundStatus(r.Status) && filledOrNull(r.WinnerPlayerID) && tallyOrNull(r.DrawnNumber) &&
		filledOrNull(r.NumberParity) && r.Choices != nil && soundChoices(r.Choices) && short(r.Reason, 500) &&
		soundFaults(r.Faults)
}

func soundFaults(faults PerPlayer[string]) bool {
	for i := range faults {
		if !codeForm.valid(faults[i].Value) {
			return false
		}
	}
	return true
}

func (q *GameOver) sound() bool {
	return q.Envelope.sound(TypeGameOver) && filled(q.MatchID, q.GameType) && q.GameResult.sound() &&
		short(q.Reason, 500) && q.Draw.sound()
}

func (i *RetryInfo) sound() bool {
	return i == nil || tallies(i.RetryCount, i.MaxRetries) && (i.NextRetryAt == "" || validTimestamp(i.NextRetryAt)) &&
		(i.TimeRemaining == nil || lengths(*i.TimeRemaining))
}

func (q *GameError) sound() bool {
	return q.Envelope.sound(TypeGameError) && filled(q.MatchID, q.AffectedPlayer, q.ActionRequired) &&
		brief(q.PlayerID, q.ErrorName, q.GameState) && codeForm.valid(q.ErrorCode) && name(q.ErrorDescription, 500) &&
		tallyOrNull(q.RetryCount) && tallyOrNull(q.MaxRetries) && q.RetryInfo.sound() && short(q.Consequence, 500)
}

func (d *ResultDetails) sound() bool {
	return d == nil || integerOrNull(d.DrawnNumber) && soundChoices(d.Choices) &&
		(d.Status == "" || soundStatus(d.Status)) && short(d.Reason, 500) && soundFaults(d.Faults)
}

func (q *MatchResultReport) sound() bool {
	if !q.Envelope.sound(TypeMatchResultReport) || !filled(q.LeagueID, q.MatchID, q.GameType) || !counts(q.RoundID) ||
		!tallies(q.Attempt) || !filledOrNull(q.Result.Winner) || q.Result.Score == nil {
		return false
	}
	for i := range q.Result.Score {
		if !tallies(q.Result.Score[i].Value) {
			return false
		}
	}
	return q.Result.Details.sound() && q.Draw.sound()
}

func soundStandings(rows []StandingRow) bool {
	for i := range rows {
		r := &rows[i]
		if !counts(r.Rank) || !filled(r.PlayerID) || !short(r.DisplayName, 50) || !harmless(r.DisplayName) ||
			!tallies(r.Played, r.Wins, r.Draws, r.Losses, r.Points) {
			return false
		}
	}
	return len(rows) > 0
}

func (q *StandingsUpdate) sound() bool {
	return q.Envelope.sound(TypeStandingsUpdate) && filled(q.LeagueID) && counts(q.RoundID) && soundStandings(q.Standings) &&
		tallies(q.TotalPlayers)
}

func (q *RoundCompleted) sound() bool {
	s := q.Summary
	return q.Envelope.sound(TypeRoundCompleted) && filled(q.LeagueID) && counts(q.RoundID) &&
		tallyOrNull(q.MatchesCompleted) && tallyOrNull(q.MatchesPlayed) &&
		(q.NextRoundID == nil || counts(*q.NextRoundID)) &&
		(s == nil || tallies(s.TotalMatches, s.Wins, s.Draws, s.TechnicalLosses)) && digestOrNone(q.JournalHead)
}

func (q *LeagueCompleted) sound() bool {
	c := &q.Champion
	return q.Envelope.sound(TypeLeagueCompleted) && filled(q.LeagueID, c.PlayerID) && ValidName(c.DisplayName) &&
		tallies(c.Points, q.TotalPlayers) && counts(q.TotalRounds, q.TotalMatches) && soundStandings(q.FinalStandings) &&
		digestOrNone(q.JournalHead)
}

func (q *LeagueQuery) sound() bool {
	p := &q.QueryParams
	return q.Envelope.sound(TypeLeagueQuery) && filled(q.LeagueID, q.QueryType) && brief(p.PlayerID) &&
		(p.RoundID == AllRounds || tallies(int(p.RoundID))) && tallies(p.Offset, p.Limit)
}

func (q *ToolRequest) sound() bool { return true } // the tools judge only the token
