// Package faults decides the faults of a simulated league: messages that are lost, late,
// doubled or garbled, agents that die, hang or refuse, and disks that fail. Every decision derives from a
// seed and its key, so that the same faults occur whatever runs at once. The package is
// pure: it must not depend on agents, carriers, disks, the clock or a global random source.
package faults

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// A Plan has the probabilities of faults in messages, and the faults of agents.
type Plan struct {
	Drop      float64 // probability, 0 to 1, that the request or the answer is lost
	Delay     float64 // probability that the answer takes up to twice its time limit
	Duplicate float64 // probability that the request arrives twice
	Garbage   float64 // probability that the answer cannot be read
	Disk      float64 // probability that 512 bytes of a disk have a fault, for each kind of DiskFault

	Crash        []Period // players that do not listen
	Hang         []Period // players that never answer
	Deny         []Period // players that refuse every invitation
	RefereeCrash []Period // referees that die with the first match they get from a round on
}

// A Period is the time in which an agent has a fault.
type Period struct {
	ID    string
	From  int // the first round, from 1
	Until int // the first round after the fault; 0 for none
}

// Active tells whether an agent has a period in a round. No agent has one before the first
// round, because agents must register.
func Active(periods []Period, id string, round int) bool {
	return slices.ContainsFunc(periods, func(p Period) bool {
		return p.ID == id && round >= p.From && (p.Until == 0 || round < p.Until)
	})
}

// A Message is the key of a fault. It has neither the attempt nor the referee of a match,
// so that the match has the same faults in every attempt and with every referee.
type Message struct {
	Caller     string // the kind of the sending agent
	Receiver   string // a player's id, or the kind of another agent
	Method     string
	About      string // a match or a conversation; "" for none
	Repetition int    // 0 for the first time
	MustArrive bool   // it is repeated until it arrives, and must arrive in the end
}

// A MessageFault is the fault of a message.
type MessageFault int

// The faults of messages.
const (
	NoFault     MessageFault = iota // no fault: request and answer arrive
	LostRequest                     // the request does not arrive
	LostAnswer                      // the request arrives, but the answer does not
	Late                            // the answer arrives after the time limit
	Garbled                         // the answer cannot be read
	Doubled                         // the request arrives twice
)

// String names the fault.
func (f MessageFault) String() string {
	return [...]string{"whole", "request lost", "answer lost", "late", "garbled", "doubled"}[f]
}

// Fails tells whether the caller gets no answer.
func (f MessageFault) Fails() bool { return f != NoFault && f != Doubled }

// maxFailures is how often a message that must arrive may fail.
const maxFailures = 8

// FaultOf decides the fault of a message. A delay within the time limit is no fault.
func (p *Plan) FaultOf(seed uint64, m Message) MessageFault {
	if m.MustArrive && m.Repetition >= maxFailures {
		return NoFault
	}
	at := draws(seed, "message", m.Caller, m.Receiver, m.Method, m.About, uint64(m.Repetition)) //nolint:gosec // never negative
	switch {
	case at[0] < p.Drop/2:
		return LostRequest
	case at[0] < p.Drop:
		return LostAnswer
	case at[1] < p.Garbage:
		return Garbled
	case at[2] < p.Delay/2: // the delay is 0 to 2 times the limit
		return Late
	case at[3] < p.Duplicate:
		return Doubled
	}
	return NoFault
}

// A Death is the step of a match at which a referee dies.
type Death int

// The steps at which a referee dies.
const (
	BeforeAccepting Death = iota
	BeforeInviting        // it has accepted the match
	InTheMiddle           // the players have been invited
	BeforeReporting       // the players know the result
)

// DeathIn decides the step of a match at which its referee dies.
func DeathIn(seed uint64, matchID string) Death {
	return Death(draws(seed, "death", "", "", "", matchID, 0)[0] * 4)
}

// draws are four numbers in [0, 1) for one decision.
func draws(seed uint64, kind, caller, receiver, method, about string, repetition uint64) (at [4]float64) {
	sum := Digest("evenodd-faults-v1/", []uint64{seed, repetition}, kind, caller, receiver, method, about)
	for i := range at {
		const bits = 53 // those of a float64's fraction
		at[i] = float64(binary.BigEndian.Uint64(sum[8*i:])>>(64-bits)) / (1 << bits)
	}
	return at
}

// Digest is SHA-256 of a label, numbers, and texts, each after its length. It derives a random decision from
// its key. No label may be a prefix of another.
func Digest(label string, numbers []uint64, texts ...string) [sha256.Size]byte {
	var buffer [256]byte
	key := append(buffer[:0], label...)
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	for _, text := range texts {
		key = binary.BigEndian.AppendUint16(key, uint16(len(text))) //nolint:gosec // ids are short
		key = append(key, text...)
	}
	return sha256.Sum256(key)
}
