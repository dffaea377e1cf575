package protocol

import (
	"strings"
	"unicode/utf8"
)

// The fast check of a request: the presence and value of every field that the
// table in fields.go requires, without allocation. It may be stricter than
// Examine, never laxer: a request that fails it is examined, and stands when
// nothing is found.
type request interface {
	message
	sound() bool
}

func filled(ss ...string) bool {
	for _, s := range ss {
		if !name(s, 200) {
			return false
		}
	}
	return true
}

// name is a string of 1 to limit characters.
func name(s string, limit int) bool {
	return s != "" && (len(s) <= limit || utf8.RuneCountInString(s) <= limit)
}

func (e *Envelope) sound(messageType string) bool {
	return e.Protocol == Name && e.MessageType == messageType && validSender(e.Sender) &&
		validTimestamp(e.Timestamp) && name(e.ConversationID, 128) && len(e.AuthToken) <= 300
}

func counts(ns ...int) bool {
	for _, n := range ns {
		if n < 1 || n > maxInteger {
			return false
		}
	}
	return true
}

func optionalDigest(s string) bool {
	if s == "" {
		return true
	}
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

// soundURL is absoluteURL, without cost for the ordinary form: a scheme, a
// host of letters and digits, perhaps a port, and a plain path.
func soundURL(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || len(rest) == len(s)-len("://") || !plain(s[:len(s)-len(rest)-len("://")], "") {
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
	return q.Envelope.sound(TypeRefereeRegisterRequest) && name(m.DisplayName, 50) && versionForm.valid(m.Version) &&
		optionalVersion(m.ProtocolVersion) && allNamed(m.GameTypes) && name(m.ContactEndpoint, 300) &&
		counts(m.MaxConcurrentMatches)
}

func (q *LeagueRegisterRequest) sound() bool {
	m := &q.PlayerMeta
	return q.Envelope.sound(TypeLeagueRegisterRequest) && name(m.DisplayName, 50) && versionForm.valid(m.Version) &&
		optionalVersion(m.ProtocolVersion) && allNamed(m.GameTypes) && name(m.ContactEndpoint, 300)
}

func (q *RoundAnnouncement) sound() bool {
	if !q.Envelope.sound(TypeRoundAnnouncement) || !filled(q.LeagueID) || !counts(q.RoundID) || len(q.Matches) == 0 {
		return false
	}
	for i := range q.Matches {
		m := &q.Matches[i]
		if !filled(m.MatchID, m.GameType, m.PlayerAID, m.PlayerBID) || !soundURL(m.RefereeEndpoint) {
			return false
		}
		if m.RefereeAuth != "" && m.RefereeAuth != RefereeAuthAccessToken && m.RefereeAuth != RefereeAuthNone {
			return false
		}
	}
	return true
}

func (s *AssignedPlayer) sound() bool {
	return filled(s.PlayerID) && soundURL(s.Endpoint) && s.Standings.sound()
}

func (r *Record) sound() bool {
	return r.Wins >= 0 && r.Losses >= 0 && r.Draws >= 0 && (r.Points == nil || *r.Points >= 0)
}

func (q *MatchAssignment) sound() bool {
	t, s := &q.Timeouts, &q.Scoring
	return q.Envelope.sound(TypeMatchAssignment) && filled(q.LeagueID, q.MatchID, q.GameType) &&
		counts(q.RoundID, q.Attempt) && q.PlayerA.sound() && q.PlayerB.sound() &&
		min(t.GameJoinAck, t.Move, t.GameOver, t.Generic, q.RetryPolicy.Delay) >= 0 &&
		min(q.RetryPolicy.MaxRetries, s.Win, s.Draw, s.Loss, s.TechnicalLoss) >= 0
}

func (q *GameInvitation) sound() bool {
	return q.Envelope.sound(TypeGameInvitation) && filled(q.LeagueID, q.MatchID, q.GameType, q.OpponentID) &&
		counts(q.RoundID) && q.Attempt >= 0 && (q.RoleInMatch == RolePlayerA || q.RoleInMatch == RolePlayerB) &&
		optionalDigest(q.DrawCommitment)
}

func (q *ChooseParityCall) sound() bool {
	return q.Envelope.sound(TypeChooseParityCall) && filled(q.MatchID, q.PlayerID, q.GameType) &&
		validTimestamp(q.Deadline) && q.Context.RoundID >= 0 &&
		(q.Context.YourStandings == nil || q.Context.YourStandings.sound())
}

func (q *GameMoveCall) sound() bool {
	return q.Envelope.sound(TypeGameMoveCall) && filled(q.MatchID, q.PlayerID, q.GameType, q.MoveRequest.MoveType) &&
		filled(q.MoveRequest.ValidOptions...) && validTimestamp(q.Deadline)
}

func soundStatus(s string) bool {
	return s == StatusWin || s == StatusDraw || s == StatusTechnicalLoss
}

func (d *Draw) sound() bool {
	return d == nil || d.Commitment != "" && d.Nonce != "" && optionalDigest(d.Commitment) && optionalDigest(d.Nonce)
}

func (q *GameOver) sound() bool {
	r := q.GameResult
	return q.Envelope.sound(TypeGameOver) && filled(q.MatchID, q.GameType) && r != nil && soundStatus(r.Status) &&
		r.Choices != nil && len(r.Reason) <= 500 && len(q.Reason) <= 500 && q.Draw.sound()
}

func (q *GameError) sound() bool {
	return q.Envelope.sound(TypeGameError) && filled(q.MatchID, q.AffectedPlayer, q.ActionRequired) &&
		codeForm.valid(q.ErrorCode) && name(q.ErrorDescription, 500)
}

func (q *MatchResultReport) sound() bool {
	if !q.Envelope.sound(TypeMatchResultReport) || !filled(q.LeagueID, q.MatchID, q.GameType) || !counts(q.RoundID) ||
		q.Attempt < 0 || q.Result.Score == nil || !q.Draw.sound() {
		return false
	}
	if w := q.Result.Winner; w != nil && !filled(*w) {
		return false
	}
	for i := range q.Result.Score {
		if s := q.Result.Score[i].Value; s < 0 || s > maxInteger {
			return false
		}
	}
	d := q.Result.Details
	return d == nil || (d.Status == "" || soundStatus(d.Status)) && len(d.Reason) <= 500
}

func soundStandings(rows []StandingRow) bool {
	for i := range rows {
		r := &rows[i]
		if r.Rank < 1 || !filled(r.PlayerID) || min(r.Played, r.Wins, r.Draws, r.Losses, r.Points) < 0 {
			return false
		}
	}
	return len(rows) > 0
}

func (q *StandingsUpdate) sound() bool {
	return q.Envelope.sound(TypeStandingsUpdate) && filled(q.LeagueID) && counts(q.RoundID) && soundStandings(q.Standings)
}

func (q *RoundCompleted) sound() bool {
	return q.Envelope.sound(TypeRoundCompleted) && filled(q.LeagueID) && counts(q.RoundID) &&
		(q.NextRoundID == nil || counts(*q.NextRoundID))
}

func (q *LeagueCompleted) sound() bool {
	return q.Envelope.sound(TypeLeagueCompleted) && filled(q.LeagueID, q.Champion.PlayerID) &&
		name(q.Champion.DisplayName, 50) && counts(q.TotalRounds, q.TotalMatches) && soundStandings(q.FinalStandings)
}

func (q *LeagueQuery) sound() bool {
	p := &q.QueryParams
	return q.Envelope.sound(TypeLeagueQuery) && filled(q.LeagueID, q.QueryType) &&
		min(p.RoundID, p.Offset, p.Limit) >= 0
}

func (q *ToolRequest) sound() bool { return true } // the tools judge only the token
