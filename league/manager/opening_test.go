package manager_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// withOpenings begins each pair of four legs with the same three plies.
func withOpenings(o *manager.Options) { o.Legs, o.Openings, o.Pace = 4, 3, 5 }

// Both matches of a pair of legs have one opening, also after a rematch and when another manager resumes the league;
// the next two legs have another one.
func TestPairOfLegsBeginsWithOneOpening(t *testing.T) {
	for name, game := range map[string]rules.Game{"of this program": tictactoe.Game{}, "of a program": nil} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			if w.Game = game; game == nil {
				playsProgram(w, tictactoe.Game{})
			}
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 2, signed, withOpenings)
			w.RefereeWithFiles("REF01", folder)
			w.RefereeWithFiles("REF02", folder)
			playersIn(w, folder, 2)
			w.WaitUntil(7 * leaguetest.Second) // after round 1
			w.Organise(protocol.CommandRematch, leaguetest.OfMatch("R1M1"))
			w.WaitUntil(8 * leaguetest.Second)
			x.Kill()
			x = w.StartManagerIn(folder, 2, 2, signed, withOpenings)
			x.Finish()
			require.NoError(t, x.CloseFiles())
			state, _ := w.FoldJournal(folder)
			if game != nil {
				state = w.CheckAudited(folder)
			}
			var openings [][]string
			for _, m := range state.Matches() {
				require.Len(t, m.Report.Opening, 3)
				assert.Equal(t, journal.GradeProven, m.Report.Grade)
				openings = append(openings, m.Report.Opening)
			}
			require.Len(t, openings, 4)
			assert.Equal(t, openings[0], openings[1])
			assert.Equal(t, openings[2], openings[3])
			assert.NotEqual(t, openings[0], openings[2], "or two of 504 openings are equal")
			first := state.Match(league.MatchID{Round: 1, Number: 1})
			require.Len(t, first.Annulled, 1)
			assert.Equal(t, openings[0], first.Annulled[0].Report.Opening)
			for _, offer := range w.Calls(protocol.StartMatch.Name) {
				q := leaguetest.Decode[protocol.MatchAssignment](offer.Message)
				assert.Equal(t, openings[q.RoundID-1], q.Opening)
			}
			for _, call := range w.Calls(protocol.MakeMove.Name) {
				q := leaguetest.Decode[protocol.GameMoveCall](call.Message)
				id, _ := league.ParseMatchID(q.MatchID)
				assert.Equal(t, openings[id.Round-1], q.Opening)
			}
		})
	}
}

// A player that knows nothing of openings plays by what the question shows.
func TestPlayerThatIgnoresTheOpeningPlays(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, withOpenings, func(o *manager.Options) { o.Openings = 6 })
		w.RefereeWithFiles("REF01", folder)
		for _, id := range []string{"P01", "P02"} {
			w.Player(id, leaguetest.On(protocol.MakeMove.Name, func(c *leaguetest.Call) (jsontext.Value, error) {
				q := leaguetest.Decode[protocol.GameMoveCall](c.Message)
				require.Len(t, q.MoveRequest.ValidOptions, 10-int(q.MoveRequest.Context["move_number"].(float64)))
				r := &protocol.GameMoveResponse{
					Envelope: protocol.NewStamp(protocol.PlayerSender(id), w.Clock).Envelope(protocol.MakeMove.Result, q.ConversationID),
					MatchID:  q.MatchID, PlayerID: id, GameType: q.GameType,
					MoveData:  protocol.MoveData{MoveType: q.MoveRequest.MoveType, Choice: q.MoveRequest.ValidOptions[0]},
					MoveProof: protocol.MoveProof{Entropy: w.Entropy(q.MatchID, id).Hex()},
				}
				r.AuthToken = q.AuthToken
				return leaguetest.Encode(r), nil
			}))
		}
		x.Finish()
		require.NoError(t, x.CloseFiles())
		for _, m := range w.CheckAudited(folder).Matches() {
			assert.NotEqual(t, league.StatusTechnicalLoss, m.Report.Status)
			assert.Equal(t, journal.GradeRecomputed, m.Report.Grade)
			assert.Less(t, len(m.Report.Evidence.Moves), 4, "three cells are left")
		}
	})
}

func TestReportOfAnotherOpeningIsRejected(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		w.StartManager(2, 1, withOpenings)
		w.PingOnly("little")
		r := w.RefereeApplication("Little")
		r.RefereeMeta.GameTypes = []string{tictactoe.Type}
		assert.Equal(t, `matches of this league have the feature "openings": register with "features": ["openings"] in `+
			`referee_meta if the referee conducts them so`, *mustApplyReferee(w, r).Reason)

		w.Referee("REF01", w.OnlyAccepting())
		w.Players(2)
		w.WaitUntil(w.Now() + 7*leaguetest.Second) // round 1 has begun
		assigned := leaguetest.Decode[protocol.MatchAssignment](w.OnlyCall(protocol.StartMatch.Name, "ref01").Message)
		winner := "P01"
		q := w.ReportOf("REF01", "R1M1", &winner, "P01", "P02", 3, 0)
		q.GameType, q.Attempt = tictactoe.Type, 1
		for _, opening := range [][]string{nil, {"0", "1", "2"}} {
			q.Opening = opening
			_, err := w.Report(q)
			require.ErrorContains(t, err, "opening: it is not that of the assignment")
		}
		q.Opening = assigned.Opening
		_, err := w.Report(q)
		require.NoError(t, err)
	})
}

func TestLeaguesThatCannotHaveOpenings(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		for name, tt := range map[string]struct {
			game   rules.Game
			change func(*manager.Options)
			want   string
		}{
			"an odd number of legs":  {tictactoe.Game{}, func(o *manager.Options) { o.Legs = 3 }, "set legs to 4"},
			"a game that ends early": {tictactoe.Game{}, func(o *manager.Options) { o.Openings = 9 }, "no openings of 9 plies"},
			"simultaneous moves":     {evenodd.Game{}, func(*manager.Options) {}, "do not move in turn"},
		} {
			w.Game = tt.game
			_, o := w.OpenManager(leaguetest.CrashPoint{}, leaguetest.TempFolder(t), 0, 1, withOpenings, tt.change)
			_, err := manager.New(o)
			assert.ErrorContains(t, err, tt.want, name)
		}
	})
}
