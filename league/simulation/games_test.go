package simulation_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

// marks returns the options of a league of Tic-Tac-Toe.
func marks(players int, strategies ...string) simulation.Options {
	o := options(players)
	o.GameType, o.Strategies = tictactoe.Type, strategies
	o.Games = rules.NewRegistry(evenodd.Game{}, rockpaperscissors.Game{}, tictactoe.Game{})
	return o
}

func TestSameSeedGivesTheSameLeague(t *testing.T) {
	t.Parallel()
	hands := marks(6, everyday()...)
	hands.GameType = rockpaperscissors.Type
	swiss, knockout, double, gauntlet, byes := options(13), options(13), options(7), options(6), options(11)
	swiss.Tournament = &journal.Tournament{Algorithm: pairing.Swiss}
	knockout.Tournament = &journal.Tournament{Algorithm: pairing.Knockout}
	double.Tournament = &journal.Tournament{Algorithm: pairing.DoubleElimination}
	gauntlet.Tournament = &journal.Tournament{Algorithm: pairing.Gauntlet, Gauntlet: 2}
	hands.Legs, byes.Legs, gauntlet.Legs = 2, 2, 2
	for name, o := range map[string]simulation.Options{
		"tic_tac_toe": marks(7, append(everyday(), "perfect")...), "rock_paper_scissors, two legs": hands,
		"swiss": swiss, "knockout": knockout, "double elimination": double, "gauntlet": gauntlet,
		"an odd number of players, two legs": byes,
	} {
		t.Run(name, func(t *testing.T) {
			first := run(t, o)
			assert.Equal(t, o.GameType, first.State.Created.GameType)
			for _, transport := range transports {
				for _, concurrency := range []int{1, 64} {
					o.Transport, o.Concurrency = transport, concurrency
					assert.Equal(t, outcomeOf(first), outcomeOf(run(t, o)), "%s, %d matches at once", transport, concurrency)
				}
			}
			o.Seed++
			assert.NotEqual(t, matchesOf(first), matchesOf(run(t, o)))
		})
	}
}

func TestPerfectPlayersDraw(t *testing.T) {
	o := marks(8, "perfect")
	o.Legs = 2
	r := run(t, o)
	require.Len(t, matchesOf(r), 56)
	lasts := map[string]bool{}
	for _, m := range matchesOf(r) {
		assert.Equal(t, league.StatusDraw, m.Status, m.MatchID)
		lasts[m.LastMoves()[0]+m.LastMoves()[1]] = true
	}
	assert.Greater(t, len(lasts), 5, "the last moves differ")
}

// stored plays a league and returns its folder.
func stored(t *testing.T, o simulation.Options) store.Folder {
	t.Helper()
	folder := store.In(t.TempDir())
	o.Files = openFiles(t, folder, o.LeagueID)
	run(t, o)
	require.NoError(t, o.Files.Close())
	return folder
}

// audited returns the rules of the findings and notes of an audit.
func audited(t *testing.T, folder store.Folder, games rules.Registry) (findings, notes []audit.Finding) {
	t.Helper()
	report, err := audit.Run(folder, audit.Options{Games: games})
	require.NoError(t, err)
	require.Len(t, report.Leagues, 1)
	return report.Leagues[0].Findings, report.Leagues[0].Notes
}

// The audit of an unchanged league has no findings, and each change of a match file is a
// finding.
func TestAuditChecksGamesWithSeveralMoves(t *testing.T) {
	t.Parallel()
	o := marks(4, "perfect", "random")
	folder := stored(t, o)
	findings, notes := audited(t, folder, o.Games)
	require.Empty(t, findings)
	require.Empty(t, notes)

	path := folder.Match(o.LeagueID, "R1M1")
	doc, err := store.Read[store.Match](disk.Real{}, path)
	require.NoError(t, err)
	require.NoError(t, store.WriteDerived(disk.Real{}, path, doc)) // the patterns below are of an indented file
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	findings, notes = audited(t, folder, o.Games)
	require.Empty(t, findings, "the digest does not depend on the indentation")
	require.Empty(t, notes)
	require.Equal(t, league.StatusWin, doc.Result.Status, "the forgeries below need a match with a winner")
	moves := slices.DeleteFunc(slices.Clone(doc.Transcript), func(e store.Exchange) bool {
		return e.Method != protocol.MakeMove.Name || e.Direction != store.Received
	})
	last := len(moves) - 1
	var chosen []string
	for _, m := range moves {
		chosen = append(chosen, leaguetest.Decode[protocol.GameMoveResponse](m.Message).MoveData.Choice)
	}
	taken := func(cell string) bool { return slices.Contains(chosen, cell) }
	free := slices.DeleteFunc(strings.Split("012345678", ""), taken)
	require.NotEmpty(t, free, "the board has a free cell")
	another := `"choice": "` + free[0] + `"`
	// replacing replaces the n-th occurrence of a pattern.
	replacing := func(pattern string, n int, by string) func(text string) string {
		return func(text string) string {
			places := regexp.MustCompile(pattern).FindAllStringIndex(text, -1)
			require.Greater(t, len(places), n, pattern)
			return text[:places[n][0]] + by + text[places[n][1]:]
		}
	}
	a, b := doc.PlayerA.PlayerID, doc.PlayerB.PlayerID
	opponent := map[string]string{a: b, b: a}
	const spoken = `"choice": "\d"`
	const asked = `(?s)"valid_options": \[[^\]]*\]`
	for _, test := range []struct {
		name       string
		forge      func(text string) string
		rule, says string
	}{
		{"the first move is another", replacing(spoken, 0, another),
			audit.RuleTranscript, "move_request.context.board in the GAME_MOVE_CALL"},
		{"the last move is another", replacing(spoken, last, another), audit.RuleTranscript, "in the transcript it is"},
		{"the winning move is another", replacing(spoken, last, another),
			audit.RuleTranscript, "are not those in the transcript"},
		{"a move into a cell that is taken", replacing(spoken, 1, `"choice": "`+chosen[0]+`"`),
			audit.RuleTranscript, "is no legal move"},
		{"another board was shown", replacing(`"board": "[XO.]*"`, 1, `"board": "........."`),
			audit.RuleTranscript, "move_request.context.board in the GAME_MOVE_CALL"},
		{"another opponent was named",
			replacing(`"opponent_id": "P\d\d",\s+"round_id"`, 0, `"opponent_id": "P09", "round_id"`),
			audit.RuleTranscript, "move_request.context.opponent_id in the GAME_MOVE_CALL"},
		{"an option was hidden", replacing(asked, 0, `"valid_options": ["0"]`),
			audit.RuleTranscript, "move_request.valid_options in the GAME_MOVE_CALL"},
		{"another kind of move was asked for",
			replacing(`"move_type": "place_mark",\s+"valid_options"`, 0, `"move_type": "remove_mark", "valid_options"`),
			audit.RuleTranscript, `is "remove_mark"; in R1M1 it is "place_mark"`},
		{"a legal move was refused", func(text string) string {
			refusal := `"error": {"error_code": "E010", "error_name": "ILLEGAL_MOVE", "detail": "no"}, `
			at := regexp.MustCompile(`(?s)"message": \{[^{}]*"move_data"`).FindAllStringIndex(text, -1)
			return text[:at[last][0]] + refusal + text[at[last][0]:]
		}, audit.RuleTranscript, "but is a legal move"},
		{"a player moves out of turn", func(text string) string {
			at := regexp.MustCompile(`"player_id": "(P\d\d)",\s+"method": "make_move"`).FindAllStringSubmatchIndex(text, -1)
			return text[:at[0][2]] + opponent[text[at[0][2]:at[0][3]]] + text[at[0][3]:]
		}, audit.RuleTranscript, "when it had none to make"},
		{"the winner is another", func(text string) string {
			winner := *doc.Result.WinnerPlayerID
			const member = `"winner_player_id": "`
			return strings.ReplaceAll(text, member+winner, member+opponent[winner])
		}, audit.RuleMatchFile, "result.winner_player_id is"},
		{"entropy that was not promised",
			replacing(`"entropy": "[0-9a-f]{64}"`, 2, `"entropy": "`+strings.Repeat("07", 32)+`"`),
			audit.RuleCommitment, "is not what it committed to"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forged := test.forge(string(whole))
			require.NotEqual(t, string(whole), forged)
			require.NoError(t, os.WriteFile(path, []byte(forged), 0o600))
			found, _ := audited(t, folder, o.Games)
			assert.True(t, slices.ContainsFunc(found, func(f audit.Finding) bool {
				return f.Rule == test.rule && strings.Contains(f.String(), test.says)
			}), "%q of %s is not among %v", test.says, test.rule, found)
			again, _ := audited(t, folder, o.Games)
			assert.Equal(t, found, again, "the audit is deterministic")
		})
	}
}
