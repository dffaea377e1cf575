package audit_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
)

// A playedLeague is the data folder of a league that a simulation has played.
type playedLeague struct {
	*savedLeague

	options audit.Options
}

// play plays a league of two players that sign, with a match in each of two legs. Of the game of a program, which is nil
// for any other game, the league has version and digest.
func play(t *testing.T, game rules.Game, program *rulestest.Program) *playedLeague {
	t.Helper()
	folder := store.Folder(t.TempDir())
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
		o.Created.GameID = protocol.GameID{Version: game.Info().Version, Digest: program.Digest()}
		o.Programs = map[string]referee.Program{gameType: program}
	}
	_, err = simulation.Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, files.Close())
	p := &playedLeague{&savedLeague{t: t, dir: folder}, audit.Options{Games: rules.NewRegistry(game), Views: true}}
	if program != nil {
		p.options.Programs = map[string]audit.Program{gameType: asked(t, program)}
	}
	return p
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
			if e := &d.Transcript[i]; e.Direction == direction && e.PlayerID == player && e.Method == method && len(e.Message) > 0 {
				e.Message = leaguetest.Encode(change(e.Message))
			}
		}
	})
}

// evidence changes what the report of R1M1 shows, in the journal and in the match file.
func (p *playedLeague) evidence(change func(e *protocol.Evidence)) {
	p.changeLine(func(line string) string {
		var e struct {
			Seq  int                   `json:"seq"`
			At   string                `json:"at"`
			Prev string                `json:"prev"`
			Type string                `json:"type"`
			Data journal.MatchReported `json:"data"`
		}
		require.NoError(p.t, json.Unmarshal([]byte(line), &e))
		change(&e.Data.Evidence)
		return string(leaguetest.Encode(&e))
	}, `"match_reported"`, `"R1M1"`)
	p.transcript(func(d *store.Match) { change(&d.Evidence) })
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
		}, []shown{{audit.RuleDraw, journalFile, []string{"R1M1", "draw 2"}}, {audit.RuleDraw, r1m1, []string{"draw 2 of R1M1", "by the nonce"}}}},
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
		}, []shown{{audit.RuleSignature, journalFile, []string{"view_hash"}}, {audit.RuleView, r1m1, []string{"P01 signed"}}}},
		{"the hash of another last view", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Signatures[1].Value.ViewHash = protocol.ViewHash("another") })
		}, []shown{{audit.RuleSignature, journalFile, []string{"P02"}}, {audit.RuleView, r1m1, []string{"P02 signed"}}}},
		{"a move of another turn", func(p *playedLeague) {
			p.evidence(func(e *protocol.Evidence) { e.Moves[3].Turn++ })
		}, []shown{{audit.RuleVerdict, journalFile, []string{"move 4"}}, {audit.RuleTranscript, r1m1, []string{"moves.3.turn in the GAME_OVER to P01"}}}},
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
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, "REF01 showed "+player+" in turn", `context.view.card is "J"`), listed(l.Findings))

	// It writes into the match file what it should have shown.
	doc, err := store.Read[store.Match](p.dir.Match(leagueID, "R1M1"))
	require.NoError(t, err)
	should := viewsOf(t, kuhnpoker.Game{}, doc, rules.SideB)
	p.questions(player, func(turn int, q *protocol.GameMoveCall) {
		q.MoveRequest.Context["view"], q.ViewHash = should[turn], protocol.ViewHash(should[turn])
		if should[turn] == nil {
			delete(q.MoveRequest.Context, "view")
		}
	})
	l = p.audit()
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, player+" signed in turn", "REF01 showed it the view"), listed(l.Findings))
	assert.False(t, finds(l.Findings, audit.RuleView, r1m1, "signed its answer"), "this takes longer")
	p.options.Views = true
	l = p.audit()
	assert.True(t, finds(l.Findings, audit.RuleView, r1m1, player+" signed its answer in turn", "REF01 showed"), listed(l.Findings))
	p.options.Histories = p.path("data/players")
	assert.True(t, finds(p.audit().Findings, audit.RuleView, "data/players/"+player+"/history.jsonl", "REF01 showed "+player+" in turn"))
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
		course, err = course.Move(rules.Side(slices.Index([]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}, m.PlayerID)), m.Move)
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
