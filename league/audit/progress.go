package audit

import (
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A progress is how far a game of several turns has come in a transcript. Nil is
// one of a game that has a single turn, or that is not known here.
type progress struct {
	position rules.Position // nil once it cannot be told
	moves    [2]string
	made     [2]bool // who has moved in this position
}

// progressOf is the beginning of the game of a match file.
func (x *examination) progressOf(d *matchFile) *progress {
	game, err := x.games.Game(d.GameType)
	if err != nil || game.Info().MaxTurns == 1 {
		return nil
	}
	return &progress{position: game.Start()}
}

// lost tells whether nobody can say what the position is.
func (p *progress) lost() bool { return p == nil || p.position == nil }

// lose notes that what happened is not known.
func (p *progress) lose() {
	if p != nil {
		p.position = nil
	}
}

// asks tells whether a seat has a move to make.
func (p *progress) asks(seat rules.Side) bool {
	return slices.Contains(p.position.ToMove(), seat) && !p.made[seat]
}

// move makes a move that counted. One that cannot have counted was named, and
// what follows from it is not judged.
func (p *progress) move(seat rules.Side, move string) {
	if p.lost() {
		return
	}
	if !p.asks(seat) || p.position.Check(seat, move) != nil {
		p.lose()
		return
	}
	p.moves[seat], p.made[seat] = move, true
	for _, other := range p.position.ToMove() {
		if !p.made[other] {
			return
		}
	}
	p.position, p.moves, p.made = p.position.Play(p.moves), [2]string{}, [2]bool{}
}

func (h *hearing) seatOf(s *side) rules.Side {
	if s == &h.sides[rules.SideB] {
		return rules.SideB
	}
	return rules.SideA
}

// shown holds what a player was shown of the position against the moves before:
// a referee that hides or invents one decides the match.
func (h *hearing) shown(s *side, request protocol.MoveRequest, at []any) {
	game, err := h.x.games.Game(h.d.GameType)
	if err != nil {
		return
	}
	position := game.Start()
	if !h.plain() {
		if h.game.lost() || !h.game.asks(h.seatOf(s)) {
			return
		}
		position = h.game.position
	}
	question := position.Ask(h.seatOf(s))
	if request.MoveType != question.MoveType {
		h.wrong(RuleTranscript, s.id, append(at, "move_type"), "%s was asked for %s in %s, by the rules it is %q", s.id, quoted(&request.MoveType), h.f.id, question.MoveType)
	}
	if !slices.Equal(request.ValidOptions, question.Options) {
		h.wrong(RuleTranscript, s.id, append(at, "valid_options"), "%s was given the options %.100q in %s, by the rules they are %q", s.id, request.ValidOptions, h.f.id, question.Options)
	}
	want := map[string]any{"opponent_id": h.f.ids[h.seatOf(s).Other()], "round_id": h.f.round}
	maps.Copy(want, question.Context)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got, want := request.Context[name], want[name]; !sameValue(got, want) {
			h.wrong(RuleTranscript, s.id, append(at, "context", name), "%s was shown %s %.60s in %s, by the moves before it is %.60s", s.id, name, text(got), h.f.id, text(want))
		}
	}
}

// sameValue compares what was read from JSON with what was not.
func sameValue(read, want any) bool {
	var other any
	return json.Unmarshal([]byte(text(want)), &other) == nil && reflect.DeepEqual(read, other)
}

// text is a value as JSON.
func text(v any) string {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(raw)
}
