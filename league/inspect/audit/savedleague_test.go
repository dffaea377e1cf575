package audit_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

const leagueID = "cup"

func TestMain(m *testing.M) {
	leaguetest.UseMemory(os.Setenv)
	m.Run()
}

// games are the games of the tests.
func games() rules.Registry { return rules.NewRegistry(evenodd.Game{}) }

// A savedLeague is a data folder with a league of four players and one referee, as
// the agents would write it. P03 does not answer in R2M1.
type savedLeague struct {
	t      *testing.T
	dir    store.Folder
	state  *journal.State
	record func(journal.Data)
	minute int
	head   func() string
	docs   []*store.Match // of the matches that were played, in their order

	sameNonce bool // a rematch is drawn with the nonce of the first match

	histories map[string]*store.History
}

func secretOf(text string) protocol.Secret { return sha256.Sum256([]byte(text)) }

func ptr[T any](v T) *T { return &v }

var playerIDs = []string{"P01", "P02", "P03", "P04"}

// choiceOf is the choice of a player in all matches.
func choiceOf(id string) string {
	if id == "P01" || id == "P03" {
		return evenodd.Even
	}
	return evenodd.Odd
}

// newSavedLeague returns a league after some rounds. After all three it is completed.
// Tests get copies of one folder for each number of rounds.
func newSavedLeague(t *testing.T, rounds int) *savedLeague {
	t.Helper()
	files, ok := savedLeagues.Load(rounds)
	if !ok {
		files, _ = savedLeagues.LoadOrStore(rounds, snapshot(t, playLeague(t, rounds).dir))
	}
	return restored(t, files.(map[string]string))
}

// restored writes the files of a snapshot to a new folder.
func restored(t *testing.T, files map[string]string) *savedLeague {
	t.Helper()
	w := &savedLeague{t: t, dir: store.In(t.TempDir())}
	for file, text := range files {
		if text != "" {
			w.write(file, text)
		}
	}
	return w
}

// savedLeagues holds the files of a league by the number of its rounds.
var savedLeagues sync.Map

// playLeague plays some rounds of a league and writes its files.
func playLeague(t *testing.T, rounds int) *savedLeague {
	t.Helper()
	w := startLeague(t)
	for round := 1; round <= rounds; round++ {
		w.round(round)
	}
	if rounds == w.state.TotalRounds() {
		w.complete()
	}
	w.documents()
	if rounds == w.state.TotalRounds() {
		w.record(&journal.AgentInformed{AgentID: "P01"})
		w.agentsFile()
	}
	return w
}

// complete ends the league.
func (w *savedLeague) complete() {
	first := w.state.Standings()[0]
	w.record(&journal.LeagueCompleted{Champion: league.Champion{PlayerID: first.PlayerID, DisplayName: first.DisplayName, Points: first.Points}})
}

// startLeague starts a league.
func startLeague(t *testing.T) *savedLeague {
	t.Helper()
	w := &savedLeague{t: t, dir: store.In(t.TempDir()), state: journal.NewState(), histories: map[string]*store.History{}}
	j, _, _, err := journalfile.Open(w.dir.Disk, w.dir.Journal(leagueID), nil, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	w.record = func(d journal.Data) {
		w.minute++
		at := w.now()
		require.NoError(t, w.state.Apply(&journal.Event{Seq: w.state.Events + 1, At: at, Data: d}))
		require.NoError(t, j.Append(at, d))
		seq, _ := j.Last()
		require.NoError(t, j.Sync(seq))
	}
	w.head = func() string { _, head := j.Last(); return head }

	created := newCreated()
	created.Tiebreakers, created.Evidence = []string{"points", "wins", "draws"}, journal.GradeStated
	w.record(created)
	w.record(&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "Referee", Endpoint: "http://localhost:8001/mcp", Capacity: 2, Registration: "c0", Generation: 1})
	for i, id := range playerIDs {
		w.record(&journal.AgentRegistered{
			AgentID: id, Role: protocol.RolePlayer, DisplayName: "Player " + id, Endpoint: "http://localhost:810" + strconv.Itoa(i+1) + "/mcp",
			Registration: "c" + strconv.Itoa(i+1), Generation: 1,
		})
		w.histories[id] = &store.History{
			HistoryHeader: store.HistoryHeader{
				Header: store.NewHeader("2026-01-01T00:00:00Z"), PlayerID: id, DisplayName: "Player " + id, LeagueID: leagueID,
			},
			Matches: []store.HistoryMatch{},
		}
	}
	w.record(&journal.Started{Algorithm: journal.Algorithm, Players: playerIDs, Referees: []string{"REF01"}})
	return w
}

func (w *savedLeague) now() string {
	return journalfile.FormatTime(time.Date(2026, 1, 1, 12, w.minute, 0, 0, time.UTC))
}

// deadline is the deadline of a question that is asked now.
func (w *savedLeague) deadline() string {
	return protocol.FormatTimestamp(time.Date(2026, 1, 1, 12, w.minute, 30, 0, time.UTC))
}

// standings are the present record of a player.
func (w *savedLeague) standings(id string) *protocol.Record {
	place, _ := w.state.PlayerIndex(id)
	row := w.state.Table.Row(place)
	return &protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &row.Points}
}

func (w *savedLeague) round(round int) {
	pairs := w.state.Pairings(round)
	w.record(&journal.RoundAnnounced{RoundID: round, Referees: slices.Repeat([]string{"REF01"}, len(pairs))})
	for i, p := range pairs {
		w.match(league.MatchID{Round: round, Number: i + 1}, playerIDs[p.A], playerIDs[p.B])
	}
	w.record(&journal.RoundCompleted{RoundID: round, Summary: w.state.Summary(round)})
}

// match plays one match by the rules and writes its events, file and histories.
func (w *savedLeague) match(matchID league.MatchID, idA, idB string) {
	id, attempt := matchID.String(), league.Attempt{MatchID: matchID, Number: w.state.Match(matchID).NextAttempt()}
	nonce := secretOf("nonce " + id)
	if attempt.Number > 1 && !w.sameNonce {
		nonce = secretOf(fmt.Sprintf("nonce %s %d", id, attempt.Number))
	}
	commitment := protocol.DrawCommitment(leagueID, id, attempt.Number, "REF01", nonce)
	w.record(&journal.MatchAssigned{Attempt: attempt, RefereeID: "REF01"})
	w.record(&journal.MatchAccepted{Attempt: attempt, RefereeID: "REF01", DrawCommitment: commitment})

	s := newScript(w, attempt, idA, idB, commitment)
	s.invite()
	failed := ""
	if id == "R2M1" {
		failed = idB
	}
	s.ask(failed)
	result := league.Result{Status: league.StatusTechnicalLoss, Reason: "as it is"}
	draw := &protocol.Draw{Commitment: commitment, Nonce: nonce.Hex()}
	for _, p := range []string{idA, idB} {
		if p != failed {
			draw.Entropies = append(draw.Entropies, league.Member[string]{Name: p, Value: secretOf(id + p).Hex()})
			result.Choices = append(result.Choices, league.Member[*string]{Name: p, Value: ptr(choiceOf(p))})
		} else {
			result.Choices = append(result.Choices, league.Member[*string]{Name: p})
		}
	}
	if failed != "" {
		result.WinnerPlayerID, result.Faults = &idA, league.PerPlayer[string]{{Name: failed, Value: "E001"}}
	} else {
		v := evenodd.Game{}.Start().Play([2]string{choiceOf(idA), choiceOf(idB)}).Judge(rules.Chance{
			Nonce: nonce, EntropyA: secretOf(id + idA), EntropyB: secretOf(id + idB)})
		result.Status, result.DrawnNumber, result.NumberParity = league.StatusDraw, &v.Number, &v.Parity
		if v.Winner != rules.NoSide {
			result.Status, result.WinnerPlayerID = league.StatusWin, ptr([]string{idA, idB}[v.Winner])
		}
	}
	report := &journal.MatchReported{Attempt: attempt, RefereeID: "REF01", Result: result, Draw: draw}
	if result.Status != league.StatusTechnicalLoss {
		report.Grade = journal.GradeRecomputed
	}
	points := func(p string) int {
		switch {
		case result.Status == league.StatusDraw:
			return 1
		case result.WinnerPlayerID != nil && *result.WinnerPlayerID == p:
			return 3
		}
		return 0
	}
	report.Score = league.Both(idA, points(idA), idB, points(idB))
	w.record(report)
	s.over(&result, draw)
	s.write(&protocol.MatchResult{Result: result, Score: report.Score}, draw)
	w.remember(report, idA, idB)
	w.remember(report, idB, idA)
}

func (w *savedLeague) remember(r *journal.MatchReported, id, opponent string) {
	h := w.histories[id]
	h.Matches = slices.DeleteFunc(h.Matches, func(m store.HistoryMatch) bool { return m.MatchID == r.MatchID.String() })
	mine, _ := r.Choices.Get(id)
	theirs, _ := r.Choices.Get(opponent)
	m := store.HistoryMatch{Attempt: r.Number, PlayedMatch: protocol.PlayedMatch{MatchID: r.MatchID.String(), OpponentID: opponent}}
	if mine != nil {
		m.MyChoice = *mine
	}
	if theirs != nil {
		m.OpponentChoice = *theirs
	}
	if r.Draw != nil {
		m.DrawCommitment = r.Draw.Commitment
		m.Entropy, _ = r.Draw.Entropies.Get(id)
	}
	if r.DrawnNumber != nil {
		m.DrawnNumber = *r.DrawnNumber
	}
	switch {
	case r.Status == league.StatusDraw:
		m.Result = "DRAW"
	case *r.WinnerPlayerID == id:
		m.Result = "WIN"
	default:
		m.Result = "LOSS"
	}
	if r.Status == league.StatusTechnicalLoss {
		m.Result = "TECHNICAL_" + m.Result
	}
	h.Matches = append(h.Matches, m)
	h.Stats = store.StatsOf(h.Matches)
}

// documents writes the files of the manager and of the players.
func (w *savedLeague) documents() {
	records := w.state.RoundRecords()
	require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Standings(leagueID), &store.Standings{
		DerivedHeader: w.header(), Version: w.state.Recorded, RoundsCompleted: len(records), Standings: w.state.Standings(),
	}))
	require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Rounds(leagueID), &store.Rounds{
		DerivedHeader: w.header(), TotalRounds: w.state.TotalRounds(), Rounds: records,
	}))
	w.agentsFile()
	for _, h := range w.histories {
		w.setHistory(h)
	}
}

func (w *savedLeague) header() store.DerivedHeader {
	return store.DerivedHeader{Header: store.NewHeader("2026-01-01T00:00:00Z"), LeagueID: leagueID, JournalHead: w.head()}
}

func (w *savedLeague) agentsFile() {
	agents := &store.Agents{DerivedHeader: w.header()}
	agents.Referees, agents.Players = w.state.AgentRecords()
	require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Agents(leagueID), agents))
}

// history reads the history.jsonl of a player.
func (w *savedLeague) history(id string) *store.History {
	h, _, _, err := store.ReadHistoryLines(w.dir.Disk, store.HistoryLines(w.dir.History(id)))
	require.NoError(w.t, err)
	return h
}

// setHistory writes the history.jsonl of a player.
func (w *savedLeague) setHistory(h *store.History) {
	path := store.HistoryLines(w.dir.History(h.PlayerID))
	require.NoError(w.t, os.RemoveAll(path))
	lines := lists.Map(h.Matches, func(m store.HistoryMatch) any { return &m })
	require.NoError(w.t, store.AppendHistory(disk.Real{}, path, &store.HistoryHeader{
		Header: store.NewHeader(""), PlayerID: h.PlayerID, DisplayName: h.DisplayName, LeagueID: leagueID,
	}, lines, new(int64)))
}

// A script builds the file of one match.
type script struct {
	w          *savedLeague
	doc        *store.Match
	ids        [2]string
	commitment string
}

func newScript(w *savedLeague, attempt league.Attempt, idA, idB, commitment string) *script {
	id := attempt.MatchID.String()
	player := func(p string) store.MatchPlayer {
		return store.MatchPlayer{PlayerID: p, DisplayName: "Player " + p, EntropyCommitment: protocol.EntropyCommitment(id, p, secretOf(id+p))}
	}
	return &script{w: w, ids: [2]string{idA, idB}, commitment: commitment, doc: &store.Match{
		Header: store.NewHeader("2026-01-01T00:00:00Z"), LeagueID: leagueID, RoundID: attempt.MatchID.Round, MatchID: id,
		GameType: evenodd.Type, Attempt: attempt.Number, ConversationID: protocol.ConversationOf(attempt), RefereeID: "REF01",
		WrittenBy: store.WrittenByReferee, PlayerA: player(idA), PlayerB: player(idB), Scoring: league.MatchPoints{Win: 3, Draw: 1},
		Conduct:   conduct.Version,
		Lifecycle: store.Lifecycle{State: protocol.StateAcknowledged, States: lifecycle(protocol.StateAssigned, "WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED", protocol.StateAcknowledged)},
	}}
}

func lifecycle(states ...string) (entries []store.StateEntry) {
	for _, s := range states {
		entries = append(entries, store.StateEntry{State: s, At: "2026-01-01T12:00:00.000Z"})
	}
	return entries
}

func (s *script) say(direction, player, method string, try int, message any, fault *store.ExchangeError) {
	x := store.Exchange{At: s.w.now(), Direction: direction, PlayerID: player, Method: method, Try: try, Error: fault}
	if message != nil {
		raw, err := json.Marshal(message)
		require.NoError(s.w.t, err)
		x.Message = raw
		x.MessageType = message.(interface{ Type() string }).Type()
	}
	s.doc.Transcript = append(s.doc.Transcript, x)
}

func (s *script) envelope(messageType, sender string) protocol.Envelope {
	return protocol.Envelope{Protocol: protocol.Name, MessageType: messageType, Sender: sender, Timestamp: "2026-01-01T12:00:00Z", ConversationID: s.doc.ConversationID}
}

func (s *script) invite() {
	for i, p := range s.ids {
		s.say(store.Sent, p, protocol.Invite.Name, 1, &protocol.GameInvitation{
			Envelope: s.envelope(protocol.TypeGameInvitation, "referee:REF01"), LeagueID: leagueID, RoundID: s.doc.RoundID, MatchID: s.doc.MatchID,
			GameType: evenodd.Type, RoleInMatch: []string{protocol.RolePlayerA, protocol.RolePlayerB}[i], OpponentID: s.ids[1-i], Attempt: s.doc.Attempt, DrawCommitment: s.commitment,
		}, nil)
		s.say(store.Received, p, protocol.Invite.Name, 1, &protocol.GameJoinAck{
			Envelope: s.envelope(protocol.TypeGameJoinAck, "player:"+p), MatchID: s.doc.MatchID, PlayerID: p, ArrivalTimestamp: "2026-01-01T12:00:00Z",
			Accept: ptr(true), EntropyCommitment: protocol.EntropyCommitment(s.doc.MatchID, p, secretOf(s.doc.MatchID+p)),
		}, nil)
	}
}

func (s *script) ask(failed string) {
	for i, p := range s.ids {
		for try := 1; try <= 4; try++ {
			s.say(store.Sent, p, protocol.ChooseParity.Name, try, &protocol.ChooseParityCall{
				Envelope: s.envelope(protocol.TypeChooseParityCall, "referee:REF01"), MatchID: s.doc.MatchID, PlayerID: p, GameType: evenodd.Type,
				Context:  protocol.ChoiceContext{OpponentID: s.ids[1-i], RoundID: s.doc.RoundID, YourStandings: s.w.standings(p)},
				Deadline: s.w.deadline(),
			}, nil)
			if p != failed {
				s.say(store.Received, p, protocol.ChooseParity.Name, try, &protocol.ChooseParityResponse{
					Envelope: s.envelope(protocol.TypeChooseParityResponse, "player:"+p), MatchID: s.doc.MatchID, PlayerID: p,
					ParityChoice: choiceOf(p), MoveProof: protocol.MoveProof{Entropy: secretOf(s.doc.MatchID + p).Hex()},
				}, nil)
				break
			}
			s.say(store.Received, p, protocol.ChooseParity.Name, try, nil, &store.ExchangeError{ErrorCode: "E001", ErrorName: "TIMEOUT_ERROR", Detail: "no answer in time"})
			s.say(store.Sent, p, protocol.NotifyGameError.Name, try, &protocol.GameError{
				Envelope: s.envelope(protocol.TypeGameError, "referee:REF01"), MatchID: s.doc.MatchID, PlayerID: p, AffectedPlayer: p, ErrorCode: "E001",
			}, nil)
		}
	}
}

func (s *script) over(result *league.Result, draw *protocol.Draw) {
	for _, p := range s.ids {
		s.say(store.Sent, p, protocol.NotifyMatchResult.Name, 1, &protocol.GameOver{
			Envelope: s.envelope(protocol.TypeGameOver, "referee:REF01"), MatchID: s.doc.MatchID, GameType: evenodd.Type, GameResult: result, Draw: draw,
		}, nil)
	}
}

func (s *script) write(result *protocol.MatchResult, draw *protocol.Draw) {
	s.doc.Result, s.doc.Draw = result, draw
	s.doc.Digested = slices.IndexFunc(s.doc.Transcript, func(x store.Exchange) bool { return x.Method == protocol.NotifyMatchResult.Name })
	s.w.docs = append(s.w.docs, s.doc)
	require.NoError(s.w.t, store.WriteDerived(s.w.dir.Disk, s.w.dir.Match(leagueID, s.doc.MatchID), s.doc))
}

// The files of a saved league, as findings name them.
const (
	journalFile   = "data/leagues/cup/journal.jsonl"
	standingsFile = "data/leagues/cup/standings.json"
	roundsFile    = "data/leagues/cup/rounds.json"
	r1m1          = "data/matches/cup/R1M1.json"
	r2m1          = "data/matches/cup/R2M1.json"
	historyP01    = "data/players/P01/history.jsonl"
)

func (w *savedLeague) path(file string) string {
	return filepath.Join(w.dir.Path, filepath.FromSlash(file))
}

func (w *savedLeague) read(file string) string {
	raw, err := os.ReadFile(w.path(file))
	require.NoError(w.t, err)
	return string(raw)
}

// write writes a file with the checksums of its lines.
func (w *savedLeague) write(file, text string) {
	if strings.HasSuffix(file, ".jsonl") {
		text = string(leaguetest.Resealed([]byte(text)))
	}
	require.NoError(w.t, os.MkdirAll(filepath.Dir(w.path(file)), 0o755))
	require.NoError(w.t, os.WriteFile(w.path(file), []byte(text), 0o644))
}

func (w *savedLeague) remove(file string) { require.NoError(w.t, os.RemoveAll(w.path(file))) }

// edit replaces the first match of a pattern.
func (w *savedLeague) edit(file, pattern, by string) {
	text := w.read(file)
	at := regexp.MustCompile(pattern).FindStringSubmatchIndex(text)
	require.NotNil(w.t, at, "%s has nothing like %s", file, pattern)
	expanded := regexp.MustCompile(pattern).ExpandString(nil, by, text, at)
	w.write(file, text[:at[0]]+string(expanded)+text[at[1]:])
}

// editAll replaces all matches of a pattern.
func (w *savedLeague) editAll(file, pattern, by string) {
	w.write(file, regexp.MustCompile(pattern).ReplaceAllString(w.read(file), by))
}

// transcript changes the file of R1M1, whose exchanges are: two invitations and
// their answers, two questions and their answers, and GAME_OVER to both players.
func (w *savedLeague) transcript(change func(d *store.Match)) { w.transcriptOf("R1M1", change) }

func (w *savedLeague) transcriptOf(matchID string, change func(d *store.Match)) {
	d, err := store.Read[store.Match](w.dir.Disk, w.dir.Match(leagueID, matchID))
	require.NoError(w.t, err)
	change(d)
	require.NoError(w.t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, matchID), d))
}

// lines are the lines of the journal, without line feeds.
func (w *savedLeague) lines() []string {
	return strings.Split(strings.TrimSuffix(w.read(journalFile), "\n"), "\n")
}

func (w *savedLeague) setLines(lines []string) { w.write(journalFile, strings.Join(lines, "\n")+"\n") }

// changeLine changes the first line of the journal with these texts, and chains the lines again.
func (w *savedLeague) changeLine(change func(line string) string, texts ...string) {
	lines := w.lines()
	i := indexOf(lines, texts...)
	lines[i] = change(lines[i])
	w.rechain(lines)
}

// editLine replaces a text in the first line of the journal with these texts.
func (w *savedLeague) editLine(old, replacement string, texts ...string) {
	w.changeLine(func(line string) string { return strings.Replace(line, old, replacement, 1) }, texts...)
}

// removeLine removes the first line of the journal with these texts.
func (w *savedLeague) removeLine(texts ...string) {
	lines := w.lines()
	i := indexOf(lines, texts...)
	w.setLines(slices.Delete(lines, i, i+1))
}

// insertAfter inserts events after the first of a kind that is about a match.
func (w *savedLeague) insertAfter(kind, matchID string, added ...string) {
	lines := w.lines()
	i := indexOf(lines, `"type":"`+kind+`"`, `"`+matchID+`"`)
	start := `{"seq":0,"at":` + head.FindStringSubmatch(lines[i])[1] + `,"prev":"` + journal.Origin + `",`
	for k := range added {
		added[k] = start + added[k] + `}`
	}
	w.rechain(slices.Insert(lines, i+1, added...))
}

// lineOf returns the number of the first line with a text; 0 for no text.
func (w *savedLeague) lineOf(file, text string) int {
	if text == "" {
		return 0
	}
	before, _, found := strings.Cut(w.read(file), text)
	require.True(w.t, found, "%s has no %s", file, text)
	return 1 + strings.Count(before, "\n")
}

var head = regexp.MustCompile(`^\{"seq":\d+,"at":("[^"]*"),"prev":"[0-9a-f]{64}"`)

// rechain writes lines with a valid chain, and its head to the standings, as a
// forger with all files of the manager could do.
func (w *savedLeague) rechain(lines []string) {
	prev, end := journal.Origin, ""
	for i, l := range lines {
		lines[i] = head.ReplaceAllString(l, fmt.Sprintf(`{"seq":%d,"at":$1,"prev":"%s"`, i+1, prev))
		lines[i] = string(appendfile.Seal([]byte(lines[i])))
		prev = journal.Hash([]byte(lines[i]))
		if strings.Contains(l, `"type":"completed"`) {
			end = prev
		}
	}
	w.setLines(lines)
	for file, hash := range map[string]string{standingsFile: end, roundsFile: prev, "data/leagues/cup/agents.json": prev} {
		if _, err := os.Stat(w.path(file)); err == nil {
			w.edit(file, `("journal_head": )"[0-9a-f]{64}"`, `${1}"`+hash+`"`)
		}
	}
}

// indexOf returns the index of the first line that has all texts.
func indexOf(lines []string, texts ...string) int {
	return slices.IndexFunc(lines, func(l string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(l, text) })
	})
}

// A position is where a finding must be: in the first line of the file that has the text; "" for any line.
type position struct{ rule, file, text string }

// has tells whether one of some findings is at a position.
func (w *savedLeague) has(findings []audit.Finding, p position) bool {
	return slices.ContainsFunc(findings, func(f audit.Finding) bool {
		return f.Rule == p.rule && f.File == p.file && (p.text == "" || f.Line == w.lineOf(p.file, p.text))
	})
}

// audit returns the result of the audit, without the note that the league does not sign,
// which each of these leagues has.
func (w *savedLeague) audit() audit.League {
	report, err := audit.Run(w.dir, audit.Options{Games: games()})
	require.NoError(w.t, err)
	require.Len(w.t, report.Leagues, 1)
	require.Equal(w.t, len(report.Leagues[0].Findings) == 0, report.OK)
	l := report.Leagues[0]
	l.Notes = slices.DeleteFunc(l.Notes, func(n audit.Finding) bool { return n.Rule == audit.RuleUnsigned && n.Line == 1 })
	return l
}

func listed(findings []audit.Finding) string {
	var b bytes.Buffer
	for _, f := range findings {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}
