package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"evenodd/league"
)

// The kinds of faults as a specification names them.
const (
	refereeCrash = "referee-crash"
	kinds        = "drop, delay, duplicate, garbage, disk, crash, hang, deny, " + refereeCrash
)

// Parse reads a specification, such as
// drop=0.02,delay=0.1,crash=P03@R2-R4,hang=P05,referee-crash=REF01@R3. The error has all
// its problems. "" is the plan without faults.
func Parse(spec string) (*Plan, error) {
	p := &Plan{}
	if spec == "" {
		return p, nil
	}
	probabilities := map[string]*float64{"drop": &p.Drop, "delay": &p.Delay, "duplicate": &p.Duplicate,
		"garbage": &p.Garbage, "disk": &p.Disk}
	periods := map[string]*[]Period{"crash": &p.Crash, "hang": &p.Hang, "deny": &p.Deny, refereeCrash: &p.RefereeCrash}
	var problems []error
	seen := map[string]bool{}
	for part := range strings.SplitSeq(spec, ",") {
		part = strings.TrimSpace(part)
		kind, value, ok := strings.Cut(part, "=")
		var err error
		switch {
		case ok && probabilities[kind] != nil && seen[kind]:
			err = fmt.Errorf("faults: %s is given twice", kind)
		case ok && probabilities[kind] != nil:
			seen[kind] = true
			err = parseProbability(probabilities[kind], part, value)
		case ok && periods[kind] != nil:
			err = addPeriod(periods[kind], part, kind, value)
		default:
			err = fmt.Errorf("faults: %q: one of %s, each with = and a value", part, kinds)
		}
		problems = append(problems, err)
	}
	return p, errors.Join(problems...)
}

func parseProbability(to *float64, part, value string) error {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || !(n >= 0 && n <= 1) {
		return fmt.Errorf("faults: %q: a probability from 0 to 1", part)
	}
	*to = n
	return nil
}

// addPeriod adds the period of a part to the others of its kind.
func addPeriod(periods *[]Period, part, kind, value string) error {
	s, err := readPeriod(part, value)
	if err != nil {
		return err
	}
	parseID, role := league.ParsePlayerID, "a player such as P03"
	if kind == refereeCrash {
		parseID, role = league.ParseRefereeID, "a referee such as REF01"
	}
	_, known := parseID(s.ID)
	switch {
	case !known:
		return fmt.Errorf("faults: %q: %s is for %s", part, kind, role)
	case kind == refereeCrash && s.Until > 0:
		return fmt.Errorf("faults: %q: a referee that crashed does not come back: name one round", part)
	case slices.ContainsFunc(*periods, func(o Period) bool { return o.ID == s.ID && o.overlaps(s) }):
		return fmt.Errorf("faults: %q: %s of %s at that time is given already", part, kind, s.ID)
	}
	*periods = append(*periods, s)
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
		return s, fmt.Errorf(
			"faults: %q: after @ write a round, such as R2, or the first round and the round after the last, such as R2-R4",
			part)
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
		{slices.Concat(p.Crash, p.Hang, p.Deny), league.ParsePlayerID, players, league.PlayerID(players)},
		{p.RefereeCrash, league.ParseRefereeID, referees, league.RefereeID(referees)},
	} {
		for _, s := range group.periods {
			if n, _ := group.parseID(s.ID); n > group.count {
				problems = append(problems, fmt.Errorf("faults: %s is not in the league: the last one is %s", s.ID, group.last))
			}
			if max(s.From, s.Until) > rounds {
				problems = append(problems, fmt.Errorf("faults: %s: the league has no round %d: the last one is %d", s.ID,
					max(s.From, s.Until), rounds))
			}
		}
	}
	if len(p.RefereeCrash) > 0 && len(p.RefereeCrash) >= referees {
		problems = append(problems, fmt.Errorf("faults: every referee crashes (%d), and none is left to conduct the matches",
			referees))
	}
	return errors.Join(problems...)
}
