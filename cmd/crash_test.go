package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// crashPatience is the longest time of a league with killed processes.
const crashPatience = 5 * time.Minute

// crashLeague is the league that the crash tests play.
const crashLeague = "league_2025_even_odd"

// A processLeague is a league of processes that are killed and restarted, in one data
// folder.
type processLeague struct {
	t        *testing.T
	data     store.Folder
	began    time.Time
	deadline time.Time
	manager  *restartedProcess
	referees []*restartedProcess
	players  []*restartedProcess

	mu       sync.Mutex
	progress *sync.Cond
	round    int // the last that was announced
}

// crashSeed returns the seed of the random decisions of a crash test: CRASH_SEED, to
// reproduce a failure, else a new one. The scheduling of processes does not depend on
// it, so that a failure may need several attempts.
func crashSeed(t *testing.T) uint64 {
	t.Helper()
	if given := os.Getenv("CRASH_SEED"); given != "" {
		seed, err := strconv.ParseUint(given, 10, 64)
		require.NoError(t, err, "CRASH_SEED")
		return seed
	}
	return rand.Uint64N(1_000_000)
}

// leagueSize is the number of processes, and of ports, of a processLeague.
const leagueSize = 1 + 2 + 12

// startProcessLeague starts a manager, 2 referees and 12 players with their flags in a
// new data folder. Timeouts are as short as whole seconds allow: a killed process costs
// little time, and a slow machine makes no answer late.
func startProcessLeague(t *testing.T, ports []string, pause pauseBefore, managers, agents []string) *processLeague {
	t.Helper()
	dir := t.TempDir()
	if keep := os.Getenv("CRASH_DIR"); keep != "" { // to look at it afterwards
		dir = filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	c := &processLeague{t: t, data: store.Folder(filepath.Join(dir, "SHARED")), began: time.Now(), deadline: time.Now().Add(crashPatience)}
	c.progress = sync.NewCond(&c.mu)
	output(t, "init", string(c.data))
	path := filepath.Join(string(c.data), "config", "leagues", crashLeague+".json")
	var rules map[string]any
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &rules))
	rules["timeouts"] = object{"move_timeout_sec": 5, "game_join_ack_timeout_sec": 5, "generic_response_timeout_sec": 5}
	rules["retry_policy"] = object{"max_retries": 3, "delay_sec": 1}
	raw, err = json.Marshal(rules)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, raw, 0o600))

	agents = slices.Concat(agents, []string{"--data", string(c.data), "--manager", "http://localhost:" + ports[0] + "/mcp"})
	c.manager = startRestartedProcess(t, dir, "manager", pause, c.follow, append([]string{
		"manager", "--port", ports[0], "--data", string(c.data), "--players", "12", "--referees", "2", "--exit-when-done",
	}, managers...)...)
	for n := 1; n <= 2; n++ {
		id := protocol.RefereeID(n)
		c.referees = append(c.referees, startRestartedProcess(t, dir, id, pause, nil, append([]string{
			"referee", "--port", ports[n], "--name", "Referee " + id, "--id", id, "--max-concurrent", "3",
		}, agents...)...))
	}
	strategies := []string{"random", "contrarian", "mirror", "frequency", "alternate", "even"}
	for n := 1; n <= 12; n++ {
		id := protocol.PlayerID(n)
		c.players = append(c.players, startRestartedProcess(t, dir, id, pause, nil, append([]string{
			"player", "--port", ports[2+n], "--name", "Player " + id, "--id", id, "--strategy", strategies[n%len(strategies)],
		}, agents...)...))
	}
	return c
}

var announced = regexp.MustCompile(`"round_id":(\d+),.*"event_type":"ROUND_ANNOUNCEMENT_SENT"`)

// afterLast is the round after the end of any league.
const afterLast = 1_000

// follow reads the current round from the log of the manager.
func (c *processLeague) follow(line string) {
	found := announced.FindStringSubmatch(line)
	if found == nil && !strings.Contains(line, `"event_type":"THE_LEAGUE_IS_OVER"`) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round = afterLast
	if found != nil {
		c.round, _ = strconv.Atoi(found[1])
	}
	c.progress.Broadcast()
}

// awaitRound waits until a round is announced, or the league is over.
func (c *processLeague) awaitRound(round int) (now int) {
	defer time.AfterFunc(time.Until(c.deadline), c.progress.Broadcast).Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.round < round && time.Now().Before(c.deadline) {
		c.progress.Wait()
	}
	return c.round
}

// awaitEnd waits until all processes have exited with code 0.
func (c *processLeague) awaitEnd() {
	c.t.Helper()
	for _, p := range slices.Concat([]*restartedProcess{c.manager}, c.referees, c.players) {
		assert.Zero(c.t, p.awaitExit(c.t, c.deadline), "%s ends with 0", p.name)
	}
}

// countKills counts how often processes were killed in a span.
func countKills(from, to time.Time, processes ...*restartedProcess) (n int) {
	for _, p := range processes {
		for _, at := range p.killTimes() {
			if at.After(from) && at.Before(to) {
				n++
			}
		}
	}
	return n
}

// killInRounds kills the same number of processes in each round up to the last, at
// random moments: first a player, then the others in order. A match takes a few milliseconds,
// the pause before a round a second. Therefore the first kill follows soon after the
// announcement of the round, and half of the others soon after the kill before. A match
// with a killed player lasts until further processes are killed in it. No process is killed in
// a later round: an agent that is killed after it was told the end would wait for another league.
func (c *processLeague) killInRounds(chance *rand.Rand, players, others []*restartedProcess, last int) {
	for round := 1; round <= last; round++ {
		if c.awaitRound(round) > last {
			return
		}
		victims := players[(round-1)*len(players)/last : round*len(players)/last]
		victims = slices.Concat(victims, others[(round-1)*len(others)/last:round*len(others)/last])
		for i, victim := range victims {
			longest := 700 * time.Millisecond
			if i == 0 || chance.IntN(2) == 0 {
				longest = 20 * time.Millisecond
			}
			waitFor(time.Duration(chance.Int64N(int64(longest))))
			if c.awaitRound(round) > last {
				return
			}
			victim.kill()
		}
	}
}

// The journalFacts are the facts in the journal of a league.
type journalFacts struct {
	state    *journal.State
	disputes int
	played   map[protocol.MatchID]*span // from when to when each match was with a referee
	ended    time.Time                  // when the last result was recorded
}

type span struct{ from, to time.Time }

// readJournal folds the journal.
func (c *processLeague) readJournal() journalFacts {
	c.t.Helper()
	path := c.data.Journal(crashLeague)
	file, err := os.Open(path)
	require.NoError(c.t, err)
	defer func() { _ = file.Close() }()
	l := journalFacts{played: map[protocol.MatchID]*span{}}
	var torn int
	l.state, _, _, torn, err = journalfile.Replay(path, file, func(_ int, e *journal.Event, _ string, _ int64) {
		at, err := time.Parse(time.RFC3339, e.At)
		require.NoError(c.t, err)
		switch d := e.Data.(type) {
		case *journal.MatchAssigned:
			if l.played[d.MatchID] == nil {
				l.played[d.MatchID] = &span{from: at}
			}
		case *journal.MatchDisputed:
			l.disputes++
		case *journal.MatchReported:
			l.ended, l.played[d.MatchID].to = at, at
		}
	})
	require.NoError(c.t, err)
	require.Zero(c.t, torn, "nothing is left unfinished")
	return l
}

// check compares the files of a completed league with each other. It returns the
// contents of the journal and the number of technical losses.
func (c *processLeague) check() (l journalFacts, technical int) {
	c.t.Helper()
	t := c.t
	l = c.readJournal()
	require.NotNil(t, l.state.Completed)
	matches, rounds := l.state.TotalMatches(), l.state.TotalRounds()
	if l.state.Format() == "" {
		require.Equal(t, []int{66, 11}, []int{matches, rounds})
	}
	assert.Equal(t, matches, l.state.Recorded, "each match has exactly one result")
	assert.Zero(t, l.disputes, "no match has another")
	for m := range l.state.Matches() {
		report := m.Report
		match, err := store.Read[store.Match](c.data.Match(crashLeague, report.MatchID.String()))
		if !assert.NoError(t, err) {
			continue
		}
		assert.Equal(t, report.GameResult, match.Result.GameResult, match.MatchID)
		if state := match.Lifecycle.State; report.MatchID.Round < rounds || state != store.StateFinished { // the league may end before a report of its last round is repeated
			assert.Equal(t, store.StateAcknowledged, state, match.MatchID)
		}
		if report.Status == protocol.StatusTechnicalLoss {
			technical++
			c.checkTechnicalLoss(report, match)
		}
	}
	standings, err := store.Read[store.Standings](c.data.Standings(crashLeague))
	require.NoError(t, err)
	assert.Equal(t, l.state.Standings(), standings.Standings)
	assert.Equal(t, []int{matches, rounds}, []int{standings.Version, standings.RoundsCompleted})
	for _, row := range standings.Standings {
		if l.state.Format() != journal.FormatKnockout {
			assert.Equal(t, rounds, row.Played, row.PlayerID)
		}
	}
	first := standings.Standings[0]
	if stdout := c.manager.stdout.String(); first.Tied {
		assert.Contains(t, stdout, fmt.Sprintf("\nChampion: shared by %s (%s)", first.DisplayName, first.PlayerID))
	} else {
		assert.Contains(t, stdout, fmt.Sprintf("\nChampion: %s (%s) with %d point", first.DisplayName, first.PlayerID, first.Points))
	}
	for i, p := range c.players {
		assert.Contains(t, p.stdout.String(), protocol.PlayerID(i+1)+": ", "it knows who it was")
		assert.Contains(t, p.stdout.String(), ". Champion: "+first.DisplayName+" ", p.name)
	}
	output(t, "audit", string(c.data)) // ends with 0 when it finds nothing
	return l, technical
}

// checkTechnicalLoss requires that the loser of a technical loss was killed in the match.
func (c *processLeague) checkTechnicalLoss(report *journal.MatchReported, match *store.Match) {
	c.t.Helper()
	states := match.Lifecycle.States
	from, err := time.Parse(time.RFC3339, states[0].At)
	require.NoError(c.t, err)
	to := from
	for _, s := range states {
		if s.State == "FINISHED" {
			to, err = time.Parse(time.RFC3339, s.At)
			require.NoError(c.t, err)
		}
	}
	for _, side := range report.Choices {
		if w := report.WinnerPlayerID; w != nil && *w == side.Name {
			continue
		}
		n, _ := protocol.ParsePlayerID(side.Name)
		assert.True(c.t, c.players[n-1].wasDown(from, to.Add(time.Millisecond)),
			"%s lost %s technically between %s and %s, but was not killed: %s", side.Name, match.MatchID, from, to, report.Reason)
	}
}

// shuffled returns processes in random order.
func shuffled(chance *rand.Rand, of ...[]*restartedProcess) []*restartedProcess {
	cards := slices.Concat(of...)
	chance.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	return cards
}

func repeated(p *restartedProcess, n int) []*restartedProcess {
	return slices.Repeat([]*restartedProcess{p}, n)
}

// shortPauses pauses for up to half a second before a restart.
func shortPauses(seed uint64) pauseBefore {
	var mu sync.Mutex
	chance := rand.New(rand.NewPCG(seed, 2))
	return func(string) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(chance.Int64N(int64(500 * time.Millisecond)))
	}
}

// occasionallyLongPauses is like shortPauses, but every eighth pause of a player is
// longer than the retries of its referee: the player loses the match.
func occasionallyLongPauses(seed uint64) pauseBefore {
	short := shortPauses(seed)
	var deaths atomic.Int64
	return func(name string) time.Duration {
		if strings.HasPrefix(name, "P") && deaths.Add(1)%8 == 0 {
			return 6 * time.Second
		}
		return short(name)
	}
}

func TestLeagueWithKilledProcessesIsComplete(t *testing.T) {
	longTest(t)
	t.Parallel()
	seed := crashSeed(t)
	ports := freePorts(t, 2*leagueSize)
	// With a seed, a killed referee resumes its match in the same attempt, because it
	// draws the same number; without a seed it needs another attempt.
	tests := []struct {
		name  string
		ports []string
		seed  uint64
		flags []string
	}{
		{"seeded", ports[:leagueSize], seed, []string{"--seed", strconv.FormatUint(seed, 10)}},
		{"unseeded", ports[leagueSize:], seed + 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			playWithKills(t, tt.ports, tt.seed, tt.flags...)
		})
	}
}

func TestSwissAndKnockoutWithKilledProcessesAreComplete(t *testing.T) {
	longTest(t)
	t.Parallel()
	seed := crashSeed(t)
	ports := freePorts(t, 2*leagueSize)
	for i, format := range []string{journal.FormatSwiss, journal.FormatKnockout} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			t.Logf("CRASH_SEED=%d", seed)
			chance := rand.New(rand.NewPCG(seed, uint64(i)))
			managers := []string{"--pace", "1s", "--tournament", format}
			c := startProcessLeague(t, ports[i*leagueSize:(i+1)*leagueSize], occasionallyLongPauses(seed), managers, []string{"--seed", strconv.FormatUint(seed, 10)})
			c.awaitRound(1)
			const rounds = 3 // before the last one of the Swiss league
			others := shuffled(chance, repeated(c.manager, 12), repeated(c.referees[0], 3), repeated(c.referees[1], 3))
			c.killInRounds(chance, shuffled(chance, c.players)[:rounds], others, rounds)
			c.awaitEnd()
			l, technical := c.check()
			t.Logf("%d rounds, %d matches in %d attempts, %d lost technically; the manager was killed %d times",
				l.state.Round, l.state.Recorded, attempts(l.state), technical, len(c.manager.killTimes()))
			assert.GreaterOrEqual(t, len(c.manager.killTimes()), 6)
		})
	}
}

// playWithKills plays a league in which processes are killed fifty times.
func playWithKills(t *testing.T, ports []string, seed uint64, agents ...string) {
	t.Helper()
	t.Logf("CRASH_SEED=%d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	c := startProcessLeague(t, ports, occasionallyLongPauses(seed), []string{"--pace", "1s"}, agents)

	// Kills during the registration do not count.
	everybody := slices.Concat([]*restartedProcess{c.manager}, c.referees, c.players)
	for range 4 {
		waitFor(time.Duration(chance.Int64N(int64(400 * time.Millisecond))))
		everybody[chance.IntN(len(everybody))].kill()
	}
	c.awaitRound(1)
	started := time.Now()
	players := shuffled(chance, c.players, c.players)[:20]
	c.killInRounds(chance, players[:10], shuffled(chance, repeated(c.manager, 16), repeated(c.referees[0], 7), repeated(c.referees[1], 7), players[10:]), 10)
	c.awaitEnd()

	l, technical := c.check()
	count := func(processes ...*restartedProcess) int { return countKills(started, l.ended, processes...) }
	t.Logf("killed: manager %d, referees %d, players %d, of these in a match of remote %d (seed %d); "+
		"%d rounds in %.0f s; %d matches in %d attempts, %d lost technically",
		count(c.manager), count(c.referees...), count(c.players...), c.killsInMatches(&l), seed,
		l.state.Round, l.ended.Sub(started).Seconds(), l.state.Recorded, attempts(l.state), technical)
	assert.GreaterOrEqual(t, count(everybody...), 40)
	assert.GreaterOrEqual(t, count(c.manager), 12)
	assert.GreaterOrEqual(t, count(c.referees...), 10)
	assert.GreaterOrEqual(t, count(c.players...), 12)
}

// killsInMatches counts how often processes were killed in matches: the manager in any
// match, the others in their own.
func (c *processLeague) killsInMatches(l *journalFacts) int {
	fatal := map[time.Time]bool{}
	for matchID, s := range l.played {
		match, a, b, _ := l.state.Find(matchID)
		involved := []*restartedProcess{c.manager}
		for i, p := range c.referees {
			if match.IsAssignedTo(protocol.RefereeID(i + 1)) {
				involved = append(involved, p)
			}
		}
		for i, p := range c.players {
			if id := protocol.PlayerID(i + 1); id == a || id == b {
				involved = append(involved, p)
			}
		}
		for _, p := range involved {
			for _, at := range p.killTimes() {
				if at.After(s.from) && at.Before(s.to) {
					fatal[at] = true
				}
			}
		}
	}
	return len(fatal)
}

// attempts counts the attempts at all matches.
func attempts(s *journal.State) (n int) {
	for m := range s.Matches() {
		n += len(m.Attempts)
	}
	return n
}

// A matchResult is the part of a result that must not depend on killed processes.
type matchResult struct {
	Status, Winner, ChoiceA, ChoiceB string
	Number                           int
}

// results returns the results of all matches.
func (c *processLeague) results(s *journal.State) map[protocol.MatchID]matchResult {
	all := map[protocol.MatchID]matchResult{}
	for m := range s.Matches() {
		r := m.Report
		_, a, b, ok := s.Find(r.MatchID)
		require.True(c.t, ok)
		text := func(p *string) string {
			if p == nil {
				return ""
			}
			return *p
		}
		choiceA, _ := r.Choices.Get(a)
		choiceB, _ := r.Choices.Get(b)
		o := matchResult{Status: r.Status, Winner: text(r.WinnerPlayerID), ChoiceA: text(choiceA), ChoiceB: text(choiceB)}
		if r.DrawnNumber != nil {
			o.Number = *r.DrawnNumber
		}
		all[r.MatchID] = o
	}
	return all
}

func TestLeagueWithAKilledManagerHasTheSameResults(t *testing.T) {
	longTest(t)
	t.Parallel()
	seed := crashSeed(t)
	t.Logf("CRASH_SEED=%d", seed)
	agents := []string{"--seed", strconv.FormatUint(seed, 10)}
	quiet := startProcessLeague(t, freePorts(t, leagueSize), shortPauses(seed), nil, agents)
	quiet.awaitEnd()
	want, technical := quiet.check()
	require.Zero(t, technical)

	chance := rand.New(rand.NewPCG(seed, 1))
	c := startProcessLeague(t, freePorts(t, leagueSize), shortPauses(seed), []string{"--pace", "500ms"}, agents)
	c.awaitRound(1)
	started := time.Now()
	c.killInRounds(chance, nil, repeated(c.manager, 20), 11)
	c.awaitRound(afterLast)
	for range 3 { // while it tells the agents that the league is over
		waitFor(time.Duration(chance.Int64N(int64(10 * time.Millisecond))))
		c.manager.kill()
	}
	c.awaitEnd()
	got, _ := c.check()
	n := countKills(started, got.ended, c.manager)
	t.Logf("killed: the manager %d times while the league ran, %d times in a match, and %d times afterwards (seed %d); %d matches in %d attempts",
		n, c.killsInMatches(&got), len(c.manager.killTimes())-n, seed, got.state.Recorded, attempts(got.state))
	assert.GreaterOrEqual(t, n, 15)
	assert.Equal(t, quiet.results(want.state), c.results(got.state))
	assert.Equal(t, want.state.Standings(), got.state.Standings())
}
