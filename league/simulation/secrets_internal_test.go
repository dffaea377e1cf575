package simulation

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/transport"
)

// markedCards is Kuhn poker with the sign § before each card of PLAYER_A, and ¶ before those of PLAYER_B, so that a
// card is found in any text.
type markedCards struct{ kuhnpoker.Game }

var cardSigns = [2]string{"§", "¶"}

func (g markedCards) Start() rules.Position { return markedPosition{g.Game.Start()} }

type markedPosition struct{ rules.Position }

func (p markedPosition) Outcomes() int { return p.Position.(rules.Drawing).Outcomes() }

func (p markedPosition) Drawn(outcome int) rules.Position {
	return markedPosition{p.Position.(rules.Drawing).Drawn(outcome)}
}

func (p markedPosition) Play(moves [2]string) rules.Position {
	return markedPosition{p.Position.Play(moves)}
}

func (p markedPosition) Draw(side rules.Side) [][]string {
	board := p.Position.(rules.Drawer).Draw(side)
	for i, row := range board {
		if strings.ContainsAny(row[1], "JQK") {
			row[1] = cardSigns[i] + row[1]
		}
	}
	return board
}

func (p markedPosition) Ask(side rules.Side) rules.Question {
	q := p.Position.Ask(side)
	view, asked := q.View.(map[string]any)
	if !asked {
		return q
	}
	mark := func(member string, of map[string]any, side rules.Side) {
		if card, ok := of[member].(string); ok {
			of[member] = cardSigns[side] + card
		}
	}
	mark(kuhnpoker.ViewCard, view, side)
	hands := []map[string]any{}
	for _, hand := range view[kuhnpoker.ViewHands].([]map[string]any) {
		copied := map[string]any{}
		for member, value := range hand {
			copied[member] = value
		}
		mark(kuhnpoker.ViewCard, copied, side)
		mark(kuhnpoker.ViewShown, copied, side.Other())
		hands = append(hands, copied)
	}
	view[kuhnpoker.ViewHands] = hands
	return q
}

// A tap is a network, and a log, that keeps what the manager and the referees send, in order. After answers of players
// it asks the referee and the manager for the match.
type tap struct {
	network

	ctx        context.Context
	admin      string // the organiser's credential
	mu         sync.Mutex
	sent       []sending
	credential map[string]string // of the manager, by the endpoint of a referee
	referees   map[string]string // endpoints, by match
	players    map[string][2]string
	recorded   map[string]int // the place in sent at which a match was recorded
	answers    int
	probes     sync.WaitGroup
}

// A sending is a message or a line of a log.
type sending struct {
	to, method, matchID string
	message             any // nil for a line
	text                []byte
}

// Write keeps a line of a log.
func (n *tap) Write(line []byte) (int, error) {
	n.keep("log", "", "", nil, bytes.Clone(line))
	return len(line), nil
}

func (n *tap) keep(to, method, matchID string, message any, text []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, sending{to, method, matchID, message, text})
}

// Call implements network.
func (n *tap) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	text, err := transport.EncodeRequest(r.Method, r.Params, 1)
	if err != nil {
		return nil, nil, err
	}
	sender, matchID := "", ""
	if from, ok := r.Params.(interface{ From() string }); ok {
		sender = from.From()
	}
	switch q := r.Params.(type) {
	case *protocol.MatchAssignment:
		n.mu.Lock()
		n.credential[r.Endpoint], n.referees[q.MatchID] = r.Bearer, r.Endpoint
		n.players[q.MatchID] = [2]string{q.PlayerA.PlayerID, q.PlayerB.PlayerID}
		n.mu.Unlock()
	case *protocol.GameMoveCall:
		matchID = q.MatchID
	case *protocol.GameOver:
		matchID = q.MatchID
	case *protocol.MatchResultReport:
		matchID = q.MatchID
	case *protocol.ToolRequest:
		matchID = q.MatchID
	}
	ofPlayer := strings.HasPrefix(sender, "player:")
	if !ofPlayer {
		n.keep(r.Endpoint, r.Method, matchID, r.Params, text)
	}
	result, timing, err := n.network.Call(ctx, r)
	answer, _ := json.Marshal(result) // of types that the codec encodes, too
	if !strings.Contains(r.Endpoint, "://P") {
		n.keep(sender, r.Method, matchID, nil, append(answer, fmt.Sprint(err)...))
	}
	if report, ok := r.Params.(*protocol.MatchResultReport); ok && err == nil {
		n.mu.Lock()
		n.recorded[report.MatchID] = len(n.sent)
		n.mu.Unlock()
	}
	switch r.Method {
	case protocol.MakeMove.Name:
		n.probe(matchID)
	case protocol.NotifyMatchResult.Name: // the referee may wait for the report before it answers
		n.probes.Go(func() { n.probe(matchID) })
	}
	return result, timing, err
}

// probe asks the manager and the referee for a match that is being played, and for the first one of the league.
func (n *tap) probe(matchID string) {
	n.mu.Lock()
	n.answers++
	often, at := n.answers%10 == 0, n.referees[matchID]
	credential := n.credential[at]
	n.mu.Unlock()
	if !often {
		return
	}
	for endpoint, token := range map[string]string{at: credential, Memory + "://manager/mcp": n.admin} {
		to := protocol.Peer{Endpoint: endpoint, Bearer: token}
		for _, id := range []string{matchID, firstMatch} {
			q := &protocol.ToolRequest{LeagueID: benchLeague, MatchID: id, Attempt: 1}
			q.AuthToken = token
			_, _ = protocol.GetMatchTranscript.Call(n.ctx, n, to, q)
			_, _ = protocol.GetMatchState.Call(n.ctx, n, to, q)
		}
	}
}

const firstMatch = "R1M1"

// playTapped plays a league of a game with a data folder and keeps what leaves its manager and its referees.
func playTapped(t *testing.T, game rules.Game, asked referee.Program, faults string) (*tap, store.Folder, *Result) {
	t.Helper()
	folder := store.In(t.TempDir())
	files, _, err := manager.OpenFiles(folder, benchLeague, false, nil)
	require.NoError(t, err)
	secret, err := folder.Secret(benchLeague, true)
	require.NoError(t, err)
	n := &tap{network: newNetwork(Wire), ctx: t.Context(), credential: map[string]string{}, referees: map[string]string{},
		players: map[string][2]string{}, recorded: map[string]int{},
		admin: protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, benchLeague)}
	o := benchmarkLeague(4, Wire)
	o.GameType, o.Games, o.Files, o.Faults = game.Info().Type, rules.NewRegistry(game), files, faults
	o.Log = zerolog.New(n).Level(zerolog.DebugLevel)
	if asked != nil {
		o.Programs = map[string]referee.Program{o.GameType: asked}
	}
	r, err := runOn(t.Context(), o, n)
	n.probes.Wait()
	require.NoError(t, err)
	require.NoError(t, files.Close())
	return n, folder, r
}

// opened are the values of a match that nobody may learn before its end.
type opened struct {
	nonce     string
	entropies []string
}

// secrets returns those of each match, by the reports.
func (n *tap) secrets() map[string]opened {
	found := map[string]opened{}
	for _, s := range n.sent {
		if q, ok := s.message.(*protocol.MatchResultReport); ok && q.Draw != nil {
			entropies := lists.Map(q.Draw.Entropies, func(e league.Member[string]) string { return e.Value })
			found[q.MatchID] = opened{q.Draw.Nonce, entropies}
		}
	}
	return found
}

// check fails if a message that is not meant to has a secret of a match that is not recorded.
func (n *tap) check(t *testing.T) {
	t.Helper()
	for matchID, secret := range n.secrets() {
		recorded, known := n.recorded[matchID]
		require.True(t, known, matchID)
		values := append(slices.Clone(secret.entropies), secret.nonce)
		for i := range n.sent[:recorded] {
			s := &n.sent[i]
			ends := s.method == protocol.NotifyMatchResult.Name || s.method == protocol.ReportMatchResult.Name
			if ends && s.matchID == matchID {
				continue
			}
			for _, value := range values {
				require.NotContains(t, string(s.text), value, "%s to %s", s.method, s.to)
			}
		}
	}
	for i := range n.sent {
		s := &n.sent[i]
		text := string(s.text)
		if n.isTranscript(i) {
			continue
		}
		if s.method != protocol.MakeMove.Name {
			require.NotContains(t, text, `"view"`, "%s to %s", s.method, s.to)
		}
		if s.method != protocol.NotifyMatchResult.Name && s.method != protocol.ReportMatchResult.Name {
			require.NotContains(t, text, `"draws":[`, "%s to %s", s.method, s.to)
		}
		if q, ok := s.message.(*protocol.GameMoveCall); ok {
			for _, move := range q.Moves {
				require.Equal(t, move.Secret, len(move.Move) == 64 && move.PlayerID != q.PlayerID, "%v", move)
			}
		}
	}
}

// isTranscript tells whether a message is an answer to a question for a match that was recorded before.
func (n *tap) isTranscript(i int) bool {
	s := &n.sent[i]
	recorded, known := n.recorded[s.matchID]
	return s.message == nil && s.method == protocol.GetMatchTranscript.Name && known && i >= recorded
}

// checkCards fails if a card that a player has not seen is in a question to it, or any card is elsewhere.
func (n *tap) checkCards(t *testing.T) {
	t.Helper()
	own, shown, after, cards := 0, 0, 0, regexp.MustCompile("[§¶]")
	bySign := lists.Map(cardSigns[:],
		func(sign string) *regexp.Regexp { return regexp.MustCompile(`"shown":"` + sign + `[JQK]"`) })
	for i := range n.sent {
		s := &n.sent[i]
		text := string(s.text)
		q, question := s.message.(*protocol.GameMoveCall)
		if !question {
			if n.isTranscript(i) {
				after += len(cards.FindAllString(text, -1))
			} else {
				require.NotRegexp(t, cards, text, "%s to %s", s.method, s.to)
			}
			continue
		}
		side := slices.Index(n.playersOf(q.MatchID), q.PlayerID)
		require.GreaterOrEqual(t, side, 0)
		shown += len(bySign[1-side].FindAllString(text, -1))
		own += strings.Count(text, cardSigns[side])
		require.NotContains(t, bySign[1-side].ReplaceAllString(text, ""), cardSigns[1-side], "to %s", q.PlayerID)
	}
	assert.Greater(t, own, 1000)
	assert.Greater(t, shown, 1000)
	assert.Greater(t, after, 100, "of recorded matches anybody may see all")
}

func (n *tap) playersOf(matchID string) []string {
	players := n.players[matchID]
	return players[:]
}

// checkJournal fails if an event before that of the result has a secret of its match. Pages, queries and MCP show of a
// match that is not recorded what the journal has.
func (n *tap) checkJournal(t *testing.T, folder store.Folder) {
	t.Helper()
	text, err := os.ReadFile(folder.Journal(benchLeague))
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	for matchID, secret := range n.secrets() {
		reported := slices.IndexFunc(lines, func(line string) bool {
			return strings.Contains(line, `"match_reported"`) && strings.Contains(line, `"`+matchID+`"`)
		})
		require.GreaterOrEqual(t, reported, 0, matchID)
		before := strings.Join(lines[:reported], "\n")
		for _, value := range append(slices.Clone(secret.entropies), secret.nonce) {
			require.NotContains(t, before, value)
		}
	}
}

func TestNoSecretOfKuhnPokerLeavesBeforeItsMatchIsRecorded(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]string{"": "",
		"with faults": "drop=0.03,garbage=0.03,duplicate=0.03,delay=0.03"} {
		t.Run(name, func(t *testing.T) {
			n, folder, r := playTapped(t, markedCards{}, nil, faults)
			assert.Len(t, matchesOf(r), 6)
			assert.Len(t, n.secrets(), 6)
			n.check(t)
			n.checkCards(t)
			n.checkJournal(t, folder)
			assert.True(t, slices.ContainsFunc(n.sent, func(s sending) bool {
				return s.method == protocol.GetMatchState.Name && strings.Contains(string(s.text), protocol.StateCollectingChoices)
			}), "the referee was asked in time")
			assert.True(t, slices.ContainsFunc(n.sent, func(s sending) bool {
				return s.to == "log" && strings.Contains(string(s.text), `"message_type":"GAME_MOVE_CALL"`)
			}), "the log has messages")
		})
	}
}

func TestNoSecretOfAProgramLeavesBeforeItsMatchIsRecorded(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"memory.py", "twenty_one_questions.py"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			game, err := program.Open(t.Context(), "python3 ../../testdata/games/"+file,
				&program.Programs{Environ: os.Environ()}, zerolog.Nop())
			require.NoError(t, err)
			t.Cleanup(game.Close)
			n, folder, r := playTapped(t, game.Rules(), game, "")
			assert.Len(t, matchesOf(r), 6)
			assert.Len(t, n.secrets(), 6)
			n.check(t)
			n.checkJournal(t, folder)
		})
	}
}
