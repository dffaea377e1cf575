package player

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// An Asker asks the program of a game what it says of a history. An error means that the program failed.
type Asker interface {
	Ask(ctx context.Context, history []rules.Entry) (*rules.State, error)
}

// A shown is what the player was shown in a turn, and its answer.
type shown struct {
	view   any    // nil for one before a restart
	hash   string // of the view; "" if it was not computed
	choice string
}

// viewHash returns the hash of the view.
func (s *shown) viewHash() string {
	if s.hash == "" {
		return protocol.ViewHash(s.view)
	}
	return s.hash
}

// keepShown keeps what the player was shown before a decision, for the check at the end of the match. A game that is
// known and hides nothing needs none.
func (p *Player) keepShown(m *match, v *strategy.View, q *protocol.SignatureRequest, choice string) {
	view, turn := v.Shown(), protocol.TurnIn(v.Context)
	if view == nil || turn == 0 {
		return
	}
	if game, err := p.options.Rules.Game(v.GameType); err == nil && !rules.Hides(game) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, known := m.shown[turn]; known {
		before.choice = choice // that may replace a refused one
		m.shown[turn] = before
		return
	}
	if len(m.shown) == maxDecisions {
		return
	}
	if m.shown == nil {
		m.shown = map[int]shown{}
	}
	m.shown[turn] = shown{view, q.ViewHash, choice}
}

// allShown returns what the player was shown in an attempt, by turns, also before a restart. p.mu is held.
func (p *Player) allShown(m *match) map[int]shown {
	all := maps.Clone(m.shown)
	if all == nil {
		all = map[int]shown{}
	}
	for key, d := range p.signed {
		if key.matchID == m.id && key.attempt == m.attempt && key.refereeID == protocol.AgentOf(m.auth.sender) &&
			d.Decision.ViewHash != "" && !isReadyMove(key.turn, d.Decision.Choice) {
			all[key.turn] = shown{nil, d.Decision.ViewHash, d.Decision.Choice}
		}
	}
	return all
}

// addShown adds the decisions of a match that is over and hid something to the history, as far as they were not
// signed: an audit compares the hashes of their views. p.mu is held.
func (p *Player) addShown(m *match) {
	if p.options.Folder.IsZero() {
		return
	}
	for _, turn := range slices.Sorted(maps.Keys(m.shown)) {
		key := questionKey{m.id, m.attempt, protocol.AgentOf(m.auth.sender), turn}
		if seen := m.shown[turn]; p.signed[key] == nil {
			p.line(&store.HistoryDecision{MatchID: m.id, Attempt: m.attempt, Decision: store.Decision{
				Turn: turn, Choice: seen.choice, RefereeID: key.refereeID, RoleInMatch: m.role, ViewHash: seen.viewHash(),
			}})
		}
	}
}

// checkShown compares what the player was shown in a match that is over with what the rules give, if the player has the
// game and knows of the match. A difference is an error in the log, and a line of the history. It works in the
// background, because a program may be slow.
func (p *Player) checkShown(ctx context.Context, m *match, q *protocol.GameOver) {
	game, err := p.options.Rules.Game(q.GameType)
	program := p.options.Programs[q.GameType]
	if m == nil || m.plain {
		return
	}
	if len(q.Moves) > 0 {
		p.mu.Lock()
		p.addShown(m)
		p.mu.Unlock()
	}
	if _, outside := game.(*rules.Program); err != nil || !rules.Hides(game) || outside && program == nil {
		return
	}
	id := p.ID()
	p.mu.Lock()
	c := comparison{matchID: m.id, playerID: cmp.Or(m.calledAs, id), over: q, shown: p.allShown(m), program: program}
	c.side = rules.Side(slices.Index([]string{protocol.RolePlayerA, protocol.RolePlayerB}, m.role))
	p.mu.Unlock()
	if c.side == rules.NoSide {
		return
	}
	ctx = context.WithoutCancel(ctx)
	p.telling.Go(p.options.Guard.Of(func() {
		found, err := c.run(ctx, game)
		if err != nil {
			p.options.Log.Warn().Err(err).Str("match_id", m.id).Str("event_type", "VIEWS_NOT_CHECKED").
				Msg("cannot compute what the player should have been shown")
		}
		if found == nil {
			return
		}
		p.options.Log.Error().Str("conversation_id", q.ConversationID).Str("match_id", m.id).Str("sender", q.Sender).
			Int("turn", found.Turn).Str("member", found.Member).Str("shown", found.Shown).Str("computed", found.Computed).
			Str("event_type", "VIEW_CONTRADICTED").
			Msg("the referee has shown something else than the rules give: evenodd audit --views names it")
		p.mu.Lock()
		p.line(&store.HistoryDifference{MatchID: m.id, Attempt: m.attempt, Difference: *found})
		p.mu.Unlock()
		p.trySave(afterMatch)
	}))
}

// A comparison is that of what a player was shown in a match with what follows from the rules.
type comparison struct {
	matchID  string
	playerID string
	side     rules.Side
	over     *protocol.GameOver
	shown    map[int]shown // by turns
	program  Asker         // nil for a game of this program
}

// run returns the first difference; nil for none. The error means that the program of the game failed.
func (c *comparison) run(ctx context.Context, game rules.Game) (*store.Difference, error) {
	course := rules.Begin(game)
	for moves := c.over.Moves; ; {
		after, found, err := c.deal(ctx, course)
		if found != nil || err != nil {
			return found, err
		}
		course = after
		turn := course.Turn()
		if found := c.compare(course); found != nil {
			return found, nil
		}
		var made [2]string
		for len(moves) > 0 && moves[0].Turn == turn {
			made[c.sideOf(moves[0].PlayerID)], moves = moves[0].Move, moves[1:]
		}
		if own := c.shown[turn].choice; own != "" && made[c.side] != "" && own != made[c.side] {
			return &store.Difference{Turn: turn, Member: "moves", Shown: made[c.side], Computed: own}, nil
		}
		if course, found = play(course, made); found != nil {
			return found, nil
		}
		if course.Turn() == turn { // the match was over in this turn
			return c.rest(turn, moves), nil
		}
	}
}

// play returns the course after the moves of a turn that were made.
func play(course rules.Course, made [2]string) (rules.Course, *store.Difference) {
	after, err := course.PlayMade(made)
	if err != nil {
		return course, &store.Difference{Turn: course.Turn(), Member: "moves", Shown: made[rules.SideA] + made[rules.SideB],
			Computed: err.Error()}
	}
	return after, nil
}

// sideOf returns the side of a player.
func (c *comparison) sideOf(id string) rules.Side {
	if id == c.playerID {
		return c.side
	}
	return c.side.Other()
}

// deal returns the course after what is due before a side moves: answers of the program, and draws, which it compares
// with those of the referee.
func (c *comparison) deal(ctx context.Context, course rules.Course) (rules.Course, *store.Difference, error) {
	for course.Awaits() || course.Outcomes() > 0 {
		if course.Awaits() {
			state, err := c.program.Ask(ctx, course.History())
			if err == nil {
				course, err = course.Told(state)
			}
			if err != nil {
				return course, nil, err
			}
			continue
		}
		var found *store.Difference
		if course, found = c.draw(course); found != nil {
			return course, found, nil
		}
	}
	return course, nil, nil
}

// draw returns the course after all draws that are due.
func (c *comparison) draw(course rules.Course) (rules.Course, *store.Difference) {
	before := len(course.Draws())
	chance, known := c.chance()
	if !known {
		return course, &store.Difference{Turn: course.Turn(), Member: "draw", Shown: "none", Computed: "a nonce"}
	}
	course = course.Settle(c.matchID, &chance)
	for i := before; i < len(course.Draws()); i++ {
		drawn, told := course.Draws()[i], "none"
		if i < len(c.over.Draws) {
			if c.over.Draws[i] == protocol.Drawn(drawn) {
				continue
			}
			told = strconv.Itoa(c.over.Draws[i].Number)
		}
		return course, &store.Difference{Turn: drawn.Turn, Member: "draws", Shown: told, Computed: strconv.Itoa(drawn.Number)}
	}
	return course, nil
}

// chance returns the random values of the match; known tells whether the referee has opened them.
func (c *comparison) chance() (chance rules.Chance, known bool) {
	draw := c.over.Draw
	if draw == nil {
		return chance, false
	}
	nonce, ok := protocol.ParseSecret(draw.Nonce)
	chance.Nonce = nonce
	for _, e := range draw.Entropies {
		secret, _ := protocol.ParseSecret(e.Value)
		if c.sideOf(e.Name) == rules.SideA {
			chance.EntropyA = secret
		} else {
			chance.EntropyB = secret
		}
	}
	return chance, ok
}

// compare compares the question to the player in a turn with what it was shown.
func (c *comparison) compare(course rules.Course) *store.Difference {
	seen, asked := c.shown[course.Turn()]
	if !asked {
		return nil
	}
	computed := "nothing"
	if course.Owes(c.side) {
		view := course.Ask(c.side).View
		if seen.view != nil && reflect.DeepEqual(view, seen.view) { // on the memory bus
			return nil
		}
		computed = protocol.ViewHash(view)
	}
	if computed == seen.viewHash() {
		return nil
	}
	return &store.Difference{Turn: course.Turn(), Member: "view", Shown: seen.viewHash(), Computed: computed}
}

// rest returns a difference if the player was asked in a turn after the last one, or if moves are left.
func (c *comparison) rest(last int, moves []protocol.PlayerMove) *store.Difference {
	if len(moves) > 0 {
		return &store.Difference{Turn: moves[0].Turn, Member: "moves", Shown: moves[0].Move, Computed: "none"}
	}
	if turns := slices.Sorted(maps.Keys(c.shown)); len(turns) > 0 && turns[len(turns)-1] > last {
		turn := turns[len(turns)-1]
		return &store.Difference{Turn: turn, Member: "moves", Shown: "none in this turn", Computed: c.shown[turn].choice}
	}
	return nil
}
