package leaguetest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

func signing(o *manager.Options) { o.Signatures = journal.SignaturesOptional }

// playTwo plays a league of P01 and of P02, which has traits.
func playTwo(w *leaguetest.World, change func(*manager.Options), traits ...leaguetest.Option) {
	w.T.Helper()
	w.StartManager(2, 1, change)
	w.Referee("REF01")
	w.Player("P01")
	w.Player("P02", traits...)
	w.Finish()
}

// reports returns the reports of a referee.
func reports(w *leaguetest.World, host string) (all []*protocol.MatchResultReport) {
	for _, e := range w.Calls(protocol.ReportMatchResult.Name) {
		if e.From == host {
			all = append(all, leaguetest.Decode[protocol.MatchResultReport](e.Message))
		}
	}
	return all
}

func TestReportHasTheLastSignatureOfEachPlayer(t *testing.T) {
	for _, game := range []rules.Game{evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{}} {
		t.Run(game.Info().Type, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.Game, w.Varies = game, true
				w.StartManager(2, 1, signing)
				w.Referee("REF01")
				players := w.Players(2, leaguetest.WithStrategy("random"))
				w.Finish()
				assert.Empty(t, w.GameErrors())
				sent := reports(w, "ref01")
				require.Len(t, sent, 1)
				r := sent[0]
				require.Len(t, r.Signatures, 2)
				require.Len(t, r.Draw.EntropyCommitments, 2)
				assignment := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
				for i, p := range players {
					signed, _ := r.Signatures.Get(p.ID)
					choice, _ := r.Result.Choices.Get(p.ID)
					entropy, _ := r.Draw.Entropies.Get(p.ID)
					s := protocol.MoveStatement{
						Started: assignment.Started, MatchID: "R1M1", Attempt: 1, RefereeID: "REF01", PlayerID: p.ID,
						DrawCommitment: r.Draw.Commitment, EntropyCommitments: protocol.InOrder(r.Draw.EntropyCommitments, "P01", protocol.RolePlayerA),
						Turn: signed.Turn, Move: *choice, Entropy: entropy,
					}
					if game.Info().MaxMoves > 1 {
						require.GreaterOrEqual(t, len(r.Moves), 5)
						last := len(r.Moves) - 1 - (len(r.Moves)-1-i)%2
						require.Equal(t, p.ID, r.Moves[last].PlayerID)
						assert.Equal(t, last+1, signed.Turn)
						s.MovesHash = protocol.MovesHash(nil, r.Moves[:last])
					} else {
						assert.Empty(t, r.Moves)
						assert.Equal(t, 1, signed.Turn)
					}
					assert.True(t, s.Verify(p.Player.PublicKey(), signed.Signature), p.ID)
				}
			})
		})
	}
}

// A league that does not sign, and a player without a key, see none of the additions.
func TestMessagesWithoutSignaturesHaveNoAdditions(t *testing.T) {
	additions := []string{`"sign"`, `"started"`, `"signature"`, `"signatures"`, `"role_in_match":"PLAYER_A","draw_commitment"`, `"entropy_commitments"`, `"transcript_digest"`, `"journal_head_signature"`, `"results"`}
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, nil)
		for _, e := range w.Recorder.All(func(*leaguetest.Exchange) bool { return true }) {
			for _, addition := range additions {
				assert.NotContains(t, string(e.Message)+string(e.Answer), addition, e.Method)
			}
		}
	})
}

// A tamperingCaller is the caller of a referee that changes what it tells.
type tamperingCaller struct {
	protocol.Caller
	tamper func(message any) any // returns a copy, or the message
}

func (c tamperingCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	r.Params = c.tamper(r.Params)
	return c.Caller.Call(ctx, r)
}

// registerTampering registers REF01, a referee that changes what it tells.
func registerTampering(w *leaguetest.World, tamper func(message any) any, traits ...leaguetest.Option) error {
	a := w.RefereeWith("REF01", traits, func(o *referee.Options) { o.Caller = tamperingCaller{o.Caller, tamper} })
	return a.Referee.Register(w.Context)
}

// A liar is a referee that invents a result.
type liar struct {
	choice, entropy bool // it changes the choice of P01, or its entropy
	reportOnly      bool // GAME_OVER is true
}

func (l *liar) tamper(message any) any {
	switch q := message.(type) {
	case *protocol.GameOver:
		if !l.reportOnly {
			changed := *q
			result, draw := l.lie(*q.GameResult, *q.Draw)
			changed.GameResult, changed.Draw = &result, &draw
			return &changed
		}
	case *protocol.MatchResultReport:
		changed := *q
		result, draw := l.lie(q.Result.Result, *q.Draw)
		changed.Draw = &draw
		state(&changed, result)
		return &changed
	}
	return message
}

// lie returns a result with another choice or entropy of P01, as it follows from the rules.
func (l *liar) lie(result league.Result, draw protocol.Draw) (league.Result, protocol.Draw) {
	if l.choice {
		moves := result.Moves([2]string{"P01", "P02"})
		flipped := map[string]string{"even": "odd", "odd": "even"}[moves[0]]
		result.Choices = league.Both("P01", &flipped, "P02", &moves[1])
	}
	if l.entropy {
		invented := protocol.Secret(leaguetest.SecretOf("invented"))
		theirs, _ := draw.Entropies.Get("P02")
		draw.Entropies = league.Both("P01", invented.Hex(), "P02", theirs)
		if draw.EntropyCommitments != nil {
			theirs, _ := draw.EntropyCommitments.Get("P02")
			ours := protocol.EntropyCommitment("R1M1", "P01", invented)
			draw.EntropyCommitments = league.Both("P01", ours, "P02", theirs)
		}
	}
	return judged(result, &draw), draw
}

// judged is a result of Even/Odd as it follows from its choices and a draw.
func judged(result league.Result, draw *protocol.Draw) league.Result {
	ids := [2]string{"P01", "P02"}
	chance := rules.Chance{}
	chance.Nonce, _ = protocol.ParseSecret(draw.Nonce)
	for i, into := range []*[32]byte{&chance.EntropyA, &chance.EntropyB} {
		text, _ := draw.Entropies.Get(ids[i])
		*into, _ = protocol.ParseSecret(text)
	}
	verdict := evenodd.Game{}.Start().Play(result.Moves(ids)).Judge(chance)
	result.Status, result.WinnerPlayerID = league.StatusDraw, nil
	if winner := verdict.WinnerOf(ids); winner != "" {
		result.Status, result.WinnerPlayerID = league.StatusWin, &winner
	}
	result.DrawnNumber, result.NumberParity, result.Reason = &verdict.Number, &verdict.Parity, verdict.Reason(ids)
	return result
}

// state has a report tell a result.
func state(q *protocol.MatchResultReport, result league.Result) {
	result.Faults, result.Fallbacks = q.Result.Faults, q.Result.Fallbacks
	q.Result.Result = result
}

// Each lie decides the match if nobody signs, and is rejected if the players sign. Another
// referee then conducts the match.
func TestLieOfARefereeIsRejected(t *testing.T) {
	for name, l := range map[string]liar{
		"flipped choice":                       {choice: true},
		"invented entropy":                     {entropy: true},
		"both":                                 {choice: true, entropy: true},
		"a true GAME_OVER with a false report": {choice: true, reportOnly: true},
		"a true GAME_OVER and an invented entropy": {entropy: true, reportOnly: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, signs := range []bool{false, true} {
				leaguetest.RunInMemory(t, map[bool]string{true: "signed", false: "unsigned"}[signs], func(t *testing.T, w *leaguetest.World) {
					w.StartManager(2, 2, func(o *manager.Options) {
						o.Signatures = map[bool]string{true: journal.SignaturesOptional}[signs]
					})
					require.NoError(t, registerTampering(w, l.tamper))
					w.Referee("REF02")
					w.Players(2, leaguetest.WithStrategy("even"))
					w.Finish()
					results := leaguetest.Results(w.Manager)
					require.Len(t, results, 1)
					if !signs {
						assert.Equal(t, "REF01", results[0].RefereeID, "without signatures the lie counts")
						return
					}
					assert.Equal(t, "REF02", results[0].RefereeID)
					assert.Equal(t, [2]string{"even", "even"}, results[0].LastMoves())
				})
			}
		})
	}
}

// A player that signs another move loses like one that answers wrongly: after the retries, and
// only this match. The referee never relays a choice that the manager would reject.
func TestPlayerWithoutAValidSignatureLosesTechnically(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		reply := leaguetest.EditAnswer("parity_choice", "even") // which is not what it signs
		w.StartManager(3, 1, signing)
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithStrategy("even"))
		w.Player("P02", leaguetest.WithStrategy("odd"), leaguetest.On(protocol.ChooseParity.Name, leaguetest.FirstN(4, reply, leaguetest.Normally)))
		w.Player("P03", leaguetest.WithStrategy("even"))
		w.Finish()
		errors := w.GameErrors()
		require.Len(t, errors, 4, "a first question and three retries")
		for _, e := range errors {
			assert.Equal(t, []any{"p02", protocol.ErrInvalidFieldType}, []any{e.To, e.Code})
		}
		results := leaguetest.Results(w.Manager)
		require.Len(t, results, 3, "no match is blocked")
		lost := slices.IndexFunc(results, func(r record.Match) bool { return r.Status == league.StatusTechnicalLoss })
		require.GreaterOrEqual(t, lost, 0)
		for i, r := range results {
			assert.Equal(t, i == lost, r.Status == league.StatusTechnicalLoss)
		}
		for _, r := range reports(w, "ref01") {
			for _, c := range r.Result.Choices {
				_, signed := r.Signatures.Get(c.Name)
				assert.Equal(t, c.Value != nil, signed, "%s of %s", c.Name, r.MatchID)
			}
		}
		assert.Len(t, reports(w, "ref01"), 3, "the manager accepts each report at once")
	})
}

// Without a key a player plays as before in a league that signs.
func TestPlayerWithoutAKeyPlaysInALeagueThatSigns(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		playTwo(w, signing, leaguetest.WithoutKey)
		assert.Empty(t, w.GameErrors())
		asked := leaguetest.Decode[protocol.ChooseParityCall](w.OnlyCall(protocol.ChooseParity.Name, "p02").Message)
		assert.Equal(t, protocol.SignatureRequest{}, asked.SignatureRequest)
		signatures := reports(w, "ref01")[0].Signatures
		require.Len(t, signatures, 1)
		assert.Equal(t, "P01", signatures[0].Name)
		assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(w.Manager)[0].Status)
	})
}
