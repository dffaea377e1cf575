package audit

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// said is what matters of any message of a match.
type said struct {
	protocol.Envelope
	MatchID           string               `json:"match_id"`
	PlayerID          string               `json:"player_id"`
	Accept            *bool                `json:"accept"`
	EntropyCommitment string               `json:"entropy_commitment"`
	DrawCommitment    string               `json:"draw_commitment"`
	ParityChoice      string               `json:"parity_choice"`
	MoveData          protocol.MoveData    `json:"move_data"`
	Entropy           string               `json:"entropy"`
	GameResult        *protocol.GameResult `json:"game_result"`
}

func (s *said) move() string {
	if s.ParityChoice != "" {
		return s.ParityChoice
	}
	return s.MoveData.Choice
}

// The parts of a match, by the method that is called.
const (
	beside = iota // GAME_ERROR
	joining
	moving
	ending
)

func part(method string) int {
	switch method {
	case protocol.Invite.Name:
		return joining
	case protocol.ChooseParity.Name, protocol.MakeMove.Name:
		return moving
	case protocol.NotifyMatchResult.Name:
		return ending
	}
	return beside
}

// A side is what a transcript says of one player.
type side struct {
	id       string
	asked    map[string]int // how often, by method, less the answers
	asking   map[string]question
	spokenTo map[call]time.Time // when it was called
	deadline time.Time          // of the last move it was asked for
	waited   time.Duration      // at the referee, by all questions with this deadline
	untold   *store.Exchange    // its last failure, until it is told of it
	unknown  bool               // what it said is not in the file
	joined   bool
	failed   bool   // its last answer was none, or wrong, or a refusal
	failedAt int    // the exchange
	fault    string // the code of that failure; "" for a refusal
	promise  string // its entropy_commitment
	entropy  string // that it revealed
	moves    []string
	movedAt  int // the exchange of the last move
	overs    int // how often it was told how the match ended
}

// A hearing goes through one transcript.
type hearing struct {
	x     *examination
	d     *matchFile
	f     *fixture
	sides [2]side

	before []protocol.Record // what players had before the round; nil where that is not known
	game   *progress         // nil where a game has one turn, or is not known
	at     time.Time         // of the exchange before
	back   bool              // a time that goes back was noted
	part   int               // the part that the match is in
}

func (h *hearing) wrong(rule string, player string, path []any, format string, args ...any) {
	h.x.find(rule, spot{file: h.d.file, line: h.d.line(path...), matchID: h.f.id, agentID: player}, format, args...)
}

// checkTranscript holds the result of a match file against what was said.
func (x *examination) checkTranscript(d *matchFile, f *fixture, before []protocol.Record) {
	if d.WrittenBy == store.WrittenByManager {
		return
	}
	h := &hearing{x: x, d: d, f: f, before: before, game: x.progressOf(d)}
	for i := range h.sides {
		h.sides[i] = side{id: f.ids[i], asked: map[string]int{}, asking: map[string]question{}, spokenTo: map[call]time.Time{}, movedAt: -1, failedAt: -1}
	}
	for i := range d.Transcript {
		h.hear(i)
	}
	d.complete = len(d.Transcript) > 0 && d.Omitted == 0 && !h.sides[0].unknown && !h.sides[1].unknown
	for i := range h.sides {
		d.moves[i] = h.sides[i].moves
	}
	if d.Result == nil {
		return
	}
	if d.Lifecycle.State == store.StateAcknowledged { // before, they may still be told
		h.ended()
	}
	if d.Omitted > 0 { // what is left out may have been what counted
		here := spot{file: d.file, line: d.line("transcript_omitted"), matchID: f.id}
		if len(d.Transcript) < store.MaxExchanges-store.ReservedExchanges {
			x.find(RuleTranscript, here, "the transcript of %s is said to leave out %s, but with %s it is not full", f.id,
				counted(d.Omitted, "exchange", "exchanges"), counted(len(d.Transcript), "exchange", "exchanges"))
			return
		}
		x.note(RuleTranscript, here, "the transcript of %s leaves out %s: the result cannot be held against it", f.id, counted(d.Omitted, "exchange", "exchanges"))
		return
	}
	for i := range h.sides {
		h.conclude(&h.sides[i], []*store.MatchPlayer{&d.PlayerA, &d.PlayerB}[i], []string{"player_A", "player_B"}[i])
	}
}

// ended notes that players were not told how the match ended: a referee that
// comes back after it died reports the result, and does not tell it again. It
// tells both, or none.
func (h *hearing) ended() {
	at := []any{"transcript"}
	a, b := &h.sides[0], &h.sides[1]
	if len(h.d.Transcript) == 0 {
		return
	}
	if a.overs == 0 && b.overs == 0 {
		h.x.note(RuleTranscript, spot{file: h.d.file, line: h.d.line(at...), matchID: h.f.id},
			"nobody was told in the transcript how %s ended: its referee came back in between, or that was cut out", h.f.id)
		return
	}
	for i := range h.sides {
		if s := &h.sides[i]; s.overs != 1 {
			h.wrong(RuleTranscript, s.id, at, "%s was told %s how %s ended, where each player is told once", s.id, counted(s.overs, "time", "times"), h.f.id)
		}
	}
}

// hear takes in one exchange.
func (h *hearing) hear(i int) {
	e := &h.d.Transcript[i]
	at := []any{"transcript", i}
	k := slices.Index(h.f.ids[:], e.PlayerID)
	if k < 0 {
		h.wrong(RuleTranscript, e.PlayerID, append(at, "player_id"), "%s has no part in %s", quoted(&e.PlayerID), h.f.id)
		return
	}
	s := &h.sides[k]
	h.inOrder(s, e, i)
	h.keepsSecrets(s.id, e, at)
	var m said
	err := json.Unmarshal(e.Message, &m)
	if len(e.Message) == 0 {
		err = nil
	}
	switch e.Direction {
	case store.Sent:
		s.asked[e.Method]++
		s.spokenTo[call{e.Method, e.Try}] = h.at
		if e.Void != "" || e.Timing != nil || e.Stalled != 0 || e.Local {
			h.wrong(RuleTranscript, s.id, append(at, "direction"), "what became of a call is said of what was sent to %s, not of what came back", s.id)
		}
		if e.Omission() != "" {
			return
		}
		h.labelled(s, e, &m, at)
		h.addressed(s, e, at)
		if err != nil {
			h.wrong(RuleTranscript, s.id, append(at, "message"), "the message cannot be read: %s", reason(err))
			return
		}
		h.told(s, e, &m, at)
	case store.Received:
		if s.asked[e.Method]--; s.asked[e.Method] < 0 && h.d.Omitted == 0 {
			h.wrong(RuleTranscript, s.id, append(at, "method"), "%s answered %s without being asked", s.id, quoted(&e.Method))
		}
		if err == nil {
			h.labelled(s, e, &m, at)
		}
		h.timed(s, e, at)
		if part(e.Method) == moving {
			s.waited += queued(e)
		}
		if e.Void != "" {
			h.voided(s, e, at)
			return
		}
		if p := part(e.Method); e.Error != nil && (p == joining || p == moving) {
			s.untold = e
		}
		if e.Omission() != "" {
			h.unheard(s, i)
			return
		}
		if e.Error != nil && (err != nil || !h.counted(s, e, &m, i)) {
			h.failed(s, e, &m, err, i)
			return
		}
		if err != nil {
			h.wrong(RuleTranscript, s.id, append(at, "message"), "the answer counts, but cannot be read: %s", reason(err))
			return
		}
		h.heard(s, e, &m, i)
	default:
		h.wrong(RuleTranscript, s.id, append(at, "direction"), "direction is %s: sent or received", quoted(&e.Direction))
	}
}

// told looks at what the referee said.
func (h *hearing) told(s *side, e *store.Exchange, m *said, at []any) {
	switch part(e.Method) {
	case joining:
		if draw := h.d.Draw; draw != nil && m.DrawCommitment != draw.Commitment {
			h.wrong(RuleCommitment, s.id, append(at, "message", "draw_commitment"),
				"%s was invited to %s with commitment %.12q…, revealed is that of %.12q…", s.id, h.f.id, m.DrawCommitment, draw.Commitment)
		}
	case ending:
		s.overs++
		h.compareTold(s, m.GameResult, append(at, "message", "game_result"))
	}
}

// compareTold holds GAME_OVER against the result.
func (h *hearing) compareTold(s *side, told *protocol.GameResult, at []any) {
	if told == nil {
		h.wrong(RuleTranscript, s.id, at, "%s was told that %s is over, but not how", s.id, h.f.id)
		return
	}
	if h.d.Result == nil {
		if h.d.Lifecycle.State == store.StateAbandoned { // elsewhere the absence was named
			h.wrong(RuleTranscript, s.id, at, "%s was told how %s ended, but it was given up", s.id, h.f.id)
		}
		return
	}
	want := &h.d.Result.GameResult
	equal := told.Status == want.Status && same(told.WinnerPlayerID, want.WinnerPlayerID) && same(told.DrawnNumber, want.DrawnNumber) && same(told.NumberParity, want.NumberParity)
	for _, id := range h.f.ids {
		a, _ := told.Choices.Get(id)
		b, _ := want.Choices.Get(id)
		equal = equal && same(a, b)
	}
	if !equal {
		h.wrong(RuleTranscript, s.id, at, "%s was told another result of %s than the file has", s.id, h.f.id)
	}
}

// unheard takes in an answer that the referee did not write down: nobody can
// tell whether it counted.
func (h *hearing) unheard(s *side, i int) {
	s.unknown = true
	if part(h.d.Transcript[i].Method) == moving {
		h.game.lose()
	}
	last := s.asking[h.d.Transcript[i].Method]
	last.answered = true
	s.asking[h.d.Transcript[i].Method] = last
	h.x.note(RuleTranscript, spot{file: h.d.file, line: h.d.line("transcript", i), matchID: h.f.id, agentID: s.id},
		"what %s answered here is not written down: the result of %s cannot be held against it", s.id, h.f.id)
}

// failed takes in an answer that did not count.
func (h *hearing) failed(s *side, e *store.Exchange, m *said, err error, i int) {
	p := part(e.Method)
	if p != joining && p != moving {
		return // who misses the end has played all the same
	}
	s.failed, s.failedAt, s.fault = true, i, e.Error.ErrorCode
	if err != nil || p != moving {
		return
	}
	code := protocol.Code(e.Error.ErrorCode)
	illegal := code == protocol.ErrInvalidParityChoice || code == protocol.ErrIllegalMove
	if illegal && h.legal(s, m.move(), false) {
		h.wrong(RuleTranscript, s.id, []any{"transcript", i, "error"}, "the answer %q of %s was refused with %s, but is a legal move", m.move(), s.id, code)
	}
	if code == protocol.ErrMatchIDMismatch && m.MatchID == h.f.id {
		h.wrong(RuleTranscript, s.id, []any{"transcript", i, "error"}, "the answer of %s was refused with %s, but it is about %s", s.id, code, h.f.id)
	}
}

// counted tells whether an answer was taken although something in it could not
// be read (E002): what matters of it is right, and nobody complained.
func (h *hearing) counted(s *side, e *store.Exchange, m *said, i int) bool {
	if h.complainedOf(i) || e.Error.ErrorCode != string(protocol.ErrInvalidFieldType) || len(e.Message) == 0 || m.MatchID != "" && m.MatchID != h.f.id ||
		m.MatchID == "" && e.Unreadable("match_id") {
		return false
	}
	expected := protocol.TypeGameJoinAck
	switch e.Method {
	case protocol.ChooseParity.Name:
		expected = protocol.TypeChooseParityResponse
	case protocol.MakeMove.Name:
		expected = protocol.TypeGameMoveResponse
	}
	if m.MessageType != "" && m.MessageType != expected {
		return false
	}
	switch part(e.Method) {
	case joining:
		_, digest := protocol.ParseSecret(m.EntropyCommitment)
		return m.Accept != nil && (m.EntropyCommitment == "" || digest)
	case moving:
		return m.move() != "" && h.legal(s, m.move(), true) && (s.promise == "" || h.kept(s, m))
	}
	return false
}

// complainedOf tells whether the next that a player was told after an exchange is
// a GAME_ERROR.
func (h *hearing) complainedOf(i int) bool {
	for j := i + 1; j < len(h.d.Transcript); j++ {
		if next := &h.d.Transcript[j]; next.Direction == store.Sent && next.PlayerID == h.d.Transcript[i].PlayerID {
			return next.Method == protocol.NotifyGameError.Name
		}
	}
	return false
}

// kept tells whether a player revealed the entropy that it had committed to.
func (h *hearing) kept(s *side, m *said) bool {
	entropy, ok := protocol.ParseSecret(m.Entropy)
	return ok && protocol.EntropyCommitment(h.f.id, s.id, entropy) == s.promise
}

// plain tells whether the game has one turn: all moves can be checked at its
// start.
func (h *hearing) plain() bool {
	game, err := h.x.games.Game(h.d.GameType)
	return err == nil && game.Info().MaxTurns == 1
}

// legal tells whether a player may make a move now; where that cannot be known,
// the answer is the one given.
func (h *hearing) legal(s *side, move string, unknown bool) bool {
	game, err := h.x.games.Game(h.d.GameType)
	switch {
	case err != nil:
		return unknown
	case h.plain():
		return game.Start().Check(rules.SideA, move) == nil
	case h.game.lost():
		return unknown
	}
	return h.game.position.Check(h.seatOf(s), move) == nil
}

// heard takes in an answer that counted.
func (h *hearing) heard(s *side, e *store.Exchange, m *said, i int) {
	h.x.manner(h, s.id, m, i)
	h.answered(s, e, m, []any{"transcript", i})
	at := []any{"transcript", i, "message"}
	switch part(e.Method) {
	case joining:
		s.failed = m.Accept == nil || !*m.Accept
		s.failedAt, s.fault = i, ""
		s.joined = !s.failed
		s.promise = m.EntropyCommitment
	case moving:
		s.failed = false
		s.moves = append(s.moves, m.move())
		s.movedAt = i
		if !s.joined {
			h.wrong(RuleTranscript, s.id, at, "%s moved in %s without having joined it", s.id, h.f.id)
		}
		if !h.legal(s, m.move(), true) {
			member := "move_data"
			if e.Method == protocol.ChooseParity.Name {
				member = "parity_choice"
			}
			h.wrong(RuleTranscript, s.id, append(at, member), "the answer %.40q of %s counts, but is no legal move", m.move(), s.id)
		}
		h.game.move(h.seatOf(s), m.move())
		s.entropy = ""
		if s.promise == "" {
			return
		}
		if !h.kept(s, m) {
			h.wrong(RuleCommitment, s.id, append(at, "entropy"), "the entropy that %s revealed in %s is not what it committed to", s.id, h.f.id)
			return
		}
		s.entropy = m.Entropy
	}
}

// conclude holds the result against what one player said in all.
func (h *hearing) conclude(s *side, player *store.MatchPlayer, member string) {
	if s.unknown {
		return
	}
	result := &h.d.Result.GameResult
	loser := result.Status == protocol.StatusTechnicalLoss && (result.WinnerPlayerID == nil || *result.WinnerPlayerID != s.id)
	switch {
	case loser && !s.failed:
		h.wrong(RuleTranscript, s.id, []any{"result", "status"}, "%s is said to have failed in %s, but the transcript has no failure of it at the end", s.id, h.f.id)
	case !loser && s.failed:
		h.wrong(RuleTranscript, s.id, []any{"transcript", s.failedAt}, "%s failed here and did not mend it, but the result of %s does not say so", s.id, h.f.id)
	case !loser && !s.joined:
		h.wrong(RuleTranscript, s.id, []any{"transcript"}, "%s is said to have played %s, but never joined it", s.id, h.f.id)
	case loser:
		h.blamed(s, result)
	}
	var last string
	if len(s.moves) > 0 {
		last = s.moves[len(s.moves)-1]
	}
	choice, _ := result.Choices.Get(s.id)
	if given := choice != nil; given != (last != "") || given && *choice != last {
		h.wrong(RuleTranscript, s.id, []any{"result", "choices", s.id}, "the choice of %s in %s is %s, the last legal one in the transcript is %s", s.id, h.f.id, quoted(choice), orNone(last))
	}
	if player.EntropyCommitment != s.promise {
		h.wrong(RuleCommitment, s.id, []any{member, "entropy_commitment"}, "the entropy commitment of %s in %s is %.12q…, in its GAME_JOIN_ACK %.12q…", s.id, h.f.id, player.EntropyCommitment, s.promise)
	}
	if h.d.Draw != nil {
		if used, _ := h.d.Draw.Entropies.Get(s.id); used != s.entropy && (used != "" || s.entropy != (protocol.Secret{}).Hex()) {
			h.wrong(RuleCommitment, s.id, []any{"draw", "entropies", s.id}, "the entropy of %s in the draw of %s is not what it revealed", s.id, h.f.id)
		}
	}
}

// blamed holds the failure by which a player is said to have lost, by which it may
// be suspended, against the one in the transcript. Referees of an older league
// named none.
func (h *hearing) blamed(s *side, result *protocol.GameResult) {
	said, _ := result.Faults.Get(s.id)
	if said == s.fault || said == "" && !h.x.judged() {
		return
	}
	h.wrong(RuleTranscript, s.id, []any{"result", "faults", s.id}, "%s is said to have lost %s by %s, the failure at the end of the transcript is %s",
		s.id, h.f.id, orNone(said), orNone(s.fault))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return quoted(&s)
}

// A manner is how an agent's answers differ from what the protocol asks,
// although their meaning is clear.
type manner struct {
	first  spot
	what   string
	number int
}

func (x *examination) manner(h *hearing, id string, m *said, i int) {
	var what string
	switch {
	case m.Protocol != protocol.Name || m.MessageType == "" || m.Sender == "" || m.ConversationID == "":
		what = "the envelope is not complete"
	case m.ConversationID != h.d.ConversationID:
		what = "conversation_id is not that of the request"
	case m.PlayerID != "" && m.PlayerID != id:
		what = "player_id is not the player's"
	case !protocol.ValidTimestamp(m.Timestamp):
		what = "the timestamp is not in UTC"
	default:
		return
	}
	known := x.manners[id]
	if known == nil {
		known = &manner{what: what, first: spot{file: h.d.file, line: h.d.line("transcript", i), matchID: h.f.id, agentID: id}}
		x.manners[id] = known
	}
	known.number++
}

// mannersNoted makes one note of each agent.
func (x *examination) mannersNoted() {
	for id, m := range x.manners {
		x.note(RuleConformance, m.first, "%s answers not quite as the protocol has it, in %s; here %s", id, counted(m.number, "message", "messages"), m.what)
	}
}
