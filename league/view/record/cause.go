package record

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// A Cause is why a player gave no answer that counts, as the wire tells it. Failures with equal causes are the same.
type Cause struct {
	Code   string // of the catalogue; "" for a failure without one
	Words  string // they follow the name of the player: "was not running (connection refused)"
	Remedy string // what it means and what helps; "" if nothing is known

	Wire       bool // the call failed: which question it was, does not matter
	Dead       bool // nobody listens at the address of the player
	Unreadable bool // there was an answer, which is no message
}

// A wireCause is a cause that a code alone does not tell.
type wireCause struct {
	signs []string // one of them is in the detail of the error, or in the reason of the result
	cause Cause
}

// wireCauses are the causes of broken calls. The first one that fits counts.
var wireCauses = []wireCause{
	{[]string{"no such host"}, Cause{Words: "could not be reached (unknown host name)",
		Remedy: "The endpoint of the player names a host that the referee does not know. " +
			"Register with an address that the other computers can reach."}},
	{[]string{"connection refused", "nobody listens at", "actively refused"},
		Cause{Words: "was not running (connection refused)", Dead: true,
			Remedy: "Nothing listens at the address of the player: its program has ended, or never listened there. " +
				"Start it again: it returns to the league."}},
	{[]string{"has failed too often"}, Cause{Words: "was not called, because earlier calls failed", Dead: true,
		Remedy: "The calls before have failed, so the referee waits before it sends another notice."}},
	{[]string{"must not be called"}, Cause{Words: "could not be reached (its address is not allowed)",
		Remedy: "The league calls only addresses that it allows: see allowed_endpoints in its file."}},
	{[]string{"tls:", "x509:", "HTTPS"}, Cause{Words: "could not be reached (no connection by TLS)",
		Remedy: "The two sides do not agree about HTTPS or about the certificate: see --tls-ca, and http:// or https:// " +
			"in the endpoint."}},
	{[]string{"no readable message", "not JSON", "cannot be read", "jsontext:", "json:"}, unreadable},
	{[]string{"closed the connection", "connection closed", "connection reset", "broken pipe", "EOF",
		"accepted the connection"}, Cause{Words: "closed the connection without an answer",
		Remedy: "The program of the player accepted the call, and ended it: probably an exception in its handler. " +
			"Look at its log."}},
}

// unreadable is the cause of an answer that is no message.
var unreadable = Cause{Words: "sent an answer that is no JSON-RPC", Unreadable: true,
	Remedy: "The referee reached the player, but cannot read its answer: prose, a page of HTML, broken JSON. " +
		"Write the answer with a JSON library, and nothing beside it."}

// unreached is the cause of a broken connection of which nothing more is known.
var unreached = Cause{Words: "could not be reached",
	Remedy: "The referee got no connection to the player. Look whether its program runs, and at its address, its port " +
		"and the firewall."}

// rpcCodes and statuses find what an error of a call answered with.
var (
	rpcCodes = words.Pattern(`JSON-RPC error (-?\d{1,10})`)
	statuses = words.Pattern(`HTTP ([345]\d\d)`)
)

// internalError is the code of JSON-RPC for a failure inside of the other program.
const internalError = "-32603"

// CauseOf is the cause of a failed answer: by its error code, by the detail of its error or its part of the reason of a
// result, and by the beginning of the answer as it arrived, "" for none.
func CauseOf(code, detail, answer string) Cause {
	of := protocol.Code(code)
	if detail == refusedInvitation {
		return Cause{Words: detail, Remedy: "A player that registers for a league accepts its matches."}
	}
	if of == protocol.ErrTimeout && strings.Contains(detail, protocol.UsedUpTime) {
		return Cause{Code: code, Words: protocol.UsedUpTime, Remedy: "Each player has a time for all moves of a match. " +
			"Look at its clock after each move, and let its program decide by time_left_ms of the questions."}
	}
	c, known := wireCauseOf(of, detail, answer)
	if c.Code, c.Wire = code, known; !known {
		c.Words, c.Remedy = failureInWords(of), explained[of].meaning
	}
	return c
}

// wireCauseOf is the cause of a call that failed; false if it did not fail.
func wireCauseOf(code protocol.Code, detail, answer string) (Cause, bool) {
	if code != protocol.ErrConnection && code != protocol.ErrInvalidFieldType && code != "" {
		return Cause{}, false
	}
	rpc, status := rpcCodes().FindStringSubmatch(detail), statuses().FindStringSubmatch(detail)
	switch {
	case len(rpc) > 1 && rpc[1] == internalError:
		return Cause{Words: "failed with an internal error", Remedy: "The program of the player crashed, or gave no " +
			"usable choice. Look at its log."}, true
	case len(rpc) > 1:
		return Cause{Words: "answered with JSON-RPC error " + rpc[1], Remedy: "The program of the player refused the " +
			"message. Look at its log, and whether it knows the method and the match."}, true
	case len(status) > 1:
		return Cause{Words: "answered with HTTP " + status[1], Remedy: "The server of the player answered in place of its " +
			"program, which may have failed with an exception, or is not at this path. Look at its log."}, true
	case code == protocol.ErrInvalidFieldType:
		return Cause{}, false
	}
	for i := range wireCauses {
		w := &wireCauses[i]
		if slices.ContainsFunc(w.signs, func(sign string) bool { return strings.Contains(detail, sign) }) {
			return w.cause, true
		}
	}
	switch {
	case code == "":
		return Cause{}, false
	case answer != "":
		return unreadable, true
	}
	return unreached, true
}

// CauseIn is the cause of the technical loss of a player, as the result tells it; no words if the result has no fault
// of this player.
func CauseIn(r *league.Result, playerID string) Cause {
	code, faulty := r.Faults.Get(playerID)
	if !faulty {
		return Cause{}
	}
	_, part, _ := strings.Cut(r.Reason, playerID+" ")
	for _, other := range r.Faults { // the reason of two losses names one after the other
		part, _, _ = strings.Cut(part, ", "+other.Name+" ")
	}
	return CauseOf(code, part, "")
}

// Losses are the technical losses of a player.
type Losses struct {
	Causes []CountedCause
	Last   league.Attempt // with a cause
}

// CausesOfLosses are the technical losses of each player that has one with a fault in the result.
func (l *League) CausesOfLosses() map[string]*Losses {
	causes, lost := map[string][]Cause{}, map[string]*Losses{}
	for m := range l.Played() {
		for _, f := range m.Faults {
			id, _ := league.ParseMatchID(m.MatchID)
			lost[f.Name] = &Losses{Last: league.Attempt{MatchID: id, Number: m.Attempt}}
			causes[f.Name] = append(causes[f.Name], CauseIn(&m.Result, f.Name))
		}
	}
	for id, of := range lost {
		of.Causes = CountCauses(causes[id])
	}
	return lost
}

// A CountedCause is how often a cause occurred.
type CountedCause struct {
	Cause

	Count int
}

// CountCauses counts the causes, each once, in the order in which they first occurred.
func CountCauses(causes []Cause) (counted []CountedCause) {
	index := map[Cause]int{}
	for _, c := range causes {
		at, known := index[c]
		if !known {
			at = len(counted)
			index[c], counted = at, append(counted, CountedCause{Cause: c})
		}
		counted[at].Count++
	}
	return counted
}

// CountedInWords are causes behind the name of a player, the most frequent first: "was not running (connection
// refused)", or "2 × answered with HTTP 500; 1 × did not answer in time".
func CountedInWords(causes []CountedCause) string {
	if len(causes) == 1 {
		return causes[0].Words
	}
	sorted := slices.Clone(causes)
	slices.SortStableFunc(sorted, func(a, b CountedCause) int { return b.Count - a.Count })
	return strings.Join(lists.Map(sorted, CountedCause.InWords), "; ")
}

// InWords is the cause with its number: "2 × answered with HTTP 500".
func (c CountedCause) InWords() string { return fmt.Sprintf("%d × %s", c.Count, c.Words) }

// ownWords find what a program itself said of a failure, behind what the referee makes of a JSON-RPC error.
var ownWords = words.Pattern(`^answered with an error: JSON-RPC error -?\d{1,10}: (.+)`)

// OwnWords are what the player itself said in the last failed answer of an attempt by a JSON-RPC error: "bot.py: exit
// status 1". They are "" if it said nothing, and text of others.
func OwnWords(doc *store.Match, playerID string) (said string) {
	for _, f := range NewHealth().Add(doc) {
		if f.AgentID != playerID || f.OfNotice() || f.Local {
			continue
		}
		said = ""
		if m := ownWords().FindStringSubmatch(f.Problem); m != nil {
			said = m[1]
		}
	}
	return said
}
