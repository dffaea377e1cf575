package simulation_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"evenodd/league/program"
	"evenodd/league/simulation/leaguetest"
)

// The swarm plays random leagues, each from a seed, in virtual time, with random faults and decisions of an organiser,
// and checks the invariants of every league.
//
//	go test ./league/simulation -run TestSwarm -seed 7        one league again
//	go test ./league/simulation -run TestSwarm -seeds 1000    that many, from -seed or 1
//	go test ./league/simulation -run TestSwarm -league '{…}'  the league that a failure has printed
//	make soak                                                 until it is stopped
var (
	swarmSeed   = flag.Uint64("seed", 0, "play the league of this seed alone; with -seeds or -soak, the first")
	swarmSeeds  = flag.Int("seeds", 0, "how many leagues to play")
	swarmLeague = flag.String("league", "", "play this league, in JSON")
	soak        = flag.Bool("soak", false, "play until stopped")
)

func TestMain(m *testing.M) {
	if code, asked := program.Supervise(os.Args[1:], os.Environ()); asked {
		os.Exit(code)
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // of the processes that supervise bots: they end at once
	leaguetest.UseMemory(os.Setenv)
	goleak.VerifyTestMain(m)
}

func TestSwarm(t *testing.T) {
	if *swarmLeague != "" {
		s := &swarm{}
		s.play(t, leagueIn(t, *swarmLeague))
		t.Logf("\n%s", &s.tally)
		return
	}
	s := &swarm{count: uint64(*swarmSeeds)}
	s.first = max(*swarmSeed, 1)
	switch {
	case *soak:
		s.count = math.MaxUint64
		if *swarmSeed == 0 {
			s.first = uint64(time.Now().UnixNano()) >> 16
		}
	case s.count == 0 && *swarmSeed > 0:
		s.count = 1
	case s.count == 0 && leaguetest.All():
		s.count = 1000
	case s.count == 0:
		s.count = 200
	}
	ctx := t.Context()
	if s.says = *swarmSeeds > 0 || *soak; s.says {
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	s.begun = time.Now()
	t.Run("lanes", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for n := s.next(); n < s.count && ctx.Err() == nil && (!*soak || !t.Failed()); n = s.next() {
					s.play(t, leagueOf(s.first+n))
				}
			})
		}
	})
	if s.says || testing.Verbose() {
		s.say("%s", &s.tally)
	}
}

// The leagues by which defects were found.
func TestLeaguesThatFailed(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a double loss that the manager doubts": `{"seed":1008,"game":"even_odd","players":5,"referees":2,"legs":1,
			"strategies":["alternate","even"],"transport":"memory","concurrency":3,"faults":["garbage=0.596"]}`,
		"a double loss that is reported again when another referee has conducted the match": `{"seed":37,"game":"even_odd",
			"players":3,"referees":2,"legs":1,"strategies":["contrarian"],"transport":"memory","concurrency":1,
			"faults":["delay=0.811","garbage=0.864"]}`,
		"a player that is ready, and then its opponent fails": `{"seed":136,"game":"kuhn_poker","players":2,"referees":1,
			"legs":1,"strategies":["contrarian"],"transport":"memory","concurrency":1,"faults":["delay=0.880"]}`,
		"a rematch whose announcement is lost": `{"seed":80,"game":"even_odd","players":9,"referees":1,"legs":1,
			"tournament":{"algorithm":"swiss-v2","seeding":["Player 04","Player 07","Player 08"]},"strategies":["random"],
			"transport":"memory","concurrency":1,"faults":["drop=0.719"],
			"decisions":[{"round":4,"command":"rematch","match_id":"R2M1"}]}`,
		"a rematch that is ordered while its round is played": `{"seed":1,"game":"even_odd","players":4,"referees":2,
			"legs":1,"strategies":["random"],"transport":"memory","concurrency":1,"faults":["drop=0.3"],
			"decisions":[{"message":"R1M2/handle_game_invitation","command":"rematch","match_id":"R1M1"}]}`,
		"a league without a round": `{"seed":443,"game":"even_odd","players":2,"referees":1,"legs":1,"strategies":["random"],
			"transport":"wire","concurrency":1,"decisions":[{"round":1,"command":"withdraw","agent_id":"P02"}]}`,
		"a crash after a withdrawal": `{"seed":196,"game":"rock_paper_scissors","players":3,"referees":1,"legs":1,
			"strategies":["random"],"transport":"wire","concurrency":1,"faults":["disk=0.03"],
			"decisions":[{"round":2,"command":"withdraw","agent_id":"P02"}],"twice":true}`,
		"a referee that reports an earlier attempt again after a crash": `{"seed":206770,"game":"even_odd","players":5,
			"referees":1,"legs":1,"tournament":{"algorithm":"double-elimination-v1"},"strategies":["frequency"],
			"transport":"memory","concurrency":1,"signatures":"optional","faults":["drop=0.916","crash=P05","disk=0.01"]}`,
		"a crash in a rematch": `{"seed":320,"game":"tic_tac_toe","players":4,"referees":1,"legs":1,"strategies":["contrarian"],
			"transport":"memory","concurrency":1,"faults":["disk=0.03"],
			"decisions":[{"round":2,"command":"rematch","match_id":"R1M2"}],"twice":true}`,
		"a power cut after a referee has died": `{"seed":193,"game":"rock_paper_scissors","players":3,"referees":2,"legs":1,
			"strategies":["mirror"],"transport":"memory","concurrency":1,
			"faults":["drop=0.945","referee-crash=REF01@R2","disk=0.03"]}`,
		"a restart before a rematch whose announcement is lost": `{"seed":61188,"game":"even_odd","players":4,"referees":1,
			"legs":2,"strategies":["even"],"transport":"wire","concurrency":1,"signatures":"optional",
			"faults":["drop=0.158","disk=0.1"],
			"decisions":[{"message":"R6M1/handle_game_invitation","command":"rematch","match_id":"R5M2"}]}`,
		"an acknowledgement of GAME_ERROR by a player that was never asked": `{"seed":206237,"game":"even_odd","players":4,
			"referees":1,"legs":1,"strategies":["even"],"transport":"memory","concurrency":1,"signatures":"optional",
			"faults":["drop=0.574"],"twice":true}`,
		"a plain report of an earlier attempt": `{"seed":400004,"game":"even_odd","players":2,"referees":2,"legs":6,
			"tournament":{"algorithm":"sequential-v1"},"strategies":["contrarian","even","odd","odd","frequency"],
			"transport":"wire","concurrency":16,"signatures":"optional","members":"plain",
			"faults":["garbage=0.522","hang=P02","referee-crash=REF01@R1"]}`,
		"a withdrawal in a league with plain members": `{"seed":400067,"game":"even_odd","players":3,"referees":1,"legs":1,
			"strategies":["frequency"],"transport":"wire","concurrency":1,"signatures":"optional","members":"plain",
			"decisions":[{"round":2,"command":"withdraw","agent_id":"P01"}]}`,
		"a crash after a ruling": `{"seed":60987,"game":"even_odd","players":3,"referees":1,"legs":2,
			"strategies":["frequency"],"transport":"memory","concurrency":1,"faults":["disk=0.03"],
			"decisions":[{"message":"R2M1/report_match_result","command":"rule","match_id":"R2M1","winner":"none"}],"twice":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, leagueIn(t, text).problems(t, &leaguetest.Tally{}))
		})
	}
}

// leagueIn reads a league in JSON.
func leagueIn(t *testing.T, text string) *randomLeague {
	t.Helper()
	l := &randomLeague{}
	require.NoError(t, json.Unmarshal([]byte(text), l, json.RejectUnknownMembers(true)))
	return l
}

// A swarm plays leagues, several at once.
type swarm struct {
	first, count uint64 // of the seeds
	says         bool   // it tells of its progress
	begun        time.Time
	taken        atomic.Uint64 // leagues that were begun
	shrunk       atomic.Int32  // leagues that failed and were shrunk
	tally        leaguetest.Tally
}

// next is the number of the next league, from 0.
func (s *swarm) next() uint64 {
	n := s.taken.Add(1) - 1
	if s.says && n > 0 && n%1000 == 0 {
		s.say("%d leagues, %.0f a minute\n", n, float64(n)/time.Since(s.begun).Minutes())
	}
	return n
}

// say writes at once, which a test that passes does not.
func (s *swarm) say(format string, args ...any) { _, _ = fmt.Fprintf(os.Stderr, format, args...) }

// play plays one league and checks it. It shrinks the first few that fail.
func (s *swarm) play(t *testing.T, l *randomLeague) {
	t.Helper()
	problems := l.problems(t, &s.tally)
	if len(problems) == 0 {
		return
	}
	text := strings.Join(problems, "\n") + "\n" + l.again()
	const most = 5
	if s.shrunk.Add(1) <= most {
		smallest, repeats := leaguetest.Shrink(l, (*randomLeague).smaller, func(l *randomLeague) bool {
			return len(l.problems(t, &leaguetest.Tally{})) > 0
		})
		switch {
		case !repeats:
			text += "\nIt fails in less than 3 of 5 runs."
		case smallest != l:
			text += "\nA smaller league fails as well:\n" +
				strings.Join(smallest.problems(t, &leaguetest.Tally{}), "\n") + "\n" + smallest.again()
		}
	}
	if s.says {
		s.say("seed %d: %s\n", l.Seed, text)
	}
	assert.Fail(t, text)
}

// problems plays a league and returns what is wrong with it.
func (l *randomLeague) problems(t *testing.T, tally *leaguetest.Tally) (problems []string) {
	t.Helper()
	defer l.watch()()
	defer func() {
		if v := recover(); v != nil { // synctest reports a deadlock
			problems = append(problems, fmt.Sprint(v))
		}
	}()
	synctest.Test(t, func(t *testing.T) { problems = l.check(t.Context(), tally) })
	return problems
}

// check plays a league in the virtual time of a test.
func (l *randomLeague) check(ctx context.Context, tally *leaguetest.Tally) (problems []string) {
	played, err := l.play(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	played.count(tally)
	for name, check := range swarmChecks {
		for _, problem := range check(played) {
			problems = append(problems, name+": "+problem)
		}
	}
	if l.Twice && len(problems) == 0 {
		tally.Add("leagues played twice", 1)
		problems = append(problems, l.differences(ctx, played)...)
	}
	return problems
}

// watch ends the tests when a league does not end: virtual time does not advance in a
// league that is always busy.
func (l *randomLeague) watch() (stop func()) {
	const patience = 2 * time.Minute // of real time
	timer := time.AfterFunc(patience, func() { panic("a league does not end: " + l.again()) })
	return func() { timer.Stop() }
}
