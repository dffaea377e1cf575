package pairing

import (
	"math/bits"
	"slices"

	"evenodd/league"
	"evenodd/league/lists"
)

// maxReplays is the number of replays of a drawn match. After another draw, the
// higher seed wins it.
const maxReplays = 3

// A tree is the form of a bracket before the first round: its places, and where their players come from.
//
//   - The two players of a place play until one of them wins. Draws are replayed with sides swapped, up to maxReplays
//     times, then the higher seed wins.
//   - A player without an opponent wins without a match. An absent player loses its next place without one.
//   - A player is eliminated when it has lost as many places as it has lives. After a double loss both have lost.
type tree struct {
	seeds  []int // players, best first
	lives  int   // 1, or 2 of a double elimination
	places []place
	top    int // the largest level of an eliminated player
	// staged tells that a stage begins when the one before is over. Otherwise each match is played as soon as possible.
	staged bool
}

// A place is a Slot with its state.
type place struct {
	Slot
	part, stage int // of Part.Stages
	from        [2]feed
	level       int // of a player that is eliminated here
	state       state
	loser       int // that goes to another place, if the state is over; none for none
	first       int // the seat whose player begins as side A
	games       int // results, which swap the sides
	draws       int // in a row
}

// A feed is the origin of a player of a place: a seed, or the winner or loser of another place.
type feed struct {
	place int // before the place itself; none for a player
	loser bool
	seed  int // a player, or none for a bye
}

// A state is that of a place.
type state uint8

const (
	awaited   state = iota // not all players are known
	open                   // it has a match, unless a player is absent
	undropped              // nobody has won, and the players, with a life left, play for the way of the loser
	over
)

// rounds is the largest number of rounds of so many stages in a row.
func rounds(stages int) int { return stages * (1 + maxReplays) }

// stagesFor is the number of stages of a knockout.
func stagesFor(players int) int { return bits.Len(uint(players - 1)) }

// grow adds the places of a knockout of the seeds: a part of the bracket. Its place i of a stage has the winners of
// the places 2i and 2i+1 of the stage before. It returns the first place of each stage. The best seeds have the byes.
func (t *tree) grow(level func(stage int) int) (firsts []int) {
	stages := stagesFor(len(t.seeds))
	// Each doubling puts the best seeds so far against the worst of twice as many.
	seeds := []int{0}
	for range stages {
		doubled := make([]int, 0, 2*len(seeds))
		for _, seed := range seeds {
			doubled = append(doubled, seed, 2*len(seeds)-1-seed)
		}
		seeds = doubled
	}
	before := lists.Map(seeds, func(seed int) feed {
		if seed >= len(t.seeds) {
			return feed{none, false, none}
		}
		return feed{none, false, t.seeds[seed]}
	})
	for stage := range stages {
		firsts = append(firsts, len(t.places))
		before = t.add(0, stage, level(stage), before)
	}
	return firsts
}

// add adds the places of a stage, one for two feeds, and returns the feeds of their winners.
func (t *tree) add(part, stage, level int, feeds []feed) (winners []feed) {
	for pair := range slices.Chunk(feeds, 2) {
		winners = append(winners, feed{place: len(t.places)})
		t.places = append(t.places, place{Slot: Slot{A: none, B: none, Winner: none}, part: part, stage: stage, level: level,
			from: [2]feed(pair), loser: none})
	}
	return winners
}

// after returns the bracket after rounds; that before the first one which does not fit, if one does not.
func (t *tree) after(played [][]league.Played, absent Absences) (b *bracket, fits bool) {
	b = &bracket{tree: t, places: slices.Clone(t.places), absent: absent, lives: make([]int, len(t.seeds)),
		level: make([]int, len(t.seeds)), seed: make([]int, len(t.seeds))}
	for seed, p := range t.seeds {
		b.lives[p], b.level[p], b.seed[p] = t.lives, t.top+t.lives, seed
	}
	b.advance()
	for _, results := range played {
		if !b.record(results) {
			return b, false
		}
	}
	return b, true
}

// Round returns the pairings of a round in the order of the bracket.
func (t *tree) Round(round int, played [][]league.Played, absent Absences) (pairings []Pairing) {
	if round < 1 || len(played) < round-1 {
		return nil
	}
	b, fits := t.after(played[:round-1], absent)
	if !fits {
		return nil
	}
	for _, p := range b.open {
		pairings = append(pairings, b.pairing(p))
	}
	return pairings
}

// Ranks implements Ranker. It ignores results from the first round on that does not fit the bracket. Of the players
// that are not eliminated, those that have lost nothing rank first. The eliminated rank by the place at which they
// left. Without a winner of the last place, its players share rank 1.
func (t *tree) Ranks(played [][]league.Played, absent Absences) []int {
	b, _ := t.after(played, absent)
	above := make([]int, t.top+t.lives+1) // the number of players on higher levels
	for _, level := range b.level {
		for lower := range level {
			above[lower]++
		}
	}
	return lists.Map(b.level, func(level int) int { return above[level] + 1 })
}

// Bracket implements Ranker.
func (t *tree) Bracket(played [][]league.Played, absent Absences) (parts [][][]Slot) {
	b, _ := t.after(played, absent)
	b.number()
	for i := range b.places {
		p := &b.places[i]
		for p.part >= len(parts) {
			parts = append(parts, nil)
		}
		if p.stage == len(parts[p.part]) {
			parts[p.part] = append(parts[p.part], nil)
		}
		p.Empty = p.state == over && max(p.A, p.B) == none
		parts[p.part][p.stage] = append(parts[p.part][p.stage], p.Slot)
	}
	return parts
}

// A bracket is the state of a tournament between two rounds.
type bracket struct {
	*tree
	places []place
	absent Absences
	seed   []int    // by player, from 0
	open   []*place // those with a match in the next round, in their order
	round  int      // the last recorded one
	lives  []int    // by player
	// level ranks the players: that of the place at which a player was eliminated; for others top and their lives. The
	// winner of the match for third place has 1 more.
	level []int
}

// advance opens the places whose players are known.
func (b *bracket) advance() {
	b.open = nil
	for i := range b.places {
		p := &b.places[i]
		if b.staged && len(b.open) > 0 && p.stage > b.open[0].stage {
			return
		}
		if p.state == awaited && b.known(p.from[0]) && b.known(p.from[1]) {
			p.state, p.A, p.B = open, b.player(p.from[0], p.Third), b.player(p.from[1], p.Third)
		}
		if b.decideAbsent(p); p.state == open || p.state == undropped {
			b.open = append(b.open, p)
		}
	}
}

// known tells whether the player of a feed is known.
func (b *bracket) known(f feed) bool {
	if f.place == none {
		return true
	}
	p := &b.places[f.place]
	return p.state == over || p.state == undropped && !f.loser
}

// player is the player of a feed, or none. A player that is eliminated plays for third place alone.
func (b *bracket) player(f feed, third bool) int {
	switch {
	case f.place == none:
		return f.seed
	case !f.loser:
		return b.places[f.place].Winner
	case b.places[f.place].loser != none && b.lives[b.places[f.place].loser] == 0 && !third:
		return none
	}
	return b.places[f.place].loser
}

// decideAbsent decides a place of which a player is absent or missing.
func (b *bracket) decideAbsent(p *place) {
	for p.state == open || p.state == undropped {
		switch thereA, thereB := b.there(p.A), b.there(p.B); {
		case thereA && thereB:
			return
		case p.level == b.top && min(p.A, p.B) == none:
			b.decide(p, max(p.A, p.B)) // all others are eliminated
		case thereA:
			b.decide(p, p.A)
		case thereB:
			b.decide(p, p.B)
		default:
			b.decide(p, none)
		}
	}
}

// there tells whether a player exists and is not absent in the next round.
func (b *bracket) there(player int) bool { return player != none && !b.absent.Has(player, b.round+1) }

// decide ends a match with a winner, or with none after a double loss.
func (b *bracket) decide(p *place, winner int) {
	if p.Third {
		if p.state, p.Winner = over, winner; winner != none {
			b.level[winner]++
		}
		return
	}
	var left []int // the losers that are not eliminated
	for _, player := range [...]int{p.A, p.B} {
		if player == none || player == winner {
			continue
		}
		b.lives[player]--
		if b.level[player] = b.top + b.lives[player]; b.lives[player] == 0 {
			b.level[player] = p.level
		} else {
			left = append(left, player)
		}
	}
	switch {
	case p.state == undropped:
		p.state, p.loser = over, winner
	case winner != none:
		p.state, p.Winner, p.loser = over, winner, p.A+p.B-winner
	case len(left) == 2:
		p.state, p.draws = undropped, 0
	case len(left) == 1 && p.level == b.top:
		p.state, p.Winner = over, left[0] // the other one had lost before
	case len(left) == 1:
		p.state, p.loser = over, left[0]
	default:
		p.state = over
	}
}

// pairing returns the next match of a place. The higher seed begins as A.
func (b *bracket) pairing(p *place) Pairing {
	higher, lower := b.bySeed(p)
	if (p.first+p.games)%2 == 1 {
		return Pairing{lower, higher}
	}
	return Pairing{higher, lower}
}

func (b *bracket) bySeed(p *place) (higher, lower int) {
	if b.seed[p.A] > b.seed[p.B] {
		return p.B, p.A
	}
	return p.A, p.B
}

// record adds the results of a round. It returns false, and changes nothing, if they
// do not belong to its pairings.
func (b *bracket) record(results []league.Played) bool {
	fits := slices.EqualFunc(results, b.open, func(r league.Played, p *place) bool {
		return Pairing{r.A, r.B} == b.pairing(p) && r.Check(len(b.seed)) == nil
	})
	if !fits || len(results) == 0 {
		return false
	}
	b.number()
	for i, p := range b.open {
		winner := results[i].Winner
		p.games++
		if winner == none && !results[i].Technical {
			if p.draws++; p.draws <= maxReplays {
				continue
			}
			winner, _ = b.bySeed(p)
		}
		b.decide(p, winner)
	}
	b.advance()
	return true
}

// number gives the matches of the next round their places.
func (b *bracket) number() {
	b.round++
	for i, p := range b.open {
		p.Matches = append(p.Matches, league.MatchID{Round: b.round, Number: i + 1})
	}
}
