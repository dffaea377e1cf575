package audit_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
)

// A playedLeague is the data folder of a league that a simulation has played.
type playedLeague struct {
	*savedLeague

	options audit.Options
}

// play plays a league of two players that sign, with a match in each of two legs. Of the game of a program, which is
// nil for any other game, the league has version and digest.
func play(t *testing.T, game rules.Game, program *rulestest.Program, changes ...func(*simulation.Options)) *playedLeague {
	t.Helper()
	p, err := playOrStop(t, game, program, changes...)
	require.NoError(t, err)
	return p
}

// playOrStop is like play, but the league may stop before its end.
func playOrStop(t *testing.T, game rules.Game, program *rulestest.Program,
	changes ...func(*simulation.Options)) (*playedLeague, error) {
	t.Helper()
	folder := store.In(t.TempDir())
	files, _, err := manager.OpenFiles(folder, leagueID, false, nil)
	require.NoError(t, err)
	gameType := game.Info().Type
	o := simulation.Options{
		Seed: 7, Strategies: []string{"random"}, Transport: simulation.Memory, Sign: true,
		Rules: simulation.Rules{
			Created: journal.Created{LeagueID: leagueID, GameType: gameType, Legs: 2,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: 2, Referees: 1}}},
			Games: rules.NewRegistry(game), Log: zerolog.Nop(), Files: files,
		},
	}
	if program != nil {
		o.GameID = protocol.GameID{Version: game.Info().Version, Digest: program.Digest()}
		o.Programs = map[string]referee.Program{gameType: program}
	}
	for _, change := range changes {
		change(&o)
	}
	_, stopped := simulation.Run(t.Context(), o)
	require.NoError(t, files.Close())
	p := &playedLeague{&savedLeague{t: t, dir: folder}, audit.Options{Games: rules.NewRegistry(game), Views: true}}
	if program != nil {
		p.options.Programs = map[string]audit.Program{gameType: asked(t, program)}
	}
	return p, stopped
}

// asked is a program as the audit asks it.
func asked(t *testing.T, program *rulestest.Program) audit.Program {
	t.Helper()
	return audit.Program{Digest: program.Digest(), Ask: func(history []rules.Entry) (*rules.State, error) {
		return program.Ask(t.Context(), history)
	}}
}

// audit returns the result of the audit of the league.
func (p *playedLeague) audit() audit.League {
	p.t.Helper()
	report, err := audit.Run(p.dir, p.options)
	require.NoError(p.t, err)
	require.Len(p.t, report.Leagues, 1)
	return report.Leagues[0]
}

func TestHonestLeagueWithHiddenCardsHasNoFindings(t *testing.T) {
	l := play(t, kuhnpoker.Game{}, nil).audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Empty(t, l.Notes, listed(l.Notes))
}

func TestHonestLeagueOfAProgramHasNoFindings(t *testing.T) {
	program := rulestest.NewProgram("fours", connectfour.Game{})
	p := play(t, program.Rules(), program)
	for _, views := range []bool{false, true} {
		before := program.Asked()
		p.options.Views = views
		l := p.audit()
		assert.Empty(t, l.Findings, listed(l.Findings))
		assert.Empty(t, l.Notes, listed(l.Notes))
		t.Log(program.Asked() - before)
	}
}

// restore returns the league with the files of a snapshot.
func (p *playedLeague) restore(t *testing.T, files map[string]string) *playedLeague {
	t.Helper()
	return &playedLeague{restored(t, files), p.options}
}

// finds tells whether one of some findings is about a file, by a rule, with words of its text.
func finds(findings []audit.Finding, rule, file string, texts ...string) bool {
	return slices.ContainsFunc(findings, func(f audit.Finding) bool {
		return f.Rule == rule && f.File == file && !slices.ContainsFunc(texts, func(text string) bool {
			return !strings.Contains(f.Detail, text)
		})
	})
}

// A shown is where a forgery of a league must be found.
type shown struct {
	rule, file string
	texts      []string // of the finding
}

// questions changes the questions for a move to a player in R1M1.
func (p *playedLeague) questions(player string, change func(turn int, q *protocol.GameMoveCall)) {
	p.exchanges(store.Sent, player, protocol.MakeMove.Name, func(raw []byte) any {
		q := leaguetest.Decode[protocol.GameMoveCall](raw)
		change(int(q.MoveRequest.Context["turn"].(float64)), q)
		return q
	})
}

// exchanges changes the messages of a method to or from a player in R1M1.
func (p *playedLeague) exchanges(direction, player, method string, change func(raw []byte) any) {
	p.transcript(func(d *store.Match) {
		for i := range d.Transcript {
			if e := &d.Transcript[i]; e.Direction == direction && e.PlayerID == player && e.Method == method &&
				len(e.Message) > 0 {
				e.Message = leaguetest.Encode(change(e.Message))
			}
		}
	})
}

// report changes the report of R1M1, in the journal and in the match file.
func (p *playedLeague) report(change func(r *league.Result, e *protocol.Evidence, score *league.PerPlayer[int])) {
	p.changeLine(func(line string) string {
		var e struct {
			Seq  int                   `json:"seq"`
			At   string                `json:"at"`
			Prev string                `json:"prev"`
			Type string                `json:"type"`
			Data journal.MatchReported `json:"data"`
		}
		require.NoError(p.t, json.Unmarshal([]byte(line), &e))
		change(&e.Data.Result, &e.Data.Evidence, &e.Data.Score)
		return string(leaguetest.Encode(&e))
	}, `"match_reported"`, `"R1M1"`)
	p.transcript(func(d *store.Match) { change(&d.Result.Result, &d.Evidence, &d.Result.Score) })
}

// evidence changes what the report of R1M1 shows, in the journal and in the match file.
func (p *playedLeague) evidence(change func(e *protocol.Evidence)) {
	p.report(func(_ *league.Result, e *protocol.Evidence, _ *league.PerPlayer[int]) { change(e) })
}

func TestForgeriesOfHiddenCards(t *testing.T) {
	p := play(t, kuhnpoker.Game{}, nil)
	files := snapshot(t, p.dir)
	for _, tt := range []struct {
		name  string
		forge func(p *playedLeague)
		want  []shown
	}{
		{"another number of a draw", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[1].Number = (e.Draws[1].Number + 1) % 6 })
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1", "draw 2"}},
			{audit.RuleDraw, r1m1, []string{"draw 2 of R1M1", "by the nonce"}}}},
		{"another number of outcomes", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[0].Of = 2 })
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1"}}, {audit.RuleDraw, r1m1, []string{"draw 1 of R1M1"}}}},
		{"a missing draw", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws = e.Draws[:len(e.Draws)-1] })
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1", "missing"}}, {audit.RuleDraw, r1m1, []string{"missing"}}}},
		{"a draw too many", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws = append(e.Draws, e.Draws[0]) })
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1"}}, {audit.RuleDraw, r1m1, []string{"by its history"}}}},
		{"a draw of another turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[0].Turn = 1 })
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1"}}, {audit.RuleDraw, r1m1, []string{"draw 1 of R1M1"}}}},
		{"draws of the match file alone", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Draws[0].Number = (d.Draws[0].Number + 1) % 6 })
		}, []shown{{audit.RuleMatchFile, r1m1, []string{"draws.0.number"}}}},
		{"another card in a question", func(p *playedLeague) {
			p.questions("P01", func(turn int, q *protocol.GameMoveCall) {
				if turn == 2 {
					q.MoveRequest.Context["view"].(map[string]any)["card"] = "A"
				}
			})
		}, []shown{{audit.RuleView, r1m1, []string{"REF01 showed P01 in turn 2", "view.card", `"A"`}}}},
		{"another board in a question", func(p *playedLeague) {
			p.questions("P02", func(_ int, q *protocol.GameMoveCall) { q.MoveRequest.Context["board"] = [][]string{{"?"}} })
		}, []shown{{audit.RuleView, r1m1, []string{"REF01 showed P02", "board"}}}},
		{"another hash of a view in a question", func(p *playedLeague) {
			p.questions("P01", func(_ int, q *protocol.GameMoveCall) { q.ViewHash = protocol.ViewHash("nothing") })
		}, []shown{{audit.RuleView, r1m1, []string{"REF01 showed P01", "view_hash"}}}},
		{"no view in a question", func(p *playedLeague) {
			p.questions("P01", func(turn int, q *protocol.GameMoveCall) { delete(q.MoveRequest.Context, "view") })
		}, []shown{{audit.RuleView, r1m1, []string{"REF01 showed P01", "view is none"}}}},
		{"a question of another turn", func(p *playedLeague) {
			p.questions("P01", func(turn int, q *protocol.GameMoveCall) { q.MoveRequest.Context["turn"] = turn + 1 })
		}, []shown{{audit.RuleTranscript, r1m1, []string{"context.turn"}}}},
		{"no hash of the last view", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Signatures[0].Value.ViewHash = "" })
		}, []shown{{audit.RuleSignature, journalFile, []string{"view_hash"}},
			{audit.RuleView, r1m1, []string{"P01 signed"}}}},
		{"the hash of another last view", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Signatures[1].Value.ViewHash = protocol.ViewHash("another") })
		}, []shown{{audit.RuleSignature, journalFile, []string{"P02"}}, {audit.RuleView, r1m1, []string{"P02 signed"}}}},
		{"a move of another turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves[3].Turn++ })
		}, []shown{{audit.RuleVerdict, journalFile, []string{"move 4"}},
			{audit.RuleTranscript, r1m1, []string{"moves.3.turn in the GAME_OVER to P01"}}}},
		{"a move without its turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves[3].Turn = 0 })
		}, []shown{{audit.RuleTranscript, journalFile, []string{"the moves of R1M1"}}}},
		{"no ready turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves = e.Moves[2:] })
		}, []shown{{audit.RuleVerdict, journalFile, []string{"R1M1", "moves: "}}}},
		{"an answer that signs another move", func(p *playedLeague) {
			p.exchanges(store.Received, "P01", protocol.MakeMove.Name, func(raw []byte) any {
				a := leaguetest.Decode[protocol.GameMoveResponse](raw)
				a.Signature = strings.Repeat("0", len(a.Signature))
				return a
			})
		}, []shown{{audit.RuleView, r1m1, []string{"P01 signed its answer in turn 1 "}}}},
		{"players that are not told the moves", func(p *playedLeague) {
			p.exchanges(store.Sent, "P01", protocol.NotifyMatchResult.Name, func(raw []byte) any {
				over := leaguetest.Decode[protocol.GameOver](raw)
				over.Moves, over.Draws = nil, nil
				return over
			})
		}, []shown{{audit.RuleTranscript, r1m1, []string{"moves in the GAME_OVER to P01 is none"}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := p.restore(t, files)
			tt.forge(p)
			l := p.audit()
			for _, want := range tt.want {
				assert.True(t, finds(l.Findings, want.rule, want.file, want.texts...), "no %v among:\n%s", want, listed(l.Findings))
			}
		})
	}
}

// A cheat is a game as a referee shows it that changes what PLAYER_B sees of it. All else is as the rules say.
type cheat struct {
	rules.Game

	see func(view map[string]any)
}

func (c cheat) Start() rules.Position {
	return cheatPosition{c.Game.Start().(rules.Drawing), c.see}
}

type cheatPosition struct {
	rules.Drawing

	see func(view map[string]any)
}

func (p cheatPosition) Play(moves [2]string) rules.Position {
	return cheatPosition{p.Drawing.Play(moves).(rules.Drawing), p.see}
}

func (p cheatPosition) Drawn(outcome int) rules.Position {
	return cheatPosition{p.Drawing.Drawn(outcome).(rules.Drawing), p.see}
}

func (p cheatPosition) Draw(side rules.Side) [][]string { return p.Drawing.(rules.Drawer).Draw(side) }

func (p cheatPosition) Ask(side rules.Side) rules.Question {
	q := p.Drawing.Ask(side)
	if side == rules.SideB {
		view := maps.Clone(q.View.(map[string]any))
		p.see(view)
		q.View = view
	}
	return q
}

// A referee shows one player a wrong card. All that it writes and reports agrees with that, so that only what follows
// from the draws tells.
func TestWrongCardIsFound(t *testing.T) {
	wrong := func(view map[string]any) { view[kuhnpoker.ViewCard] = "J" }
	p := play(t, cheat{kuhnpoker.Game{}, wrong}, nil)
	l := p.audit()
	require.Empty(t, l.Findings, "it agrees with itself")

	p.options.Games = rules.NewRegistry(kuhnpoker.Game{})
	p.options.Views = false
	l = p.audit()
	player := map[bool]string{true: "P02", false: "P01"}[strings.Contains(p.read(r1m1), `"player_B":{"player_id":"P02"`)]
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, "REF01 showed "+player+" in turn", `context.view.card is "J"`),
		listed(l.Findings))

	// It writes into the match file what it should have shown.
	doc, err := store.Read[store.Match](p.dir.Disk, p.dir.Match(leagueID, "R1M1"))
	require.NoError(t, err)
	should := viewsOf(t, kuhnpoker.Game{}, doc, rules.SideB)
	p.questions(player, func(turn int, q *protocol.GameMoveCall) {
		q.MoveRequest.Context["view"], q.ViewHash = should[turn], protocol.ViewHash(should[turn])
		if should[turn] == nil {
			delete(q.MoveRequest.Context, "view")
		}
	})
	l = p.audit()
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, player+" signed in turn", "REF01 showed it the view"),
		listed(l.Findings))
	assert.False(t, finds(l.Findings, audit.RuleView, r1m1, "signed its answer"), "this takes longer")
	p.options.Views = true
	l = p.audit()
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, player+" signed its answer in turn", "REF01 showed"),
		listed(l.Findings))
	p.options.Histories = p.path("data/players")
	assert.True(t, finds(p.audit().Findings, audit.RuleView, "data/players/"+player+"/history.jsonl",
		"REF01 showed "+player+" in turn"))
}

// A player without signatures keeps decisions too, and one that has the game keeps what differs.
func TestWhatAPlayerSawIsCompared(t *testing.T) {
	p := play(t, kuhnpoker.Game{}, nil)
	p.options.Histories = p.path("data/players")
	require.Empty(t, p.audit().Notes)
	path := store.HistoryLines(p.dir.History("P01"))
	h, _, _, err := store.ReadHistoryLines(disk.Real{}, path)
	require.NoError(t, err)
	kept := h.Decisions[1]
	kept.Decision.Signature, kept.Decision.ViewHash = "", strings.Repeat("1", 64)
	difference := &store.HistoryDifference{MatchID: "R1M1", Attempt: 1, Difference: store.Difference{
		Turn: 7, Member: "view", Shown: strings.Repeat("2", 64), Computed: strings.Repeat("3", 64),
	}}
	var size int64
	require.NoError(t, store.AppendHistory(disk.Real{}, path, &h.HistoryHeader, []any{&kept, difference}, &size))
	l := p.audit()
	assert.True(t, finds(l.Findings, audit.RuleView, "data/players/P01/history.jsonl", "REF01 showed P01 in turn"),
		listed(l.Findings))
	assert.Len(t, l.Findings, 1, listed(l.Findings))
	assert.True(t, finds(l.Notes, audit.RuleHistory, "data/players/P01/history.jsonl",
		"P01 computed after attempt 1 that view in turn 7 is", "3333", "2222"), listed(l.Notes))
}

// viewsOf are the views that a side should have, by turn.
func viewsOf(t *testing.T, game rules.Game, doc *store.Match, side rules.Side) map[int]any {
	t.Helper()
	course, views := rules.Begin(game), map[int]any{}
	for _, m := range doc.Moves {
		for course.Outcomes() > 0 {
			course = course.Drawn(doc.Draws[len(course.Draws())].Number)
		}
		if course.Owes(side) {
			views[course.Turn()] = course.Ask(side).View
		}
		var err error
		course, err = course.Move(rules.Side(slices.Index([]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}, m.PlayerID)),
			m.Move)
		require.NoError(t, err)
	}
	return views
}

// A program with another digest is not that of the league.
func TestProgramOfAnotherLeagueIsAFinding(t *testing.T) {
	p := play(t, kuhnpoker.Game{}, nil)
	p.options.Programs = map[string]audit.Program{kuhnpoker.Type: {Digest: strings.Repeat("ab", 32)}}
	l := p.audit()
	assert.True(t, finds(l.Findings, audit.RuleGame, journalFile, "abab", "the rules are not checked"), listed(l.Findings))
	assert.Equal(t, 2, l.Unjudged)
}

// bidding plays a league of bids, whose program shows a board.
func bidding(t *testing.T) (*playedLeague, *rulestest.Program) {
	t.Helper()
	program := rulestest.NewProgram("bids", bids(2))
	program.Change = func(history []rules.Entry, state *rules.State) (*rules.State, error) {
		state.Board = [][]string{{strconv.Itoa(len(history))}}
		return state, nil
	}
	return play(t, program.Rules(), program), program
}

func TestHonestLeagueWithSecretMovesAndWords(t *testing.T) {
	p, program := bidding(t)
	require.Contains(t, p.read(r1m1), `"secret":true`)
	require.Contains(t, p.read(r1m1), `"boards":[{"turn":2,`)
	l := p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Empty(t, l.Notes, listed(l.Notes))

	p.options.Views = false
	before := program.Asked()
	l = p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Empty(t, l.Notes, listed(l.Notes))
	assert.Equal(t, 4, program.Asked()-before, "for each of two matches, once at its draw and once at its end")
}

// A player that only said that it is ready has signed that, and made no choice.
func TestSignatureOfAPlayerWithoutAMoveIsNoFinding(t *testing.T) {
	program := rulestest.NewProgram("words", bids(0))
	p := play(t, program.Rules(), program)
	require.Regexp(t, `"choices":\{[^}]*"P0[12]":null`, p.read(journalFile))
	l := p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	assert.Empty(t, l.Notes, listed(l.Notes))
}

// oneMove is a game that the first move ends, before PLAYER_B moves.
type oneMove struct{}

func (oneMove) Info() rules.Info {
	return rules.Info{Type: "one_move", DisplayName: "One move", Rules: "Move.", MoveTypes: []string{"move"}, MaxMoves: 1}
}

func (oneMove) MaxTurns() int         { return 2 }
func (oneMove) Start() rules.Position { return oneMovePosition{} }

type oneMovePosition struct{ moves [2]string }

func (p oneMovePosition) ToMove() []rules.Side {
	if p.moves == [2]string{} {
		return []rules.Side{rules.SideA}
	}
	return nil
}

func (oneMovePosition) Ask(rules.Side) rules.Question {
	return rules.Question{MoveType: "move", Options: []string{"1", "2"}}
}

func (oneMovePosition) Check(_ rules.Side, move string) error {
	if move != "1" && move != "2" {
		return errors.New("must be 1 or 2")
	}
	return nil
}

func (oneMovePosition) Play(moves [2]string) rules.Position { return oneMovePosition{moves} }

func (p oneMovePosition) Judge(rules.Chance) rules.Verdict {
	return rules.Verdict{Winner: rules.SideA, Moves: p.moves,
		Explain: func(rules.Verdict, [2]string) string { return "the only move wins" }}
}

// A side may have no move before the end of a match, and no signature.
func TestMatchThatEndsBeforeASideMovesHasNoFindings(t *testing.T) {
	program := rulestest.NewProgram("one_move_program", oneMove{})
	for _, p := range []*playedLeague{play(t, oneMove{}, nil), play(t, program.Rules(), program)} {
		require.Contains(t, p.read(journalFile), `"status":"WIN"`)
		l := p.audit()
		assert.Empty(t, l.Findings, listed(l.Findings))
	}
}

// Without the program of a game, an audit checks all but its rules, and says which program it needs.
func TestAuditWithoutTheProgram(t *testing.T) {
	p, _ := bidding(t)
	p.options.Games, p.options.Programs = games(), nil
	for _, p.options.Views = range []bool{false, true} {
		l := p.audit()
		assert.Empty(t, l.Findings, listed(l.Findings))
		require.Len(t, l.Notes, 1, listed(l.Notes))
		assert.Equal(t, `data/leagues/cup/journal.jsonl:1: note: game: the rules of bids are those of a program, which is not `+
			`given: all but the rules is checked. It is version "1", with the digest `+strings.Repeat("ab", 32),
			l.Notes[0].String())
		assert.Equal(t, 2, l.Unjudged)
	}
}

// saying is a program that changes what another says.
func saying(program audit.Program,
	change func(history []rules.Entry, state *rules.State) (*rules.State, error)) audit.Program {
	return audit.Program{Digest: program.Digest, Ask: func(history []rules.Entry) (*rules.State, error) {
		state, err := program.Ask(history)
		if err != nil {
			return nil, err
		}
		return change(history, state)
	}}
}

// anotherWinner is the other winner of a match that is over.
func anotherWinner(_ []rules.Entry, state *rules.State) (*rules.State, error) {
	if state.Over {
		changed := *state
		changed.Winner = (state.Winner+2)%3 - 1
		return &changed, nil
	}
	return state, nil
}

// refusesWords refuses the word of PLAYER_A.
func refusesWords(history []rules.Entry, state *rules.State) (*rules.State, error) {
	if len(history) == 4 {
		return &rules.State{Illegal: &rules.Illegal{Index: 3, Side: rules.SideA, Reason: "no such word"}}, nil
	}
	return state, nil
}

// Each forgery has a finding in an audit with views; some also in one that asks the program about the whole history
// alone, and some without the program.
func TestForgeriesOfTheGameOfAProgram(t *testing.T) {
	const view, whole, without = 0, 1, 2 // how little an audit may know to find it
	p, _ := bidding(t)
	files := snapshot(t, p.dir)
	secretIn := func(move string) func(p *playedLeague) {
		return func(p *playedLeague) {
			p.questions("P01", func(turn int, q *protocol.GameMoveCall) {
				if turn == 3 {
					q.Moves[3].Move = move
				}
			})
		}
	}
	asks := func(change func([]rules.Entry, *rules.State) (*rules.State, error)) func(p *playedLeague) {
		return func(p *playedLeague) {
			if program, given := p.options.Programs["bids"]; given {
				p.options.Programs = map[string]audit.Program{"bids": saying(program, change)}
			}
		}
	}
	for _, tt := range []struct {
		name  string
		forge func(p *playedLeague)
		least int // what an audit needs to know
		want  shown
	}{
		{"another commitment to a secret move", secretIn(strings.Repeat("ab", 32)), without,
			shown{audit.RuleCommitment, r1m1, []string{"moves.3.move in the GAME_MOVE_CALL to P01"}}},
		{"a secret move that the opponent is shown", secretIn("3"), without,
			shown{audit.RuleCommitment, r1m1, []string{"moves.3.move in the GAME_MOVE_CALL to P01"}}},
		{"a secret move that is said to be open", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves[2].Secret = false })
		}, without, shown{audit.RuleSignature, journalFile, []string{"R1M1"}}},
		{"another board in the match file", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Boards[1].Cells[0][0] = "X" })
		}, without, shown{audit.RuleView, r1m1, []string{"board"}}},
		{"another last board", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Boards[len(d.Boards)-1].Cells[0][0] = "X" })
		}, view, shown{audit.RuleView, r1m1, []string{"the board of R1M1 before turn 5"}}},
		{"a missing board", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Boards = d.Boards[:len(d.Boards)-1] })
		}, view, shown{audit.RuleView, r1m1, []string{"R1M1 has 3 boards"}}},
		{"a board after the end", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Boards = append(d.Boards, store.Board{Turn: 9, Cells: [][]string{{"?"}}}) })
		}, without, shown{audit.RuleView, r1m1, []string{"R1M1 has 5 boards"}}},
		{"boards of two sizes", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Boards[2].Cells = [][]string{{"a", "b"}} })
			p.options.Views = false
		}, without, shown{audit.RuleVerdict, r1m1, []string{"all boards of a match have one size"}}},
		{"another digest of the game in the match file", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.GameID.Digest = strings.Repeat("cd", 32) })
		}, without, shown{audit.RuleMatchFile, r1m1, []string{"game_digest"}}},
		{"another version of the game in the match file", func(p *playedLeague) {
			p.transcript(func(d *store.Match) { d.Version = "2" })
		}, without, shown{audit.RuleMatchFile, r1m1, []string{"game_version"}}},
		{"another digest of the game in the journal", func(p *playedLeague) {
			p.editLine(strings.Repeat("ab", 32), strings.Repeat("cd", 32), `"created"`)
			p.transcript(func(d *store.Match) { d.GameID.Digest = strings.Repeat("cd", 32) })
		}, whole, shown{audit.RuleGame, journalFile, []string{"the rules are not checked"}}},
		{"a view that nobody may see", func(p *playedLeague) {
			p.questions("P02", func(_ int, q *protocol.GameMoveCall) {
				if view, ok := q.MoveRequest.Context["view"].(map[string]any); ok {
					view["prize"] = 1
					q.ViewHash = protocol.ViewHash(view)
				}
			})
		}, view, shown{audit.RuleView, r1m1, []string{"REF01 showed P02 in turn 2", "view.prize is 1"}}},
		{"a view without its hash", func(p *playedLeague) {
			p.questions("P02", func(_ int, q *protocol.GameMoveCall) {
				if view, ok := q.MoveRequest.Context["view"].(map[string]any); ok {
					view["prize"] = 1
				}
			})
		}, without, shown{audit.RuleView, r1m1, []string{"REF01 showed P02 in turn 2"}}},
		{"fewer options in a question", func(p *playedLeague) {
			p.questions("P02", func(turn int, q *protocol.GameMoveCall) {
				if turn == 2 {
					q.MoveRequest.ValidOptions = append(q.MoveRequest.ValidOptions, "4")
				}
			})
		}, view, shown{audit.RuleTranscript, r1m1, []string{"valid_options in the GAME_MOVE_CALL to P02"}}},
		{"another move than the options", func(p *playedLeague) {
			p.exchanges(store.Received, "P02", protocol.MakeMove.Name, func(raw []byte) any {
				a := leaguetest.Decode[protocol.GameMoveResponse](raw)
				if a.MoveData.MoveType == "bid" {
					a.MoveData.Choice = "9"
				}
				return a
			})
		}, without, shown{audit.RuleTranscript, r1m1, []string{`"9" of P02 counts, but is no legal move`}}},
		{"a question of both sides to one alone", func(p *playedLeague) {
			p.transcript(func(d *store.Match) {
				d.Transcript = slices.DeleteFunc(d.Transcript, func(e store.Exchange) bool {
					return e.PlayerID == "P02" && e.Method == protocol.MakeMove.Name &&
						strings.Contains(string(e.Message), `"round":2`)
				})
			})
		}, without, shown{audit.RuleTranscript, r1m1, nil}},
		{"another number of a draw", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[0].Number = (e.Draws[0].Number + 1) % 4 })
		}, without, shown{audit.RuleDraw, journalFile, []string{"draws: draw 1 is"}}},
		{"another number of outcomes", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[0].Of = 1 })
		}, without, shown{audit.RuleDraw, r1m1, []string{"draw 1 of R1M1"}}},
		{"a number of outcomes that the game does not have", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Draws[0].Of = 8 })
		}, whole, shown{audit.RuleDraw, journalFile, []string{"draws: draw 1"}}},
		{"a move of another turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves[4].Turn = 2 })
		}, without, shown{audit.RuleSignature, journalFile, []string{"moves: move 5"}}},
		{"another winner", func(p *playedLeague) {
			p.report(func(r *league.Result, _ *protocol.Evidence, score *league.PerPlayer[int]) {
				winner := "P01"
				if protocol.ValueOf(r.WinnerPlayerID) == winner {
					winner = "P02"
				}
				r.Status, r.WinnerPlayerID = league.StatusWin, &winner
				*score = league.Both("P01", map[bool]int{true: 3}[winner == "P01"], "P02", map[bool]int{true: 3}[winner == "P02"])
			})
		}, whole, shown{audit.RuleVerdict, journalFile, []string{"result.winner: by the rules of bids it is"}}},
		{"a program with another verdict", asks(anotherWinner), whole,
			shown{audit.RuleVerdict, journalFile, []string{"result.winner"}}},
		{"an illegal word that counts", asks(refusesWords), whole,
			shown{audit.RuleVerdict, journalFile, []string{"moves: that of P01 in turn 4", "no such word"}}},
		{"an illegal word in the transcript", asks(refusesWords), view,
			shown{audit.RuleTranscript, r1m1, []string{`the answer of "P01" counts, but is no legal move`, "no such word"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for least := view; least <= without; least++ {
				p := p.restore(t, files)
				if p.options.Views = least == view; least == without {
					p.options.Games, p.options.Programs = games(), nil
				}
				tt.forge(p)
				l := p.audit()
				assert.Equal(t, least <= tt.least, finds(l.Findings, tt.want.rule, tt.want.file, tt.want.texts...),
					"%d: no %v among:\n%s", least, tt.want, listed(l.Findings))
			}
		})
	}
}

// The draws of a match file cost the audit a bounded time, also if all of them follow from the secrets.
func TestManyDrawsInAMatchFileAreAFinding(t *testing.T) {
	p, _ := bidding(t)
	p.options.Games, p.options.Programs = games(), nil
	p.transcript(func(d *store.Match) {
		var chance rules.Chance
		chance.Nonce, _ = protocol.ParseSecret(d.Draw.Nonce)
		a, _ := d.Draw.Entropies.Get(d.PlayerA.PlayerID)
		chance.EntropyA, _ = protocol.ParseSecret(a)
		b, _ := d.Draw.Entropies.Get(d.PlayerB.PlayerID)
		chance.EntropyB, _ = protocol.ParseSecret(b)
		d.Draws = nil
		for i := range 10_000 {
			d.Draws = append(d.Draws, protocol.Drawn{Turn: 2, Of: 4, Number: chance.Draw(d.MatchID, i+1, 4)})
		}
	})
	l := p.audit()
	assert.True(t, finds(l.Findings, audit.RuleDraw, r1m1, "R1M1 has 10000 draws; no match has more than 4000"),
		listed(l.Findings))
}

// A program that fails ends the audit: it says nothing about the league.
func TestAuditEndsWithItsProgram(t *testing.T) {
	p, program := bidding(t)
	for _, p.options.Views = range []bool{false, true} {
		p.options.Programs = map[string]audit.Program{"bids": saying(asked(t, program),
			func([]rules.Entry, *rules.State) (*rules.State, error) { return nil, errors.New("it has ended") })}
		_, err := audit.Run(p.dir, p.options)
		require.EqualError(t, err, "the program of bids: it has ended")
	}
}

// A program refuses words while a match is played: the player loses, and the file has the words that were refused.
func TestRefusedWordsHaveNoFindings(t *testing.T) {
	program := rulestest.NewProgram("bids", bids(2))
	program.Change = refusesWords
	p := play(t, program.Rules(), program)
	require.Contains(t, p.read(r1m1), "no such word")
	l := p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	p.options.Views = false
	l = p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))
	p.options.Games, p.options.Programs = games(), nil
	l = p.audit()
	assert.Empty(t, l.Findings, listed(l.Findings))

	program.Change = nil // it is no reason to refuse them
	p.options.Games, p.options.Programs = rules.NewRegistry(program.Rules()),
		map[string]audit.Program{"bids": asked(t, program)}
	p.options.Views = true
	l = p.audit()
	assert.True(t, finds(l.Findings, audit.RuleTranscript, r1m1, "was refused with", "but is a legal move"),
		listed(l.Findings))
}
