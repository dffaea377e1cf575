package faults_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/faults"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, spec string
		want       faults.Plan
	}{
		{"nothing", "", faults.Plan{}},
		{"probabilities", "drop=0.02,delay=0.1,duplicate=1,garbage=0,disk=0.01",
			faults.Plan{Drop: 0.02, Delay: 0.1, Duplicate: 1, Disk: 0.01}},
		{"with spaces", " drop=0.5, delay=1e-1 ", faults.Plan{Drop: 0.5, Delay: 0.1}},
		{"from the start", "hang=P05", faults.Plan{Hang: []faults.Period{{ID: "P05", From: 1}}}},
		{"from a round on", "crash=P03@R2", faults.Plan{Crash: []faults.Period{{ID: "P03", From: 2}}}},
		{"and back again", "crash=P03@R2-R4", faults.Plan{Crash: []faults.Period{{ID: "P03", From: 2, Until: 4}}}},
		{"several times", "deny=P01@R1-R2,deny=P01@R2-R3,deny=P100", faults.Plan{Deny: []faults.Period{
			{ID: "P01", From: 1, Until: 2}, {ID: "P01", From: 2, Until: 3}, {ID: "P100", From: 1},
		}}},
		{"a referee", "referee-crash=REF01@R3", faults.Plan{RefereeCrash: []faults.Period{{ID: "REF01", From: 3}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := faults.Parse(tt.spec)
			require.NoError(t, err)
			assert.Equal(t, &tt.want, p)
		})
	}
}

func TestInvalidSpecificationsAreRejected(t *testing.T) {
	const after = "after @ write a round, such as R2, or the first round and the round after the last, such as R2-R4"
	const kinds = "one of drop, delay, duplicate, garbage, disk, crash, hang, deny, referee-crash, each with = and a value"
	for _, tt := range []struct{ spec, want string }{
		{"drop=1.1", `"drop=1.1": a probability from 0 to 1`},
		{"drop=-0.1", `"drop=-0.1": a probability from 0 to 1`},
		{"drop=NaN", `"drop=NaN": a probability from 0 to 1`},
		{"drop=much", `"drop=much": a probability from 0 to 1`},
		{"drop=", `"drop=": a probability from 0 to 1`},
		{"drop", `"drop": ` + kinds},
		{"luck=1", `"luck=1": ` + kinds},
		{"drop=0.1,,delay=0.1", `"": ` + kinds},
		{"drop=0.1,drop=0.1", "drop is given twice"},
		{"crash=REF01", `"crash=REF01": crash is for a player such as P03`},
		{"crash=P3", `"crash=P3": crash is for a player such as P03`},
		{"crash=", `"crash=": crash is for a player such as P03`},
		{"referee-crash=P03", `"referee-crash=P03": referee-crash is for a referee such as REF01`},
		{"referee-crash=REF01@R1-R2", `"referee-crash=REF01@R1-R2": a referee that crashed does not come back: name one round`},
		{"crash=P03@", `"crash=P03@": ` + after},
		{"crash=P03@2", `"crash=P03@2": ` + after},
		{"crash=P03@R0", `"crash=P03@R0": ` + after},
		{"crash=P03@R02", `"crash=P03@R02": ` + after},
		{"crash=P03@R4-R2", `"crash=P03@R4-R2": ` + after},
		{"crash=P03@R2-R2", `"crash=P03@R2-R2": ` + after},
		{"crash=P03@R2-", `"crash=P03@R2-": ` + after},
		{"hang=P03,hang=P03@R2", `"hang=P03@R2": hang of P03 at that time is given already`},
		{"hang=P03@R2-R4,hang=P03@R3-R5", `"hang=P03@R3-R5": hang of P03 at that time is given already`},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			_, err := faults.Parse(tt.spec)
			require.EqualError(t, err, "faults: "+tt.want)
		})
	}
	t.Run("all is told at once", func(t *testing.T) {
		_, err := faults.Parse("drop=2,luck=1,crash=P03@x")
		require.Error(t, err)
		assert.Equal(t, 2, strings.Count(err.Error(), "\n"))
	})
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{"drop=1,crash=P04,referee-crash=REF02@R3", ""},
		{"crash=P05", "faults: P05 is not in the league: the last one is P04"},
		{"referee-crash=REF03", "faults: REF03 is not in the league: the last one is REF02"},
		{"hang=P04@R4", "faults: P04: the league has no round 4: the last one is 3"},
		{"deny=P04@R2-R4", "faults: P04: the league has no round 4: the last one is 3"},
		{"referee-crash=REF01,referee-crash=REF02@R3", "faults: every referee crashes (2), and none is left to conduct the matches"},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			p, err := faults.Parse(tt.spec)
			require.NoError(t, err)
			err = p.Check(4, 2, 3)
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.want)
			}
		})
	}
}

func TestRoundsOfASpell(t *testing.T) {
	p, err := faults.Parse("crash=P03@R2-R4,crash=P03@R6,crash=P01")
	require.NoError(t, err)
	when := func(id string) string {
		var rounds []byte
		for round := range 8 {
			if faults.Active(p.Crash, id, round) {
				rounds = fmt.Append(rounds, round)
			}
		}
		return string(rounds)
	}
	assert.Equal(t, "2367", when("P03"))
	assert.Equal(t, "1234567", when("P01"), "before the first round everybody is well")
	assert.Empty(t, when("P02"))
}

func TestFaultsHaveTheGivenProbabilities(t *testing.T) {
	p := &faults.Plan{Drop: 0.2, Garbage: 0.1, Delay: 0.4, Duplicate: 0.5}
	const n = 20_000
	counts := map[faults.MessageFault]float64{}
	for i := range n {
		counts[p.FaultOf(7, faults.Message{Caller: "referee", Receiver: "P01", Method: "choose_parity", About: fmt.Sprintf("R%dM1", i)})]++
	}
	left := 0.8 * 0.9
	for fault, want := range map[faults.MessageFault]float64{
		faults.LostRequest: 0.1, faults.LostAnswer: 0.1, faults.Garbled: 0.8 * 0.1,
		faults.Late: left * 0.2, faults.Doubled: left * 0.8 * 0.5, faults.NoFault: left * 0.8 * 0.5,
	} {
		assert.InDelta(t, want, counts[fault]/n, 5*math.Sqrt(want/n), fault.String())
	}
}

func TestFaultDependsOnlyOnTheMessage(t *testing.T) {
	p := &faults.Plan{Drop: 0.5}
	base := faults.Message{Caller: "referee", Receiver: "P01", Method: "choose_parity", About: "R1M1"}
	decide := func(seed uint64, change func(*faults.Message)) (all [32]faults.MessageFault) {
		for repetition := range all {
			m := base
			m.Repetition = repetition
			change(&m)
			all[repetition] = p.FaultOf(seed, m)
		}
		return all
	}
	same := func(*faults.Message) {}
	first := decide(7, same)
	assert.Equal(t, first, decide(7, same))
	assert.NotEqual(t, first, decide(8, same))
	for name, change := range map[string]func(*faults.Message){
		"caller":     func(m *faults.Message) { m.Caller = "league_manager" },
		"receiver":   func(m *faults.Message) { m.Receiver = "P02" },
		"method":     func(m *faults.Message) { m.Method = "make_move" },
		"match":      func(m *faults.Message) { m.About = "R1M2" },
		"repetition": func(m *faults.Message) { m.Repetition += 100 },
	} {
		assert.NotEqual(t, first, decide(7, change), name)
	}
}

func TestMessageThatMustArriveArrivesInTheEnd(t *testing.T) {
	p := &faults.Plan{Drop: 1}
	m := faults.Message{Method: "register_player", MustArrive: true}
	for m.Repetition = range 8 {
		assert.True(t, p.FaultOf(7, m).Fails())
	}
	m.Repetition = 8
	assert.Equal(t, faults.NoFault, p.FaultOf(7, m))
	m.MustArrive = false
	assert.True(t, p.FaultOf(7, m).Fails())
}

func TestRefereesDieAtEveryStep(t *testing.T) {
	seen := map[faults.Death]int{}
	for i := range 400 {
		seen[faults.DeathIn(7, fmt.Sprintf("R%dM1", i))]++
	}
	for _, at := range []faults.Death{faults.BeforeAccepting, faults.BeforeInviting, faults.InTheMiddle, faults.BeforeReporting} {
		assert.InDelta(t, 100, seen[at], 45, "%d", at)
	}
	assert.Len(t, seen, 4)
}

// Computed once: a seed gives the same faults in every version.
func TestFaultsStayTheSame(t *testing.T) {
	p := &faults.Plan{Drop: 0.3, Delay: 0.4, Duplicate: 0.3, Garbage: 0.2}
	var got []string
	for repetition := range 8 {
		got = append(got, p.FaultOf(7, faults.Message{Caller: "referee", Receiver: "P01", Method: "choose_parity", About: "R1M1", Repetition: repetition}).String())
	}
	assert.Equal(t, []string{"answer lost", "whole", "whole", "request lost", "request lost", "whole", "garbled", "request lost"}, got)
}
