package manager_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

// The sequences are leagues in which an organiser sends random commands at random moments,
// and the manager dies at random events. Each is audited after its end.
//
//	go test ./league/manager -run TestOrganiserSequences -sequence 7      one league again
//	go test ./league/manager -run TestOrganiserSequences -sequences 1000  that many
var (
	oneSequence  = flag.Uint64("sequence", 0, "play the league of this seed alone")
	sequenceSize = flag.Int("sequences", 0, "how many leagues to play")
)

func TestOrganiserSequences(t *testing.T) {
	first, count := uint64(1), *sequenceSize
	switch {
	case *oneSequence > 0:
		first, count = *oneSequence, 1
	case count == 0 && leaguetest.All():
		count = 1000
	case count == 0:
		count = 20
	}
	const lanes = 4
	for lane := range min(lanes, count) {
		t.Run(fmt.Sprintf("lane %d", lane+1), func(t *testing.T) {
			t.Parallel()
			for n := lane; n < count && !t.Failed(); n += lanes {
				playSequence(t, first+uint64(n))
			}
		})
	}
}

// playSequence plays the league of a seed.
func playSequence(t *testing.T, seed uint64) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil { // synctest reports a deadlock
			t.Errorf("panic: %v", v)
		}
		if t.Failed() {
			t.Errorf("go test ./league/manager -run TestOrganiserSequences -sequence %d", seed)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := leaguetest.NewWorld(t, leaguetest.Memory, zerolog.Nop())
		newSequence(w, rand.New(rand.NewPCG(seed, 0xdec1de))).play()
		synctest.Wait()
		w.Close()
	})
}

// The sequences by which defects were found.
func TestOrganiserSequencesThatFailed(t *testing.T) {
	match, about, winner := leaguetest.OfMatch, leaguetest.About, leaguetest.Winner
	because := func(reason string) leaguetest.Command {
		return func(q *protocol.OrganiseRequest) { q.Reason = reason }
	}
	late := func(pause time.Duration) leaguetest.Option {
		return leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Delayed(pause, leaguetest.Normally))
	}
	delivered := func(l *sequence) bool { return len(l.w.Calls(protocol.NotifyMatchResult.Name)) == 12 }
	for _, test := range []struct {
		name       string
		tournament *journal.Tournament
		traits     []leaguetest.Option // of the players
		steps      []organiserStep
		holds      func(l *sequence) bool // after the end; nil for nothing
	}{
		{"rulings that leave no match for the next round of a knockout", &journal.Tournament{Algorithm: pairing.Knockout}, nil, []organiserStep{
			step(1, protocol.CommandRule, match("R1M1"), winner(protocol.WinnerNone)), step(1, protocol.CommandRule, match("R1M2"), winner(protocol.WinnerNone)),
		}, func(l *sequence) bool { return l.run.Final.TotalRounds == 1 }},
		{"a forfeited match is ruled after a readmission", nil, nil, []organiserStep{
			step(0, protocol.CommandSuspend, about("P01")), step(1, protocol.CommandReadmit, about("P01")), step(1, protocol.CommandRule, match("R1M1"), winner("P01")),
		}, nil},
		{"two rulings for the same winner with other reasons", nil, nil, []organiserStep{
			step(1, protocol.CommandRule, match("R1M1"), winner("P01"), because("first")),
			step(2, protocol.CommandRule, match("R1M1"), winner("P02")), step(2, protocol.CommandRule, match("R1M1"), winner("P01"), because("second")),
		}, nil},
		{"no winner of a match that both players forfeited", nil, nil, []organiserStep{
			step(0, protocol.CommandSuspend, about("P01")), step(0, protocol.CommandSuspend, about("P02")), step(2, protocol.CommandReadmit, about("P01")),
			step(2, protocol.CommandRule, match("R1M1"), winner(protocol.WinnerNone)),
		}, nil},
		{"GAME_OVER comes after the report and the next announcement", nil, leaguetest.Options(late(12 * leaguetest.Second)), nil, delivered},
		{"GAME_OVER comes after the report and two announcements", nil, leaguetest.Options(late(22*leaguetest.Second),
			leaguetest.On(protocol.UpdateStandings.Name, leaguetest.RefuseWith(protocol.ErrInvalidFieldType))), nil, delivered}, // which tell the results as well
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			l := &sequence{w: w, folder: leaguetest.TempFolder(t), files: leaguetest.TempFolder(t)}
			l.run = w.StartManagerIn(l.folder, 4, 2, withPause, func(o *manager.Options) { o.Tournament = test.tournament })
			organised := w.InBackground(func() { organise(w, l.folder, test.steps) })
			w.RefereeWithFiles("REF01", l.files)
			w.RefereeWithFiles("REF02", l.files)
			playersIn(w, l.files, 4, test.traits...)
			<-organised
			l.run.Finish()
			assert.True(t, test.holds == nil || test.holds(l))
			l.audit()
		})
	}
}

// The player of a match is suspended, and the referee that has accepted the match says that it is
// busy. No other referee gets the match.
func TestSuspendedPlayerOfAMatchThatABusyRefereeHasAccepted(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		l := &sequence{w: w, folder: leaguetest.TempFolder(t), files: leaguetest.TempFolder(t)}
		l.run = w.StartManagerIn(l.folder, 2, 2)
		busy := leaguetest.AnswerWithStatus(protocol.StatusBusy)
		w.RefereeWithFiles("REF01", l.files, leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(w.AcceptMatch, busy, leaguetest.Normally)))
		w.RefereeWithFiles("REF02", l.files)
		playersIn(w, l.files, 2)
		w.WaitUntil(leaguetest.Second)
		w.Organise(protocol.CommandSuspend, leaguetest.About("P01"))
		l.run.Kill()
		l.run = w.StartManagerIn(l.folder, 2, 2)
		l.run.Finish()
		assert.Equal(t, "REF01", leaguetest.Results(l.run.Manager)[0].RefereeID)
		assert.Empty(t, w.Calls(protocol.StartMatch.Name, "ref02"))
		l.audit()
	})
}

// A player answers its second question too late, so that its first move is the last one that
// counts. It learns that after the next round has begun.
func TestGameOverOfALostGameComesAfterTheNextAnnouncement(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		l := &sequence{w: w, folder: leaguetest.TempFolder(t), files: leaguetest.TempFolder(t)}
		l.run = w.StartManagerIn(l.folder, 2, 1, withPause, signed, func(o *manager.Options) { o.Legs = 2 })
		w.RefereeWithFiles("REF01", l.files)
		slow := leaguetest.Delayed(31*leaguetest.Second, leaguetest.Normally)
		w.PlayerIn("P01", l.files, leaguetest.On(protocol.MakeMove.Name, leaguetest.InTurn(leaguetest.Normally, slow, slow, slow, slow, leaguetest.Normally)),
			leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Delayed(12*leaguetest.Second, leaguetest.Normally)))
		w.PlayerIn("P02", l.files)
		l.run.Finish()
		assert.Equal(t, "P02", leaguetest.Results(l.run.Manager)[0].Winner())
		l.audit()
	})
}

// A sequence is a league with an organiser.
type sequence struct {
	*rand.Rand
	commands      *rand.Rand // of the organiser, which has a goroutine of its own
	w             *leaguetest.World
	folder, files store.Folder // of the manager, and of the agents
	change        []func(*manager.Options)
	players       int
	referees      int
	crashes       []leaguetest.CrashPoint
	registered    atomic.Bool // all agents are
	run           *leaguetest.ManagerRun
	done          []*protocol.Organised // the decisions that the manager has confirmed
}

// newSequence draws a league.
func newSequence(w *leaguetest.World, r *rand.Rand) *sequence {
	l := &sequence{
		Rand: r, commands: rand.New(rand.NewPCG(r.Uint64(), 0)), w: w,
		folder: leaguetest.TempFolder(w.T), files: leaguetest.TempFolder(w.T),
		players: 2 + r.IntN(5), referees: 1 + r.IntN(3),
	}
	if r.IntN(4) == 0 {
		w.Game = tictactoe.Game{}
	}
	var tournament *journal.Tournament
	switch r.IntN(6) {
	case 0:
		tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	case 2:
		tournament = &journal.Tournament{Algorithm: pairing.DoubleElimination}
	case 3:
		tournament = &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 1 + r.IntN(l.players)}
	case 1:
		tournament = &journal.Tournament{Algorithm: pairing.Swiss, Rounds: r.IntN(1 + pairing.MaxSwissRounds(l.players))}
	}
	legs, sign, suspend, shutdown, every := 1+r.IntN(2), r.IntN(2) == 0, 1+r.IntN(2), 2+r.IntN(2), r.IntN(4) == 0
	l.change = append(l.change, withPause, func(o *manager.Options) {
		o.Tournament, o.SuspendAfter, o.ShutdownAfter = tournament, suspend, shutdown
		o.Signatures = map[bool]string{true: journal.SignaturesOptional}[sign]
		o.Broadcast = map[bool]string{true: journal.BroadcastMatch}[every]
		if o.Legs = legs; !tournament.IsFixed() {
			o.Legs = 1
		}
	})
	for range r.IntN(3) {
		l.crashes = append(l.crashes, leaguetest.CrashPoint{Event: 1 + r.IntN(100), When: leaguetest.Moment(r.IntN(3))})
	}
	return l
}

// play plays the league to its end, and audits it.
func (l *sequence) play() {
	w := l.w
	w.T.Helper()
	l.run = w.StartMortalManager(l.nextCrash(), l.folder, l.players, l.referees, l.change...)
	organised := w.InBackground(l.organise)
	succession := w.InBackground(func() { l.succeed(organised) })
	for n := range l.referees {
		var traits []leaguetest.Option
		if l.IntN(4) == 0 {
			busy := leaguetest.AnswerWithStatus(protocol.StatusBusy)
			traits = append(traits, leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.Normally, busy, leaguetest.Normally)))
		}
		w.RefereeWithFiles(league.RefereeID(n+1), l.files, append(traits, leaguetest.WithCapacity(1+l.IntN(2)))...)
	}
	for n := range l.players {
		traits, killed := l.playerTraits(), time.Duration(l.IntN(90))*leaguetest.Second
		if l.IntN(4) > 0 {
			w.PlayerIn(league.PlayerID(n+1), l.files, traits...)
			continue
		}
		a := w.PlayerIn(league.PlayerID(n+1), l.files) // no handler may run longer than its process
		w.InBackground(func() {
			time.Sleep(killed)
			a.Stop()
			_ = w.NewPlayerIn(a.ID, l.files, nil, traits...).Player.Register(w.Context) // the league may be over
		})
	}
	l.registered.Store(true)
	<-organised
	<-succession
	l.run.Finish()
	l.audit()
}

// playerTraits draws how a player answers.
func (l *sequence) playerTraits() []leaguetest.Option {
	traits := leaguetest.Options(leaguetest.WithDelays(0, time.Duration(l.IntN(4))*leaguetest.Second, 0))
	if l.IntN(4) == 0 { // it misses some matches
		silent := leaguetest.FirstN(l.IntN(20), leaguetest.Silent, leaguetest.Normally)
		traits = append(traits, leaguetest.On(protocol.ChooseParity.Name, silent), leaguetest.On(protocol.MakeMove.Name, silent))
	}
	if l.IntN(4) == 0 { // GAME_OVER comes after the report, and after announcements
		late := leaguetest.Delayed(time.Duration([]int{4, 8, 15, 60}[l.IntN(4)])*leaguetest.Second, leaguetest.Normally)
		traits = append(traits, leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.InTurn(leaguetest.Normally, late)))
	}
	if l.IntN(4) == 0 {
		traits = append(traits, leaguetest.On(protocol.Ping.Name, leaguetest.InTurn(leaguetest.Normally, leaguetest.Silent, leaguetest.Normally)))
	}
	return traits
}

func (l *sequence) nextCrash() (next leaguetest.CrashPoint) {
	if len(l.crashes) > 0 {
		next, l.crashes = l.crashes[0], l.crashes[1:]
	}
	return next
}

// succeed starts another manager after each crash. It returns when the organiser has done all
// that it wants and the league is over.
func (l *sequence) succeed(organised <-chan struct{}) {
	for {
		select {
		case <-l.run.Died:
		case <-l.run.Done:
			if !l.run.Dead.Load() {
				if !assert.NoError(l.w.T, l.run.Err) {
					l.w.T.Logf("%s", l.text())
					l.w.Cancel()
				}
				return
			}
		}
		l.run.RestoreDisk()
		time.Sleep(leaguetest.Second)
		l.run = l.w.StartMortalManager(l.nextCrash(), l.folder, l.players, l.referees, l.change...)
	}
}

// organise sends random commands. Then it has the league go on to its end.
func (l *sequence) organise() {
	for range l.commands.IntN(40) {
		time.Sleep(time.Duration(l.commands.IntN(4000)) * time.Millisecond)
		l.command()
	}
	const patience = 12 * time.Hour
	for begin := time.Now(); ; time.Sleep(10 * leaguetest.Second) {
		select {
		case <-l.w.Context.Done():
			return
		default:
		}
		if !assert.Less(l.w.T, time.Since(begin), patience, "the league does not end") {
			return
		}
		_, err := l.w.TryToOrganise(protocol.CommandResume)
		if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrLeagueComplete || l.has("completed") {
			return
		}
		if l.registered.Load() && !l.has("started") {
			for n := range l.referees {
				_, _ = l.w.TryToOrganise(protocol.CommandReadmit, leaguetest.About(league.RefereeID(n+1)))
			}
			_, _ = l.w.TryToOrganise(protocol.CommandStart)
		}
	}
}

// text is the journal; empty while a crashed disk is restored.
func (l *sequence) text() []byte {
	text, _ := os.ReadFile(l.folder.Journal(leaguetest.LeagueID))
	return text
}

// has tells whether the journal has an event of a type.
func (l *sequence) has(kind string) bool {
	return bytes.Contains(l.text(), []byte(`"type":"`+kind+`"`))
}

// command sends a random command, which may be refused.
func (l *sequence) command() {
	r := l.commands
	commands := []string{
		protocol.CommandPause, protocol.CommandResume, protocol.CommandResume, protocol.CommandSuspend, protocol.CommandReadmit, protocol.CommandWithdraw,
		protocol.CommandRematch, protocol.CommandRematch, protocol.CommandRule, protocol.CommandRule, protocol.CommandStart,
	}
	command := commands[r.IntN(len(commands))]
	if command == protocol.CommandStart && !l.registered.Load() {
		return // the other agents would be too late
	}
	rounds := bytes.Count(l.text(), []byte(`"type":"round_announced"`))
	agent := league.PlayerID(1 + r.IntN(l.players))
	if r.IntN(3) == 0 {
		agent = league.RefereeID(1 + r.IntN(l.referees))
	}
	if rounds == 0 && command == protocol.CommandWithdraw {
		agent = league.PlayerID(l.players) // of those that remain, a league can start
		if l.players == 2 {
			return
		}
	}
	match := fmt.Sprintf("R%dM%d", max(rounds-r.IntN(2), 1), 1+r.IntN(max(l.players/2, 1)))
	winner := []string{league.PlayerID(1 + r.IntN(l.players)), league.PlayerID(1 + r.IntN(l.players)), protocol.WinnerDraw, protocol.WinnerNone, protocol.WinnerNone}[r.IntN(5)]
	reason := []string{"first", "second", "third"}[r.IntN(3)]
	l.send(command, func(q *protocol.OrganiseRequest) {
		q.AgentID, q.MatchID, q.Winner, q.Reason = agent, match, winner, reason
	})
}

// send sends a command. A refusal is one of the protocol.
func (l *sequence) send(command string, change ...leaguetest.Command) {
	done, err := l.w.TryToOrganise(command, change...)
	if err == nil {
		l.done = append(l.done, done)
		return
	}
	if e := protocol.AsError(err); e != nil && e.Remote {
		assert.NotEmpty(l.w.T, e.Code, "%s: %v", command, err)
	}
}

// audit audits the finished league. Each decision of the organiser is noted.
func (l *sequence) audit() {
	t := l.w.T
	t.Helper()
	require.NoError(t, l.run.CloseFiles())
	l.w.CheckFiles(l.folder)
	report, err := audit.Run(l.folder, audit.Options{Games: rules.NewRegistry(l.w.Game), Histories: l.files.Path})
	require.NoError(t, err)
	audited := report.Leagues[0]
	assert.Empty(t, audited.Findings)
	noted := map[int]string{}
	for _, n := range audited.Notes {
		if n.Rule == audit.RuleDecision {
			noted[n.Line] = n.Detail
		}
	}
	number := 0
	for line := range bytes.Lines(leaguetest.ReadJournal(l.w, l.folder)) {
		number++
		e, err := journal.Decode(bytes.TrimSpace(line))
		require.NoError(t, err)
		if d, decided := e.Data.(*journal.Decided); decided {
			assert.Equal(t, d.About(), noted[number], "line %d", number)
		}
	}
	var names []string // confirmations have them beside the ids
	for n := range 100 {
		for _, id := range []string{league.PlayerID(n), league.RefereeID(n)} {
			names = append(names, id+" Agent "+id, id)
		}
	}
	withoutNames := strings.NewReplacer(names...)
	for _, d := range l.done {
		if d.Command != protocol.CommandStart {
			assert.True(t, strings.HasPrefix(withoutNames.Replace(d.About), noted[d.Event]+"."), "event %d, which the manager confirmed: %s", d.Event, d.About)
		}
	}
	if t.Failed() && *oneSequence > 0 {
		t.Logf("%s", leaguetest.ReadJournal(l.w, l.folder))
	}
}
