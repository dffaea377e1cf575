package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evenodd/league/protocol"
)

// The kinds of faults as a specification names them.
const kinds = "drop, delay, duplicate, garbage, crash, hang, deny, referee-crash"

// Parse reads a specification, such as
// drop=0.02,delay=0.1,crash=P03@R2-R4,hang=P05,referee-crash=REF01@R3. The error has all
// its problems. "" is the plan without faults.
func Parse(spec string) (*Plan, error) {
	p := &Plan{}
	if spec == "" {
		return p, nil
	}
	var problems []error
	seen := map[string]bool{}
	for part := range strings.SplitSeq(spec, ",") {
		if err := p.parse(strings.TrimSpace(part), seen); err != nil {
			problems = append(problems, err)
		}
	}
	return p, errors.Join(problems...)
}

// parse reads one part of a specification.
func (p *Plan) parse(part string, seen map[string]bool) error {
	kind, value, ok := strings.Cut(part, "=")
	if chance := p.probability(kind); ok && chance != nil {
		if seen[kind] {
			return fmt.Errorf("faults: %s is given twice", kind)
		}
		seen[kind] = true
		return readProbability(chance, part, value)
	}
	periods := p.periods(kind)
	if !ok || periods == nil {
		return fmt.Errorf("faults: %q: one of %s, each with = and a value", part, kinds)
	}
	s, err := readPeriod(part, value)
	if err != nil {
		return err
	}
	parseID, role := protocol.ParsePlayerID, "a player such as P03"
	if periods == &p.RefereeCrash {
		parseID, role = protocol.ParseRefereeID, "a referee such as REF01"
	}
	if _, ok := parseID(s.ID); !ok {
		return fmt.Errorf("faults: %q: %s is for %s", part, kind, role)
	}
	if periods == &p.RefereeCrash && s.Until > 0 {
		return fmt.Errorf("faults: %q: a referee that crashed does not come back: name one round", part)
	}
	if slices.ContainsFunc(*periods, func(o Period) bool { return o.ID == s.ID && o.overlaps(s) }) {
		return fmt.Errorf("faults: %q: %s of %s at that time is given already", part, kind, s.ID)
	}
	*periods = append(*periods, s)
	return nil
}

func (p *Plan) probability(kind string) *float64 {
	switch kind {
	case "drop":
		return &p.Drop
	case "delay":
		return &p.Delay
	case "duplicate":
		return &p.Duplicate
	case "garbage":
		return &p.Garbage
	}
	return nil
}

func (p *Plan) periods(kind string) *[]Period {
	switch kind {
	case "crash":
		return &p.Crash
	case "hang":
		return &p.Hang
	case "deny":
		return &p.Deny
	case "referee-crash":
		return &p.RefereeCrash
	}
	return nil
}

func readProbability(chance *float64, part, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("faults: %q: a probability from 0 to 1", part)
	}
	*chance = n
	return nil
}

// readPeriod reads P03, P03@R2 or P03@R2-R4: the agent is back in the last round.
func readPeriod(part, value string) (Period, error) {
	id, when, timed := strings.Cut(value, "@")
	s := Period{ID: id, From: 1}
	if !timed {
		return s, nil
	}
	from, until, ends := strings.Cut(when, "-")
	first, okFrom := round(from)
	last, okUntil := round(until)
	if !okFrom || ends && (!okUntil || last <= first) {
		return s, fmt.Errorf("faults: %q: after @ write a round, such as R2, or the first round and the round after the last, such as R2-R4", part)
	}
	s.From, s.Until = first, last
	return s, nil
}

// round reads R2; 0 and false for anything else.
func round(text string) (int, bool) {
	digits, ok := strings.CutPrefix(text, "R")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || digits != strconv.Itoa(n) {
		return 0, false
	}
	return n, true
}

func (s Period) overlaps(o Period) bool {
	return (s.Until == 0 || o.From < s.Until) && (o.Until == 0 || s.From < o.Until)
}

// Check returns an error for each agent and round of the plan that a league does not
// have.
func (p *Plan) Check(players, referees, rounds int) error {
	var problems []error
	for _, group := range []struct {
		periods []Period
		parseID func(string) (int, bool)
		count   int
		last    string
	}{
		{slices.Concat(p.Crash, p.Hang, p.Deny), protocol.ParsePlayerID, players, protocol.PlayerID(players)},
		{p.RefereeCrash, protocol.ParseRefereeID, referees, protocol.RefereeID(referees)},
	} {
		for _, s := range group.periods {
			if n, _ := group.parseID(s.ID); n > group.count {
				problems = append(problems, fmt.Errorf("faults: %s is not in the league: the last one is %s", s.ID, group.last))
			}
			if max(s.From, s.Until) > rounds {
				problems = append(problems, fmt.Errorf("faults: %s: the league has no round %d: the last one is %d", s.ID, max(s.From, s.Until), rounds))
			}
		}
	}
	if len(p.RefereeCrash) > 0 && len(p.RefereeCrash) >= referees {
		problems = append(problems, fmt.Errorf("faults: every referee crashes (%d), and none is left to conduct the matches", referees))
	}
	return errors.Join(problems...)
}
