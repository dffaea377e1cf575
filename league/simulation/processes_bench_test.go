package simulation

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// agentVariable is the environment variable of a process of BenchmarkSignedProcesses: whether the league signs, the
// role, its number, and the address of the manager. It makes the benchmark run this agent.
const agentVariable = "EVENODD_TEST_BENCHMARK_AGENT"

const (
	processPlayers  = 4
	processReferees = 2
	processLegs     = 100
)

// BenchmarkSignedProcesses is BenchmarkSignedHTTP with a process for each agent: nothing that one of them has verified
// saves work of another.
func BenchmarkSignedProcesses(b *testing.B) {
	asSimulate(b)
	if agent := os.Getenv(agentVariable); agent != "" {
		runAgent(b, agent)
		return
	}
	const matches = processLegs * processPlayers * (processPlayers - 1) / 2
	var unsigned, unsignedCPU float64
	for _, sign := range []bool{false, true} {
		b.Run(map[bool]string{false: "floor", true: "signed"}[sign], func(b *testing.B) {
			var took, cpu float64
			for range b.N {
				t, c := processLeague(b, sign)
				took, cpu = took+t, cpu+c
			}
			took, cpu = took/float64(b.N*matches), cpu/float64(b.N*matches)
			b.ReportMetric(0, "ns/op") // omits it
			b.ReportMetric(took, "ns/match")
			b.ReportMetric(cpu, "cpu-ns/match")
			if !sign {
				unsigned, unsignedCPU = took, cpu
			} else if unsigned > 0 && unsignedCPU > 0 {
				b.ReportMetric(took/unsigned, "x-floor")
				b.ReportMetric(cpu/unsignedCPU, "x-floor-cpu")
			}
		})
	}
}

// processLeague plays a league in processes. It returns its time, without the start of the processes, and the
// processor time of all processes meanwhile, in nanoseconds.
func processLeague(b *testing.B, sign bool) (took, cpu float64) {
	manager := startAgent(b, "%v manager 0 none", sign)
	address := manager.says(b)
	agents := []*agentProcess{manager}
	for n := range processReferees {
		agents = append(agents, startAgent(b, "%v referee %d %s", sign, n+1, address))
		agents[len(agents)-1].says(b)
	}
	for n := range processPlayers {
		agents = append(agents, startAgent(b, "%v player %d %s", sign, n+1, address))
		agents[len(agents)-1].says(b)
	}
	for _, a := range agents {
		_, err := fmt.Fprintln(a.in, "begin")
		require.NoError(b, err)
	}
	_, err := fmt.Sscan(manager.says(b), &took)
	require.NoError(b, err)
	for _, a := range agents {
		var used float64
		require.NoError(b, a.in.Close())
		_, err := fmt.Sscan(a.says(b), &used)
		require.NoError(b, err)
		cpu += used
		_, _ = io.Copy(io.Discard, a.out) // what the testing package prints
		require.NoError(b, a.Wait())
	}
	return took, cpu
}

// An agentProcess is a process that runs an agent.
type agentProcess struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startAgent(b *testing.B, format string, agent ...any) *agentProcess {
	a := &agentProcess{Cmd: exec.CommandContext(b.Context(), os.Args[0], "-test.run=^$",
		"-test.bench=^BenchmarkSignedProcesses$", "-test.benchtime=1x")}
	a.Env, a.Stderr = append(os.Environ(), agentVariable+"="+fmt.Sprintf(format, agent...)), os.Stderr
	var err error
	a.in, err = a.StdinPipe()
	require.NoError(b, err)
	out, err := a.StdoutPipe()
	require.NoError(b, err)
	a.out = bufio.NewReader(out)
	require.NoError(b, a.Start())
	return a
}

// said precedes what an agent tells the benchmark, among the lines of the testing package.
const said = "agent says "

// says returns what the agent says next.
func (a *agentProcess) says(b *testing.B) string {
	for {
		line, err := a.out.ReadString('\n')
		require.NoError(b, err, "the agent has ended")
		if _, text, found := strings.Cut(line, said); found {
			return strings.TrimSpace(text)
		}
	}
}

// runAgent runs an agent until the end of the standard input. It says the address of a manager when it is there, then
// the time of the league, and at the end the processor time since the line that began it.
func runAgent(b *testing.B, agent string) {
	var sign bool
	var role, address string
	var number int
	_, err := fmt.Sscan(agent, &sign, &role, &number, &address)
	require.NoError(b, err)
	say := func(text any) { fmt.Printf("%s%v\n", said, text) }
	o := benchmarkLeague(processPlayers, HTTP)
	o.Legs, o.Sign, o.Concurrency, o.Strategies = processLegs, sign, 16, []string{"random"}
	s := &runningLeague{options: &o, clock: protocol.SystemClock(), net: newNetwork(HTTP), roster: newRoster(nil),
		stuck: func(reason string) { b.Error(reason) }, anew: true}
	defer s.net.close()
	defer s.close()
	require.NoError(b, s.startManager(b.Context())) // idle in other processes, where keys ask it for annulled results
	switch role {
	case "manager":
		address = s.address
	case "referee":
		s.address = address
		require.NoError(b, s.startReferee(b.Context(), number))
	case "player":
		s.address = address
		require.NoError(b, s.startPlayer(b.Context(), number))
	}
	say(address)
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	begun, processor := time.Now(), processorTime()
	if role == "manager" {
		_, err := s.manager.Run(b.Context())
		require.NoError(b, err)
		say(time.Since(begun).Nanoseconds())
	}
	input.Scan() // fails at the end
	say(processorTime() - processor)
}
