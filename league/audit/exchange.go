package audit

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// late is how much later than its deadline an answer may be: deadlines are cut
// to seconds.
const late = time.Second

// An address is what a referee puts into its messages beside what they are for.
type address struct {
	protocol.Envelope
	LeagueID       string                 `json:"league_id"`
	RoundID        int                    `json:"round_id"`
	MatchID        string                 `json:"match_id"`
	PlayerID       string                 `json:"player_id"`
	AffectedPlayer string                 `json:"affected_player"`
	GameType       string                 `json:"game_type"`
	RoleInMatch    string                 `json:"role_in_match"`
	OpponentID     string                 `json:"opponent_id"`
	Attempt        int                    `json:"attempt"`
	Context        protocol.ChoiceContext `json:"context"`
	MoveRequest    protocol.MoveRequest   `json:"move_request"`
	Deadline       string                 `json:"deadline"`
	ErrorCode      string                 `json:"error_code"`
	Draw           *protocol.Draw         `json:"draw"`
}

// types are the messages of a method: what is asked, and what is answered.
func types(method string) (request, answer string, known bool) {
	switch method {
	case protocol.Invite.Name:
		return protocol.Invite.Request, protocol.Invite.Result, true
	case protocol.ChooseParity.Name:
		return protocol.ChooseParity.Request, protocol.ChooseParity.Result, true
	case protocol.MakeMove.Name:
		return protocol.MakeMove.Request, protocol.MakeMove.Result, true
	case protocol.NotifyMatchResult.Name:
		return protocol.NotifyMatchResult.Request, protocol.NotifyMatchResult.Result, true
	case protocol.NotifyGameError.Name:
		return protocol.NotifyGameError.Request, protocol.NotifyGameError.Result, true
	}
	return "", "", false
}

// addressed holds what a referee wrote on a message against the match.
func (h *hearing) addressed(s *side, e *store.Exchange, at []any) {
	var m address
	if err := json.Unmarshal(e.Message, &m); err != nil {
		h.wrong(RuleTranscript, s.id, append(at, "message"), "the message to %s cannot be read: %s", s.id, reason(err))
		return
	}
	is := func(got, want string, path ...any) {
		if got != want && !looksLikeToken(want) { // which no transcript has
			h.wrong(RuleTranscript, s.id, append(append(at, "message"), path...), "%v in what %s was sent is %s, in %s it is %q", path[len(path)-1], s.id, quoted(&got), h.f.id, want)
		}
	}
	count := func(got, want int, path ...any) {
		if got != want {
			h.wrong(RuleTranscript, s.id, append(append(at, "message"), path...), "%v in what %s was sent is %d, in %s it is %d", path[len(path)-1], s.id, got, h.f.id, want)
		}
	}
	request, _, _ := types(e.Method)
	is(m.MessageType, request, "message_type")
	is(m.Sender, "referee:"+h.d.RefereeID, "sender")
	is(m.ConversationID, h.d.ConversationID, "conversation_id")
	is(m.MatchID, h.f.id, "match_id")
	opponent, role := h.f.ids[1], protocol.RolePlayerA
	if s.id == opponent {
		opponent, role = h.f.ids[0], protocol.RolePlayerB
	}
	switch e.Method {
	case protocol.Invite.Name:
		is(m.LeagueID, h.x.id, "league_id")
		count(m.RoundID, h.f.round, "round_id")
		is(m.GameType, h.d.GameType, "game_type")
		is(m.RoleInMatch, role, "role_in_match")
		is(m.OpponentID, opponent, "opponent_id")
		count(m.Attempt, h.d.Attempt, "attempt")
	case protocol.ChooseParity.Name, protocol.MakeMove.Name:
		is(m.PlayerID, s.id, "player_id")
		is(m.GameType, h.d.GameType, "game_type")
		if e.Method == protocol.ChooseParity.Name {
			is(m.Context.OpponentID, opponent, "context", "opponent_id")
			count(m.Context.RoundID, h.f.round, "context", "round_id")
			h.stood(s, m.Context.YourStandings, append(at, "message", "context", "your_standings"))
		} else {
			h.shown(s, m.MoveRequest, append(at, "message", "move_request"))
		}
		deadline, err := protocol.ParseTimestamp(m.Deadline)
		if !deadline.Equal(s.deadline) {
			s.waited = 0
		}
		if s.deadline = deadline; err != nil {
			h.wrong(RuleTranscript, s.id, append(at, "message", "deadline"), "the deadline of %s in %s is no time: %v", s.id, h.f.id, err)
		}
	case protocol.NotifyMatchResult.Name:
		is(m.GameType, h.d.GameType, "game_type")
		if !sameDraw(m.Draw, h.d.Draw) {
			h.wrong(RuleTranscript, s.id, append(at, "message", "draw"), "%s was told another draw of %s than the file has", s.id, h.f.id)
		}
	case protocol.NotifyGameError.Name:
		is(m.PlayerID, s.id, "player_id")
		is(m.AffectedPlayer, s.id, "affected_player")
		h.complained(s, e, m.ErrorCode, at)
	}
}

// stood holds the standings that a player was shown against the results of the
// rounds before. Where the journal is in doubt, so are they.
func (h *hearing) stood(s *side, shown *protocol.Record, at []any) {
	x := h.x
	place, ok := x.state.PlayerIndex(s.id)
	if h.before == nil || !ok || !x.sound() {
		return
	}
	want := h.before[place]
	if shown == nil || shown.Wins != want.Wins || shown.Losses != want.Losses || shown.Draws != want.Draws ||
		shown.Points == nil || *shown.Points != *want.Points {
		h.wrong(RuleTranscript, s.id, at, "%s was shown standings of %s, before round %d they were %s", s.id, record(shown), h.f.round, record(&want))
	}
}

// record is what a player has won and lost, for people.
func record(r *protocol.Record) string {
	if r == nil {
		return "nothing"
	}
	text := counted(r.Wins, "win", "wins") + ", " + counted(r.Draws, "draw", "draws") + ", " + counted(r.Losses, "loss", "losses")
	if r.Points != nil {
		text += ", " + counted(*r.Points, "point", "points")
	}
	return text
}

// complained looks for what a GAME_ERROR is about: the last failure of the
// player, of which it was not told yet.
func (h *hearing) complained(s *side, e *store.Exchange, code string, at []any) {
	failure := s.untold
	s.untold = nil
	switch {
	case failure == nil:
		h.wrong(RuleTranscript, s.id, append(at, "method"), "%s was told by GAME_ERROR of %s, but did not fail before it in %s", s.id, quoted(&code), h.f.id)
	case failure.Error.ErrorCode != code:
		h.wrong(RuleTranscript, s.id, append(at, "message", "error_code"), "%s was told of %s, but failed with %s", s.id, quoted(&code), quoted(&failure.Error.ErrorCode))
	case failure.Try != e.Try:
		h.wrong(RuleTranscript, s.id, append(at, "try"), "%s was told of try %d, but failed at try %d", s.id, e.Try, failure.Try)
	}
}

// sameDraw tells whether two draws are the same.
func sameDraw(a, b *protocol.Draw) bool {
	if a == nil || b == nil {
		return a == b
	}
	equal := a.Commitment == b.Commitment && a.Nonce == b.Nonce && len(a.Entropies) == len(b.Entropies)
	for _, e := range a.Entropies {
		other, ok := b.Entropies.Get(e.Name)
		equal = equal && ok && other == e.Value
	}
	return equal
}

// inOrder holds the place of an exchange, its time and its count against those
// before it.
func (h *hearing) inOrder(s *side, e *store.Exchange, i int) {
	at := []any{"transcript", i}
	if when, err := protocol.ParseTimestamp(e.At); err != nil {
		h.wrong(RuleTranscript, s.id, append(at, "at"), "at: %v", err)
	} else {
		if when.Add(setBack).Before(h.at) && !h.back {
			h.back = true
			h.x.note(RuleTime, spot{file: h.d.file, line: h.d.line(append(at, "at")...), matchID: h.f.id, agentID: s.id},
				"this is %s earlier than what stands before it: the clock was set back, or exchanges were moved", h.at.Sub(when))
		}
		h.at = when
	}
	if _, _, known := types(e.Method); !known {
		h.wrong(RuleTranscript, s.id, append(at, "method"), "%s is no method of a match", quoted(&e.Method))
	}
	p := part(e.Method)
	if p == beside {
		return
	}
	if p < h.part {
		h.wrong(RuleTranscript, s.id, append(at, "method"), "%s stands behind what can only come after it", quoted(&e.Method))
	}
	h.part = max(h.part, p)
	if e.Direction == store.Sent {
		h.asks(s, e, at)
	} else if last := s.asking[e.Method]; e.Try != last.try && last.try != 0 {
		h.wrong(RuleTranscript, s.id, append(at, "try"), "%s answered try %d of %s, asked was try %d", s.id, e.Try, quoted(&e.Method), last.try)
	}
}

// A question is what was last put to a player by one method.
type question struct {
	try      int
	answered bool // rightly, as far as it can be known
	surely   bool // nothing was wrong with the answer
}

// asks counts how often something is asked.
func (h *hearing) asks(s *side, e *store.Exchange, at []any) {
	last := s.asking[e.Method]
	if e.Method == protocol.MakeMove.Name && !h.game.lost() && !h.game.asks(h.seatOf(s)) {
		h.wrong(RuleTranscript, s.id, append(at, "method"), "%s was asked for a move in %s when it had none to make", s.id, h.f.id)
	}
	once := part(e.Method) != moving || h.plain()
	next := e.Try == last.try+1 && !last.surely
	anew := e.Try == 1 && (last.try == 0 || last.answered && !once)
	switch {
	case last.surely && once:
		h.wrong(RuleTranscript, s.id, append(at, "method"), "%s was asked again by %s, although it had answered rightly", s.id, quoted(&e.Method))
	case !next && !anew:
		h.wrong(RuleTranscript, s.id, append(at, "try"), "try %d of %s to %s comes after try %d", e.Try, quoted(&e.Method), s.id, last.try)
	}
	s.asking[e.Method] = question{try: e.Try}
}

// answered takes in an answer that counts: it is about this match, in time, and
// of the right type.
func (h *hearing) answered(s *side, e *store.Exchange, m *said, at []any) {
	last := s.asking[e.Method]
	last.answered, last.surely = true, e.Error == nil
	s.asking[e.Method] = last
	p := part(e.Method)
	if p != joining && p != moving {
		return
	}
	if m.MatchID != "" && m.MatchID != h.f.id {
		h.wrong(RuleTranscript, s.id, append(at, "message", "match_id"), "the answer of %s counts, but is about %s", s.id, quoted(&m.MatchID))
	}
	if _, want, _ := types(e.Method); m.MessageType != "" && m.MessageType != want {
		h.wrong(RuleTranscript, s.id, append(at, "message", "message_type"), "the answer of %s counts, but is a %s where a %s belongs", s.id, quoted(&m.MessageType), want)
	}
	if p != moving || s.deadline.IsZero() {
		return
	}
	if when, err := protocol.ParseTimestamp(e.At); err == nil && when.After(s.deadline.Add(late+s.waited)) {
		h.wrong(RuleTranscript, s.id, append(at, "at"), "the answer of %s counts, but came %s after its deadline", s.id, when.Sub(s.deadline))
	}
}

// labelled holds the type that an exchange has outside against that inside.
func (h *hearing) labelled(s *side, e *store.Exchange, m *said, at []any) {
	inside := m.MessageType
	if len(e.Message) == 0 || len(inside) > store.MaxMessageType || strings.Contains(inside, protocol.HiddenToken) { // of what was cut out
		return
	}
	plain := func(text string) string { return strings.ReplaceAll(text, "\uFFFD", "") } // outside, what is no text is left out
	if plain(inside) != plain(e.MessageType) {
		h.wrong(RuleTranscript, s.id, append(at, "message_type"), "message_type is %s, in the message it is %s", quoted(&e.MessageType), quoted(&inside))
	}
}

// keepsSecrets looks for tokens where none may be.
func (h *hearing) keepsSecrets(player string, e *store.Exchange, at []any) {
	if e.Error != nil && looksLikeToken(e.Error.Detail) {
		h.wrong(RuleTranscript, player, append(at, "error", "detail"), "a text that looks like a token: whoever reads it may pose as somebody else")
	}
	raw := []byte(e.Message)
	if !bytes.Contains(raw, []byte("auth_token")) && !bytes.Contains(raw, []byte("tok-")) && !bytes.Contains(raw, []byte("adm-")) && !bytes.Contains(raw, []byte(`\u`)) {
		return
	}
	var message any
	if json.Unmarshal(raw, &message, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
		if path, what := secretIn(message, nil); what != "" {
			h.wrong(RuleTranscript, player, append(append(at, "message"), path...), "%s: whoever reads it may pose as somebody else", what)
		}
	}
}

// secretIn finds the first token in a message; what is "" for none.
func secretIn(value any, path []any) (at []any, what string) {
	switch v := value.(type) {
	case string:
		if looksLikeToken(v) {
			return path, "a text that looks like a token"
		}
	case []any:
		for i := range v {
			if at, what = secretIn(v[i], slices.Concat(path, []any{i})); what != "" {
				return at, what
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := slices.Concat(path, []any{name})
			if token := v[name]; name == "auth_token" && token != nil && token != "" {
				return inner, "an auth_token with a value"
			}
			if looksLikeToken(name) {
				return inner, "a name that looks like a token"
			}
			if at, what = secretIn(v[name], inner); what != "" {
				return at, what
			}
		}
	}
	return nil, ""
}

// looksLikeToken finds tok- or adm-, and behind it what no word is.
func looksLikeToken(text string) bool {
	const least = 16
	for _, prefix := range []string{"tok-", "adm-"} {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, prefix)
			if !found {
				break
			}
			end := strings.IndexFunc(after, func(r rune) bool {
				return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-'
			})
			if end >= least || end < 0 && len(after) >= least {
				return true
			}
			rest = after
		}
	}
	return false
}

// sound tells whether nothing was found in the journal.
func (x *examination) sound() bool {
	for i := range x.league.Findings {
		if x.league.Findings[i].File == x.journal {
			return false
		}
	}
	return !x.chain.lost
}

// settled adds the results of a round to what the players had before it; nil
// once that cannot be known.
func (x *examination) settled(before []protocol.Record, round int) []protocol.Record {
	if before == nil {
		return nil
	}
	for i := range x.state.Pairings(round) {
		r := x.fixture(round, i+1).Report
		if r == nil {
			return nil
		}
		o, err := x.state.Outcome(r)
		if err != nil {
			return nil
		}
		a, b := x.state.Table.Points(o)
		*before[o.A].Points += a
		*before[o.B].Points += b
		for _, p := range [2]int{o.A, o.B} {
			switch {
			case r.Status == protocol.StatusDraw:
				before[p].Draws++
			case o.Winner == p:
				before[p].Wins++
			default:
				before[p].Losses++
			}
		}
	}
	return before
}

// nothingYet is what players have before the first round.
func (x *examination) nothingYet() []protocol.Record {
	if x.state.Started == nil {
		return nil
	}
	before := make([]protocol.Record, len(x.state.Started.Players))
	points := make([]int, len(before))
	for i := range before {
		before[i].Points = &points[i]
	}
	return before
}
