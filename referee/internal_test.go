package referee

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A new league may have the name of the last one, and its matches then have the same names.
func TestMatchesOfAnEarlierLeagueAreForgotten(t *testing.T) {
	over, running := &match{matchID: "R1M1", attempt: 1, final: &protocol.MatchResultReport{}}, &match{matchID: "R1M2", attempt: 1}
	r := &Referee{matches: map[string]*match{"R1M1": over, "R1M2": running}, reported: []*match{over}}
	r.forgetMatches()
	assert.Empty(t, r.matches, "they are played in the new league")
	assert.Empty(t, r.reported)
	assert.True(t, running.over(), "it ends")
	running.record(nil, true, "") // into no file
}

func TestOldAcknowledgedMatchesAreEvicted(t *testing.T) {
	r, err := New(Options{
		Options:       membership.Options{Name: "Referee", Clock: protocol.SystemClock()},
		MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
	})
	require.NoError(t, err)
	defer r.Close()
	for n := range 3*keptMatches + 1 {
		id := league.MatchID{Round: n + 1, Number: 1}.String()
		r.matches[id] = &match{matchID: id}
		r.remember(r.matches[id])
		assert.LessOrEqual(t, len(r.matches), keptMatches)
	}
	assert.Contains(t, r.matches, league.MatchID{Round: 3*keptMatches + 1, Number: 1}.String())
	assert.NotContains(t, r.matches, league.MatchID{Round: 2*keptMatches + 1, Number: 1}.String())
}

// A referee calls players in the networks of its own setting, else in those of the
// assignment, else in its usual ones.
func TestRefereeCallsPlayersInAllowedNetworks(t *testing.T) {
	own, told, usual := netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.0/8")
	for _, test := range []struct {
		name string
		own  []netip.Prefix
		told []string
		want []netip.Prefix
	}{
		{"of the assignment", nil, []string{"10.1.0.0/16"}, []netip.Prefix{told}},
		{"of its own setting", []netip.Prefix{own}, []string{"10.1.0.0/16"}, []netip.Prefix{own}},
		{"of its own setting, with a third-party manager", []netip.Prefix{own}, nil, []netip.Prefix{own}},
		{"its usual ones, with a third-party manager", nil, nil, []netip.Prefix{usual}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Referee{options: Options{Networks: test.own, UsualNetworks: []netip.Prefix{usual}}}
			r.options.Clock = protocol.SystemClock()
			q := &protocol.MatchAssignment{PlayerA: protocol.AssignedPlayer{Endpoint: "http://p01"}, AllowedEndpoints: test.told}
			m := newMatch(r, &membership.Membership{}, evenodd.Game{}, q, protocol.Secret{})
			for i := range m.peers {
				assert.Equal(t, test.want, m.peers[i].Networks)
			}
			assert.Equal(t, "http://p01", m.peers[0].Endpoint)
		})
	}
}

func TestLongestStallOfASpanIsReported(t *testing.T) {
	began := time.Now()
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	at := func(n int) time.Time { return began.Add(ms(n)) }
	m := &StallMonitor{last: began}
	for _, tick := range []int{20, 40, 120, 140, 189, 209, 1229, 1249} { // late by 60, 29 and 1000 ms
		m.tick(at(tick))
	}
	for _, test := range []struct {
		name          string
		from, to, now int
		longest       int // ms
	}{
		{"before all stalls", -100, 30, 1250, 0},
		{"from before a stall to its middle", 0, 50, 1250, 60},
		{"inside", 60, 61, 1250, 60},
		{"from inside to after it", 110, 150, 1250, 60},
		{"just after it", 120, 130, 1250, 0},
		{"over two stalls", 60, 300, 1250, 1000},
		{"too short to count", 141, 188, 1250, 0},
		{"nothing since the last tick", 1249, 1260, 1260, 0},
		{"a stall that is just ending", 1255, 1300, 1469, 200},
		{"a stall that is just ending and shorter than another", 1000, 1300, 1469, 1000},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, ms(test.longest), m.longest(at(test.from), at(test.to), at(test.now)))
		})
	}
}

func TestOldestStallsAreEvicted(t *testing.T) {
	now := time.Now()
	m := &StallMonitor{last: now}
	began := now
	for n := range 3 * keptStalls / 2 {
		now = now.Add(time.Second)
		if n == 0 {
			now = now.Add(time.Minute)
		}
		m.tick(now)
	}
	assert.Len(t, m.stalls, keptStalls)
	assert.Equal(t, 980*time.Millisecond, m.longest(began, now, now), "the long stall was the first")
	assert.Zero(t, m.longest(began, began.Add(time.Minute), now))
}

func TestMonitorOfAnIdleProcessReportsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := WatchStalls()
		<-time.After(time.Second)
		assert.Zero(t, m.Longest(began, time.Now()))
		m.Stop()
	})
}
