// Package faults says what goes wrong in a simulated league: messages that are
// lost, late, doubled or garbled, agents that die, hang or refuse. Everything
// derives from a seed and from what is decided, so that the same faults come
// whatever runs at once. It is pure: it knows no agent and no carrier.
package faults

import (
	"crypto/sha256"
	"encoding/binary"
)

// A Plan is what goes wrong, and how often.
type Plan struct {
	Drop      float64 // of all messages, 0 to 1: the request or the answer is lost
	Delay     float64 // those that take up to twice the time they may
	Duplicate float64 // those that arrive twice
	Garbage   float64 // those whose answer cannot be read

	Crash        []Spell // players at whom nobody listens
	Hang         []Spell // players who never answer
	Deny         []Spell // players who refuse every invitation
	RefereeCrash []Spell // referees that die of the first match they get from a round on
}

// A Spell is how long an agent is in a bad way.
type Spell struct {
	ID    string
	From  int // the first round of it, from 1
	Until int // the first round after it; 0 for none
}

// In tells whether one of some spells is an agent's in a round. Before the
// first round everybody is well: agents have to register.
func In(spells []Spell, id string, round int) bool {
	for _, s := range spells {
		if s.ID == id && round >= s.From && (s.Until == 0 || round < s.Until) {
			return true
		}
	}
	return false
}

// A Message is what a fate is decided of. It names neither the attempt nor the
// referee of a match: whoever conducts it however often, it goes as it goes.
type Message struct {
	Caller     string // what kind of agent it is from
	Receiver   string // a player's id, or what kind of agent it is to
	Method     string
	About      string // a match, or a conversation; "" for none
	Repetition int    // 0 for the first time
	MustArrive bool   // it is repeated until it arrives, and must arrive in the end
}

// A Fate is what becomes of a message.
type Fate int

// The fates of messages.
const (
	Whole       Fate = iota // it arrives, and so does its answer
	LostRequest             // the receiver never sees it
	LostAnswer              // it is received, and the caller never knows
	Late                    // the answer comes when nobody waits for it any more
	Garbled                 // the answer cannot be read
	Doubled                 // it is received twice
)

// String names the fate.
func (f Fate) String() string {
	return [...]string{"whole", "request lost", "answer lost", "late", "garbled", "doubled"}[f]
}

// Fails tells whether the caller gets no answer.
func (f Fate) Fails() bool { return f != Whole && f != Doubled }

// patience is how often what is insisted on may be lost.
const patience = 8

// Fate decides about a message. A message that takes less than its time is as
// good as one that takes none.
func (p *Plan) Fate(seed uint64, m Message) Fate {
	if m.MustArrive && m.Repetition >= patience {
		return Whole
	}
	at := chances(seed, "message", m.Caller, m.Receiver, m.Method, m.About, uint64(m.Repetition)) //nolint:gosec // never negative
	switch {
	case at[0] < p.Drop/2:
		return LostRequest
	case at[0] < p.Drop:
		return LostAnswer
	case at[1] < p.Garbage:
		return Garbled
	case at[2] < p.Delay/2: // it takes 0 to 2 times what it may
		return Late
	case at[3] < p.Duplicate:
		return Doubled
	}
	return Whole
}

// A Death is where in a match a referee dies.
type Death int

// The places at which a referee dies.
const (
	BeforeAccepting Death = iota
	BeforeInviting        // it has accepted the match
	InTheMiddle           // the players have been invited
	BeforeReporting       // the players know the result
)

// DeathIn decides where a referee dies that gets a match.
func DeathIn(seed uint64, matchID string) Death {
	return Death(chances(seed, "death", "", "", "", matchID, 0)[0] * 4)
}

// chances are four numbers of [0, 1) for one decision.
func chances(seed uint64, what, caller, receiver, method, about string, try uint64) (at [4]float64) {
	var buffer [256]byte
	text := append(buffer[:0], "evenodd-faults-v1/"...)
	text = binary.BigEndian.AppendUint64(text, seed)
	text = binary.BigEndian.AppendUint64(text, try)
	for _, part := range [...]string{what, caller, receiver, method, about} {
		text = binary.BigEndian.AppendUint16(text, uint16(len(part))) //nolint:gosec // ids are short
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	for i := range at {
		const bits = 53 // those of a float64's fraction
		at[i] = float64(binary.BigEndian.Uint64(sum[8*i:])>>(64-bits)) / (1 << bits)
	}
	return at
}
