package leaguetest_test

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// A reporter is a referee that changes what it registers and reports.
type reporter struct {
	thirdParty  bool                                // it shows no access tokens and relays no signatures
	uncommitted bool                                // it promises no draw; no third-party referee does
	change      func(q *protocol.MatchResultReport) // a copy with details and evidence of its own
}

func (r *reporter) tamper(message any) any {
	switch q := message.(type) {
	case *protocol.RefereeRegisterRequest:
		if r.thirdParty {
			changed := *q
			changed.RefereeAuth, changed.RefereeMeta.RelaysSignatures = "", false
			return &changed
		}
	case *protocol.MatchResultReport:
		changed, draw := *q, *q.Draw
		changed.Draw = &draw
		r.change(&changed)
		return &changed
	}
	return message
}

func (r *reporter) register(w *leaguetest.World) error {
	var traits []leaguetest.Option
	if r.thirdParty || r.uncommitted {
		traits = leaguetest.Options(leaguetest.On(protocol.StartMatch.Name, leaguetest.EditAnswer("draw_commitment", nil)))
	}
	return registerTampering(w, r.tamper, traits...)
}

// The outcomes of a report: a grade, or one of these.
const (
	refused   = "refused" // the match becomes a draw of the grade stated
	technical = "technical"
)

// stated is a result of which a report shows nothing else.
func stated(winner *string, status string) league.Result {
	return league.Result{WinnerPlayerID: winner, Status: status}
}

// reportKinds are what a referee may show of a match in which both players have moved.
var reportKinds = []struct {
	name   string
	change func(q *protocol.MatchResultReport)
	// The outcome for a referee that relays signatures, and for a third-party referee in a game
	// with a draw and in one without.
	relaying, drawn, drawless string
	dealt                     string // that in a game with draws during a match; "" for drawless
}{
	{"everything", func(*protocol.MatchResultReport) {}, journal.GradeProven, journal.GradeRecomputed,
		journal.GradeRecomputed, ""},
	{"the winner only", func(q *protocol.MatchResultReport) {
		q.Result.Result = stated(q.Result.WinnerPlayerID, q.Result.Status)
		q.Draw, q.Evidence = nil, protocol.Evidence{}
	}, refused, journal.GradeStated, journal.GradeStated, ""},
	{"null details", func(q *protocol.MatchResultReport) {
		if q.Result.WinnerPlayerID == nil {
			q.Result.WinnerPlayerID = new("DRAW")
		}
		q.Result.Result, q.Draw, q.Evidence = stated(q.Result.WinnerPlayerID, ""), nil, protocol.Evidence{}
	}, refused, journal.GradeStated, journal.GradeStated, ""},
	{"some moves", func(q *protocol.MatchResultReport) {
		choice, _ := q.Result.Choices.Get("P01")
		q.Result.Choices = league.Both("P01", choice, "P02", nil)
		q.Result.DrawnNumber, q.Draw, q.Moves = nil, nil, nil
		q.Signatures = q.Signatures[:min(len(q.Signatures), 1)]
	}, refused, journal.GradeStated, journal.GradeStated, ""},
	{"moves without signatures", func(q *protocol.MatchResultReport) { q.Signatures = nil },
		refused, journal.GradeRecomputed, journal.GradeRecomputed, ""},
	{"an unopened draw", func(q *protocol.MatchResultReport) { q.Draw = nil },
		refused, journal.GradeRecomputed, journal.GradeRecomputed, journal.GradeStated},
	{"no number", func(q *protocol.MatchResultReport) { q.Result.DrawnNumber, q.Draw = nil, nil },
		refused, journal.GradeStated, journal.GradeRecomputed, journal.GradeStated},
	{"a draw that does not open", func(q *protocol.MatchResultReport) { q.Draw.Nonce = protocol.Secret{7}.Hex() },
		refused, refused, refused, ""},
	{"a one-sided technical loss", func(q *protocol.MatchResultReport) {
		q.Result.Result = stated(new("P01"), league.StatusTechnicalLoss)
		q.Evidence = protocol.Evidence{}
	}, technical, technical, technical, ""},
	{"a technical loss without the draw", func(q *protocol.MatchResultReport) {
		q.Result.Result = stated(new("P01"), league.StatusTechnicalLoss)
		q.Draw, q.Evidence = nil, protocol.Evidence{}
	}, technical, technical, technical, ""},
	{"a double technical loss", func(q *protocol.MatchResultReport) {
		q.Result.Result = stated(nil, league.StatusTechnicalLoss)
		q.Evidence = protocol.Evidence{}
	}, technical, technical, technical, ""},
	{"a number out of range", func(q *protocol.MatchResultReport) {
		q.Result.DrawnNumber = new(11)
	}, refused, refused, refused, ""},
	{"another winner, again and again", func(q *protocol.MatchResultReport) {
		winner := "P01"
		if q.Result.WinnerPlayerID != nil && *q.Result.WinnerPlayerID == winner {
			winner = "P02"
		}
		q.Result.WinnerPlayerID, q.Result.Status = &winner, league.StatusWin
	}, refused, refused, refused, ""},
}

// For each kind of report of each referee in each game, the manager records the grade of what the
// report shows, or refuses it, and the audit agrees.
func TestGradeOfEachReport(t *testing.T) {
	for _, game := range []rules.Game{evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}, connectfour.Game{},
		kuhnpoker.Game{}, pig.Game{}} {
		for _, thirdParty := range []bool{false, true} {
			for _, required := range []bool{false, true} {
				for _, kind := range reportKinds {
					want := kind.relaying
					if _, numbered := game.(rules.Numbered); thirdParty && numbered {
						want = kind.drawn
					} else if thirdParty && rules.HasDraws(game) {
						want = cmp.Or(kind.dealt, kind.drawless)
					} else if thirdParty {
						want = kind.drawless
					}
					name := fmt.Sprintf("%s, third-party %v, signatures required %v, %s", game.Info().Type, thirdParty, required, kind.name)
					r := reporter{thirdParty: thirdParty, change: kind.change}
					t.Run(name, func(t *testing.T) { testGrade(t, game, r, required, want) })
					if r.uncommitted = true; !thirdParty { // its own declaration demands the same
						t.Run(name+", without a commitment", func(t *testing.T) { testGrade(t, game, r, required, want) })
					}
				}
			}
		}
	}
}

func testGrade(t *testing.T, game rules.Game, r reporter, required bool, want string) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game, w.Varies = game, true
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) {
			o.Signatures = map[bool]string{false: journal.SignaturesOptional, true: journal.SignaturesRequired}[required]
		})
		if err := r.register(w); r.thirdParty && required {
			require.ErrorContains(t, err, "this league requires signatures")
			x.Kill()
			return
		}
		w.Players(2, leaguetest.WithStrategy("random"))
		got, report := finished(w, x)
		stated := 0
		switch want {
		case technical:
			assert.Equal(t, []string{league.StatusTechnicalLoss, ""}, []string{got.Status, got.Grade})
		case refused:
			stated = 1
			assert.Equal(t, []string{league.StatusDraw, "its referee did not show its result", journal.GradeStated, "", ""},
				[]string{got.Status, got.Reason, got.Grade, got.LastMoves()[0], got.LastMoves()[1]})
		default:
			assert.Equal(t, want, got.Grade)
			assert.NotEqual(t, league.StatusTechnicalLoss, got.Status)
			if want == journal.GradeStated {
				stated = 1
			}
		}
		assert.Equal(t, stated, report.Stated)
	})
}

// finished waits until the league of one match is over, and audits it.
func finished(w *leaguetest.World, x *leaguetest.ManagerRun) (record.Match, audit.League) {
	w.T.Helper()
	x.Finish()
	require.NoError(w.T, x.CloseFiles())
	report, err := audit.Run(x.Folder, audit.Options{Games: rules.NewRegistry(w.Game)})
	require.NoError(w.T, err)
	assert.Empty(w.T, report.Leagues[0].Findings)
	return leaguetest.Results(x.Manager)[0], report.Leagues[0]
}

// What a lying referee gains by HTTP, for each grade: nothing where both players sign; a move of a
// player without a key; and the whole result where it need not show anything. The record says so.
func TestLyingRefereeByGrade(t *testing.T) {
	for _, test := range []struct {
		grade      string
		thirdParty bool
		keyless    bool
		change     func(q *protocol.MatchResultReport)
		recorded   string // status, winner and grade
	}{
		{journal.GradeProven, false, false, func(q *protocol.MatchResultReport) {
			q.Result.WinnerPlayerID = new("P01")
		}, "DRAW  stated"},
		{journal.GradeRecomputed, false, true, func(q *protocol.MatchResultReport) {
			one, _ := q.Result.Choices.Get("P01")
			q.Result.Choices = league.Both("P01", one, "P02", new("odd")) // the player without a key chose even
			state(q, judged(q.Result.Result, q.Draw))
		}, "WIN * recomputed"},
		{journal.GradeStated, true, false, func(q *protocol.MatchResultReport) {
			q.Result.Result = stated(new("P01"), "")
			q.Draw, q.Evidence = nil, protocol.Evidence{}
		}, "WIN P01 stated"},
	} {
		t.Run(test.grade, func(t *testing.T) {
			leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
				w.Varies = true
				x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, signing)
				r := &reporter{thirdParty: test.thirdParty, change: test.change}
				require.NoError(t, r.register(w))
				traits := leaguetest.Options(leaguetest.WithStrategy("even"))
				w.Player("P01", traits...)
				if test.keyless {
					traits = append(traits, leaguetest.WithoutKey)
				}
				w.Player("P02", traits...)
				got, report := finished(w, x)
				winner := got.Winner()
				if test.keyless && winner != "" { // the number decides between the invented moves
					winner = "*"
				}
				assert.Equal(t, test.recorded, got.Status+" "+winner+" "+got.Grade)
				assert.Equal(t, got.Grade == journal.GradeStated, report.Stated == 1)
			})
		})
	}
}
