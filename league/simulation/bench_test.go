package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
)

// Each benchmark measures its floor in the same run: the same work without this program.
// x-floor is the ratio. docs/performance.md describes the method.

// asSimulate applies the garbage collector settings of the simulate command.
func asSimulate(b *testing.B) {
	before := debug.SetGCPercent(800)
	b.Cleanup(func() { debug.SetGCPercent(before) })
}

func benchmarkGames() rules.Registry { return rules.NewRegistry(evenodd.Game{}) }

// benchmarkLeague returns the options of a league, which plays up to 16 matches at once.
func benchmarkLeague(players int, carrier string) Options {
	return Options{
		Seed: 7, Transport: carrier, Rules: Rules{
			Created: journal.Created{LeagueID: benchLeague, GameType: evenodd.Type,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: players, Referees: 2}}},
			Games: benchmarkGames(), Log: zerolog.Nop(),
		},
	}
}

// perMatch runs work, which plays a number of matches for each of the b.N operations, and
// reports the cost of a match. floor is the time of a match on the floor in nanoseconds;
// 0 if it was not measured. It returns the time of a match in nanoseconds.
func perMatch(b *testing.B, matches, floor float64, work func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	processor := processorTime()
	b.ResetTimer()
	work()
	b.StopTimer()
	processor = processorTime() - processor
	runtime.ReadMemStats(&after)
	matches *= float64(b.N)
	ns := float64(b.Elapsed().Nanoseconds()) / matches
	b.ReportMetric(0, "ns/op") // omits it
	b.ReportMetric(ns, "ns/match")
	if processor > 0 { // unlike ns/match it hardly depends on the load of the machine
		b.ReportMetric(processor/matches, "cpu-ns/match")
	}
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/matches, "B/match")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/matches, "allocs/match")
	if floor > 0 {
		b.ReportMetric(ns/floor, "x-floor")
	}
	return ns
}

// processorTime returns the processor time of this process in nanoseconds; 0 where the
// operating system does not tell. It counts in steps of 10 ms.
func processorTime() float64 {
	stat, _ := os.ReadFile("/proc/self/stat") // exists on Linux
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) * 1e7
}

// share runs workers until next has returned true b.N times in all.
func share(b *testing.B, workers int, worker func(number int, next func() bool)) {
	var begun atomic.Int64
	next := func() bool { return begun.Add(1) <= int64(b.N) }
	var running sync.WaitGroup
	for i := range workers {
		running.Go(func() { worker(i, next) })
	}
	running.Wait()
}

// playLeagues plays b.N leagues, two at once for each core: players wait for each other at
// the end of a round, and one small league cannot occupy all cores.
func playLeagues(b *testing.B, o Options) {
	share(b, 2*runtime.GOMAXPROCS(0), func(_ int, next func() bool) {
		for next() {
			if _, err := Run(b.Context(), o); err != nil {
				b.Error(err)
			}
		}
	})
}

// roundTrips makes b.N times 8 round trips between two goroutines over plain channels, with
// as many pairs of goroutines as playLeagues has matches at once.
func roundTrips(b *testing.B) {
	share(b, 2*16*runtime.GOMAXPROCS(0), func(_ int, next func() bool) {
		requests, responses := make(chan *int), make(chan *int)
		go func() {
			for r := range requests {
				responses <- r
			}
		}()
		defer close(requests)
		message := new(int)
		for next() {
			for range 8 {
				requests <- message
				<-responses
			}
		}
	})
}

// BenchmarkMemory plays whole leagues in memory, with registration, all calls and all
// broadcasts. The floor of a match is 8 round trips over plain channels.
func BenchmarkMemory(b *testing.B) {
	asSimulate(b)
	var floor float64
	b.Run("floor", func(b *testing.B) {
		floor = perMatch(b, 1, 0, func() { roundTrips(b) })
	})
	for _, players := range []int{10, 64, 1000} {
		b.Run(fmt.Sprintf("players=%d", players), func(b *testing.B) {
			matches := float64(players * (players - 1) / 2)
			perMatch(b, matches, floor, func() { playLeagues(b, benchmarkLeague(players, Memory)) })
			if peak := peakMemory(); peak > 0 && players == 1000 {
				b.ReportMetric(peak, "MB-peak")
			}
		})
	}
}

// peakMemory returns the largest resident set of this process in megabytes; 0 where the
// operating system does not tell.
func peakMemory() float64 {
	status, _ := os.ReadFile("/proc/self/status") // exists on Linux
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes float64
	_, _ = fmt.Sscan(rest, &kilobytes)
	return kilobytes * 1024 / 1e6
}

// A bench is a referee and pairs of players on one network, without a league. A match
// has 8 calls, from assignment to report.
type bench struct {
	net     network
	pairs   []*pair
	referee protocol.Peer
	rest    func(context.Context) // waits until the manager has the referee's reports
	pace    atomic.Int64
	stops   []func()
}

type pair struct {
	number  int
	players [2]protocol.AssignedPlayer
	keys    [2]*protocol.TokenKey
	done    chan struct{}
}

const benchLeague = "benchmark"

func newBench(b *testing.B, n network, pairs int) *bench {
	w := &bench{net: n}
	b.Cleanup(func() {
		for _, stop := range w.stops {
			stop()
		}
		n.close()
	})
	clock := protocol.SystemClock()
	stamp := protocol.NewStamp(protocol.ManagerSender, clock)
	manager := w.serve(b, "manager", func(_ string, mux protocol.Mux) {
		accepted := func() protocol.Registration {
			return protocol.Registration{Status: protocol.StatusAccepted, LeagueID: benchLeague, ManagerAuth: protocol.ManagerAuthBearer}
		}
		protocol.RegisterPlayer.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
			id := protocol.AgentOf(q.Sender)
			r := &protocol.LeagueRegisterResponse{PlayerID: &id, Registration: accepted()}
			r.AuthToken = "tok-" + id
			return r, nil
		})
		protocol.RegisterReferee.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
			id := protocol.AgentOf(q.Sender)
			r := &protocol.RefereeRegisterResponse{RefereeID: &id, Registration: accepted()}
			r.AuthToken = "tok-" + id
			return r, nil
		})
		protocol.ReportMatchResult.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.MatchResultReport) (*protocol.Ack, error) {
			id, _ := league.ParseMatchID(q.MatchID)
			w.pairs[id.Number-1].done <- struct{}{}
			return &protocol.Ack{Status: protocol.StatusAccepted, MatchID: q.MatchID, RoundID: q.RoundID}, nil
		})
	})
	var r *referee.Referee
	endpoint := w.serve(b, "REF01", func(endpoint string, mux protocol.Mux) {
		var err error
		r, err = referee.New(referee.Options{
			Options: w.member("REF01", endpoint, manager, clock), MaxConcurrent: 1000, Games: benchmarkGames(),
		})
		require.NoError(b, err)
		r.Mount(mux)
		w.stops = append(w.stops, r.Close)
	})
	w.rest = r.Rest
	require.NoError(b, r.Register(b.Context()))
	w.referee = protocol.Peer{Endpoint: endpoint, Bearer: protocol.KeyOf("tok-REF01").ManagerCredential(benchLeague)}
	for i := range pairs {
		p := &pair{number: i + 1, done: make(chan struct{}, 1)}
		for side := range p.players {
			p.players[side], p.keys[side] = w.player(b, league.PlayerID(2*i+side+1), manager, clock)
		}
		w.pairs = append(w.pairs, p)
	}
	return w
}

func (w *bench) serve(b *testing.B, name string, mount func(endpoint string, mux protocol.Mux)) (endpoint string) {
	endpoint, serve, err := w.net.reserve(b.Context(), name)
	require.NoError(b, err)
	mux := transport.NewMux(zerolog.Nop())
	mount(endpoint, mux)
	w.stops = append(w.stops, serve(mux))
	return endpoint
}

func (w *bench) member(id, endpoint, manager string, clock *protocol.Clock) membership.Options {
	return membership.Options{
		Name: id, ID: id, Endpoint: endpoint, Manager: manager, Caller: w.net, Clock: clock, Log: zerolog.Nop(),
	}
}

func (w *bench) player(b *testing.B, id, manager string, clock *protocol.Clock) (protocol.AssignedPlayer, *protocol.TokenKey) {
	decide, err := strategy.New("random")
	require.NoError(b, err)
	var p *player.Player
	endpoint := w.serve(b, id, func(endpoint string, mux protocol.Mux) {
		p, err = player.New(player.Options{
			Options: w.member(id, endpoint, manager, clock), Games: []string{evenodd.Type}, Strategy: decide,
			Random:  func(playerID, decision string) *rand.Rand { return Random(7, playerID, decision) },
			Entropy: func(matchID string, _ int) protocol.Secret { return Entropy(7, matchID, id) },
		})
		require.NoError(b, err)
		p.Mount(mux)
	})
	require.NoError(b, p.Register(b.Context()))
	points := 0
	return protocol.AssignedPlayer{
		PlayerID: id, Endpoint: endpoint, DisplayName: id, Standings: protocol.Record{Points: &points},
	}, protocol.KeyOf("tok-" + id)
}

// match plays one match of a pair.
func (w *bench) match(b *testing.B, stamp *protocol.Stamp, p *pair) {
	round := int(w.pace.Add(1))
	id := league.MatchID{Round: round, Number: p.number}.String()
	a, c := p.players[0], p.players[1]
	a.AccessToken = p.keys[0].AccessToken(benchLeague, id, 1, "REF01")
	c.AccessToken = p.keys[1].AccessToken(benchLeague, id, 1, "REF01")
	ack, err := protocol.StartMatch.Call(b.Context(), w.net, w.referee, &protocol.MatchAssignment{
		Envelope: stamp.Envelope(protocol.TypeMatchAssignment, protocol.MatchConversation(id, 1)),
		LeagueID: benchLeague, RoundID: round, MatchID: id, Attempt: 1, GameType: evenodd.Type, PlayerA: a, PlayerB: c,
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(),
		Scoring: league.MatchPoints{Win: 3, Draw: 1},
	})
	if err != nil || ack.Status != protocol.StatusAccepted {
		b.Errorf("start_match: %v %+v", err, ack)
		return
	}
	<-p.done
}

// matches plays b.N matches, one for each pair at once.
func (w *bench) matches(b *testing.B) {
	stamp := protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock())
	share(b, len(w.pairs), func(number int, next func() bool) {
		for next() {
			w.match(b, stamp, w.pairs[number])
		}
	})
}

// An exchange is one call of a match: the request and its response.
type exchange struct {
	method         string
	params, result any
}

// A recorder records the calls of a match.
type recorder struct {
	network
	mu        sync.Mutex
	exchanges []exchange
}

func (r *recorder) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	result, timing, err := r.network.Call(ctx, q)
	r.mu.Lock()
	r.exchanges = append(r.exchanges, exchange{q.Method, single(q.Params), result})
	r.mu.Unlock()
	return result, timing, err
}

// recordMatch returns the 8 calls of a match.
func recordMatch(b *testing.B) []exchange {
	r := &recorder{network: newNetwork(Memory)}
	w := newBench(b, r, 1)
	r.exchanges = nil
	w.match(b, protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock()), w.pairs[0])
	w.rest(b.Context())
	require.Len(b, r.exchanges, 8)
	return r.exchanges
}

// BenchmarkWire plays whole leagues with encoded messages. The floor is encoding and
// decoding all JSON-RPC messages of such a league with the JSON library alone.
func BenchmarkWire(b *testing.B) {
	asSimulate(b)
	const players, matches = 10, 45
	r := &recorder{network: newNetwork(Memory)}
	_, err := runOn(b.Context(), benchmarkLeague(players, Memory), r)
	require.NoError(b, err)
	var floor float64
	b.Run("floor", func(b *testing.B) {
		floor = perMatch(b, matches, 0, func() {
			share(b, runtime.GOMAXPROCS(0), func(_ int, next func() bool) {
				for next() {
					for i := range r.exchanges {
						codec(b, &r.exchanges[i])
					}
				}
			})
		})
	})
	b.Run(fmt.Sprintf("players=%d", players), func(b *testing.B) {
		perMatch(b, matches, floor, func() { playLeagues(b, benchmarkLeague(players, Wire)) })
	})
}

// codec encodes and decodes one exchange with the library alone.
func codec(b *testing.B, e *exchange) {
	switch q := e.params.(type) {
	case *protocol.ToolRequest:
		roundTrip(b, e, q, e.result.(*protocol.Pong))
	case *protocol.LeagueRegisterRequest:
		roundTrip(b, e, q, e.result.(*protocol.LeagueRegisterResponse))
	case *protocol.RefereeRegisterRequest:
		roundTrip(b, e, q, e.result.(*protocol.RefereeRegisterResponse))
	case *protocol.MatchAssignment:
		roundTrip(b, e, q, e.result.(*protocol.MatchAssignmentAck))
	case *protocol.GameInvitation:
		roundTrip(b, e, q, e.result.(*protocol.GameJoinAck))
	case *protocol.ChooseParityCall:
		roundTrip(b, e, q, e.result.(*protocol.ChooseParityResponse))
	case *protocol.GameOver:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	case *protocol.MatchResultReport:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	case *protocol.RoundAnnouncement:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	case *protocol.StandingsUpdate:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	case *protocol.RoundCompleted:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	case *protocol.LeagueCompleted:
		roundTrip(b, e, q, e.result.(*protocol.Ack))
	default:
		b.Errorf("%T is no part of a league", q)
	}
}

// single returns the message of a call, also of a broadcast.
func single(params any) any {
	switch q := params.(type) {
	case *protocol.Broadcast[protocol.RoundAnnouncement]:
		return q.Message()
	case *protocol.Broadcast[protocol.StandingsUpdate]:
		return q.Message()
	case *protocol.Broadcast[protocol.RoundCompleted]:
		return q.Message()
	case *protocol.Broadcast[protocol.LeagueCompleted]:
		return q.Message()
	}
	return params
}

func roundTrip[Q, R any](b *testing.B, e *exchange, q *Q, r *R) {
	type request struct {
		JSONRPC string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  *Q     `json:"params"`
		ID      int64  `json:"id"`
	}
	type response struct {
		JSONRPC string `json:"jsonrpc"`
		Result  *R     `json:"result"`
		ID      int64  `json:"id"`
	}
	again(b, &request{"2.0", e.method, q, 1})
	again(b, &response{"2.0", r, 1})
}

func again[T any](b *testing.B, v *T) {
	encoded, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(encoded, new(T))
	}
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkHTTP plays matches over HTTP, 16 at once. The floor of a match is 8 raw calls of
// the same sizes over kept-alive connections.
func BenchmarkHTTP(b *testing.B) {
	asSimulate(b)
	exchanges := recordMatch(b)
	const atOnce = 16
	var floor float64
	b.Run("floor", func(b *testing.B) {
		url, client := rawEcho(b)
		bodies := make([][2][]byte, len(exchanges))
		for i, e := range exchanges {
			request, err := transport.EncodeRequest(e.method, e.params, 1)
			require.NoError(b, err)
			response, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "result": e.result, "id": 1})
			require.NoError(b, err)
			bodies[i] = [2][]byte{request, response}
		}
		floor = perMatch(b, 1, 0, func() {
			share(b, atOnce, func(_ int, next func() bool) {
				for next() {
					for _, body := range bodies {
						rawCall(b, client, url, body[0], len(body[1]))
					}
				}
			})
		})
	})
	b.Run("calls", func(b *testing.B) {
		w := newBench(b, newNetwork(HTTP), atOnce)
		perMatch(b, 1, floor, func() { w.matches(b) })
	})
}

// BenchmarkSignedHTTP plays whole leagues over HTTP in which each player signs its moves; the
// players of the one process verify the head of a round together. The floor is the same league without signatures. A match
// must cost at most 1.3 times as much; x-floor-cpu compares the processor time, which hardly
// depends on the load of the machine.
func BenchmarkSignedHTTP(b *testing.B) {
	asSimulate(b)
	const players, matches = 32, 32 * 31 / 2
	var unsigned, unsignedCPU float64
	for _, sign := range []bool{false, true} {
		b.Run(map[bool]string{false: "floor", true: "signed"}[sign], func(b *testing.B) {
			o := benchmarkLeague(players, HTTP)
			o.Sign = sign
			before := processorTime()
			took := perMatch(b, matches, unsigned, func() {
				for range b.N {
					if _, err := Run(b.Context(), o); err != nil {
						b.Error(err)
					}
				}
			})
			cpu := (processorTime() - before) / float64(b.N)
			if !sign {
				unsigned, unsignedCPU = took, cpu
			} else if unsignedCPU > 0 {
				b.ReportMetric(cpu/unsignedCPU, "x-floor-cpu")
			}
		})
	}
}

// rawEcho is a server of the standard library that reads a body and answers with the
// requested number of bytes.
func rawEcho(b *testing.B) (url string, client *http.Client) {
	filler := bytes.Repeat([]byte("x"), 64<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var size int
		_, _ = fmt.Sscan(r.Header.Get("X-Size"), &size)
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(filler[:size])
	}))
	b.Cleanup(server.Close)
	return server.URL, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
}

func rawCall(b *testing.B, client *http.Client, url string, body []byte, size int) {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Size", strconv.Itoa(size))
	response, err := client.Do(request)
	if err != nil {
		b.Error(err)
		return
	}
	answer, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || len(answer) != size {
		b.Errorf("%d bytes, %v", len(answer), err)
	}
}
