package simulation_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/faults"
	"evenodd/league/view/record"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// A swarmLeague is a finished league with its options and its faults.
type swarmLeague struct {
	options  simulation.Options
	result   *simulation.Result
	report   *audit.Report
	injected map[[2]string][]string // faults by match and player
	took     time.Duration          // of virtual time
}

// swarmChecks are the invariants of every league. Each returns the violations.
var swarmChecks = map[string]func(*swarmLeague) []string{
	"no time passes":                    noTimePasses,
	"one result a match":                oneResultEach,
	"the table is that of the results":  tableOfResults,
	"only faulty players lose":          onlyFaultyPlayersLose,
	"a player loses by its own failure": lossesFollowFromFaults,
	"the audit has no findings":         auditFindsNothing,
	"no match has two results":          noDisputes,
}

// noTimePasses checks that only the checks for dead referees take time.
func noTimePasses(l *swarmLeague) []string {
	if l.took >= time.Second {
		return []string{fmt.Sprintf("the league took %s", l.took)}
	}
	return nil
}

// oneResultEach checks that each match of the schedule has one result, and that no player
// plays twice in a round.
func oneResultEach(l *swarmLeague) (problems []string) {
	players, t := l.options.Players, l.options.Tournament
	want, often := players*(players-1)/2*l.options.Legs, l.options.Legs // the matches, and those of each pair
	switch {
	case t.IsSwiss():
		want, often = players/2*l.result.State.Round, 1
	case t.IsGauntlet():
		want = t.Gauntlet * (players - t.Gauntlet) * l.options.Legs
	case t.Format() == journal.FormatKnockout:
		want, often = 0, 8 // with replays, and again for the third place
		problems = append(problems, eliminated(l)...)
	case t.HasBracket():
		want, often = 0, 20 // with replays, in both brackets, and twice in the final
	}
	if want > 0 && l.result.State.Recorded != want {
		problems = append(problems, fmt.Sprintf("%d results of %d matches", l.result.State.Recorded, want))
	}
	seen := map[string]bool{}
	met := map[[2]string]int{}
	for _, m := range matchesOf(l.result) {
		pair := []string{m.PlayerAID, m.PlayerBID}
		for _, id := range append(pair, m.MatchID) {
			key := fmt.Sprintf("round %d: %s", m.RoundID, id)
			if seen[key] {
				problems = append(problems, key+" twice")
			}
			seen[key] = true
		}
		slices.Sort(pair)
		met[[2]string(pair)]++
	}
	for pair, times := range met {
		if times > often || t.IsFixed() && times != often {
			problems = append(problems, fmt.Sprintf("%s and %s have %d results", pair[0], pair[1], times))
		}
	}
	return problems
}

// eliminated checks that a player of a knockout that loses plays no more, except for
// third place, and that the champion does not lose.
func eliminated(l *swarmLeague) (problems []string) {
	lost := map[string]int{}
	for _, m := range matchesOf(l.result) {
		for _, id := range []string{m.PlayerAID, m.PlayerBID} {
			if lost[id] > 1 || lost[id] == 1 && l.result.State.Round-m.RoundID >= 4 {
				problems = append(problems, fmt.Sprintf("%s plays in %s after it was eliminated", id, m.MatchID))
			}
			if m.Status != league.StatusDraw && m.Winner() != id {
				lost[id]++
			}
		}
	}
	matches := matchesOf(l.result)
	champion, last := l.result.State.Champion().PlayerID, matches[len(matches)-1]
	doubleLoss := slices.ContainsFunc(matches, func(m record.Match) bool {
		return m.RoundID >= last.RoundID-3 && len(losers(m)) == 2
	})
	if lost[champion] > 0 && !doubleLoss {
		problems = append(problems, champion+" is the champion, and lost a match")
	}
	return problems
}

// tableOfResults recomputes the table.
func tableOfResults(l *swarmLeague) (problems []string) {
	rows := map[string]*league.Standing{}
	row := func(id string) *league.Standing {
		if rows[id] == nil {
			rows[id] = &league.Standing{}
		}
		return rows[id]
	}
	s := league.DefaultScoring()
	for _, m := range matchesOf(l.result) {
		for _, id := range []string{m.PlayerAID, m.PlayerBID} {
			r := row(id)
			r.Played++
			switch {
			case m.Status == league.StatusDraw:
				r.Draws++
				r.Points += s.Draw
			case m.Winner() == id:
				r.Wins++
				r.Points += s.Win
			case m.Status == league.StatusTechnicalLoss:
				r.Losses++
				r.TechnicalLosses++
				r.Points += s.TechnicalLoss
			default:
				r.Losses++
				r.Points += s.Loss
			}
		}
	}
	if l.options.Tournament.IsSwiss() {
		swissScores(l, row)
	}
	for _, got := range l.result.Players {
		want := *row(got.PlayerID)
		want.Player, want.Rank, want.PlayerID, want.DisplayName, want.Strategy = got.Player, got.Rank, got.PlayerID, got.DisplayName, got.Strategy
		want.ShownName = got.ShownName
		want.Tied, want.DecidedBy, want.ByPoints, want.Fallbacks = got.Tied, got.DecidedBy, got.ByPoints, got.Fallbacks
		want.TiebreakValues = got.TiebreakValues
		if !reflect.DeepEqual(got, want) {
			problems = append(problems, fmt.Sprintf("%s: %+v in the table, by the results %+v", got.PlayerID, got, want))
		}
		if got.Wins+got.Draws+got.Losses != got.Played {
			problems = append(problems, got.PlayerID+": won, drawn and lost matches are not those it played")
		}
	}
	return problems
}

// swissScores adds the byes, the points that they give, and the scores of the opponents. A match that neither player
// began, and a bye, count against a dummy.
func swissScores(l *swarmLeague, row func(id string) *league.Standing) {
	points, most := league.DefaultScoring().Win, league.DefaultScoring().Win*l.result.State.Round/2
	for _, r := range l.result.Players {
		s := row(r.PlayerID)
		byes := l.result.State.Round - s.Played
		s.Byes, s.Buchholz, s.SonnebornBerger = &byes, new(int), new(float64)
		s.Points += byes * points
	}
	for _, r := range l.result.Players {
		s := row(r.PlayerID)
		*s.Buchholz = *s.Byes * min(s.Points, most)
		*s.SonnebornBerger = float64(*s.Buchholz)
	}
	for _, m := range matchesOf(l.result) {
		for _, pair := range [][2]string{{m.PlayerAID, m.PlayerBID}, {m.PlayerBID, m.PlayerAID}} {
			s, score := row(pair[0]), row(pair[1]).Points
			if m.Status == league.StatusTechnicalLoss && m.LastMoves()[0] == "" && m.LastMoves()[1] == "" {
				score = min(score, s.Points)
			}
			*s.Buchholz += score
			switch {
			case m.Winner() == pair[0]:
				*s.SonnebornBerger += float64(score)
			case m.Status == league.StatusDraw:
				*s.SonnebornBerger += float64(score) / 2
			}
		}
	}
}

// losers returns the players that lost a match technically.
func losers(m record.Match) []string {
	var ids []string
	for _, id := range []string{m.PlayerAID, m.PlayerBID} {
		if m.Status == league.StatusTechnicalLoss && m.Winner() != id {
			ids = append(ids, id)
		}
	}
	return ids
}

// onlyFaultyPlayersLose checks that a player with a technical loss had a fault in that
// match, or was suspended for earlier failures.
func onlyFaultyPlayersLose(l *swarmLeague) (problems []string) {
	lost := map[string]int{}
	for _, m := range matchesOf(l.result) {
		for _, id := range losers(m) {
			fault := slices.ContainsFunc(l.injected[[2]string{m.MatchID, id}], func(f string) bool { return f != faults.Doubled.String() })
			if !fault && !suspended(m, lost[id]) {
				problems = append(problems, fmt.Sprintf("%s lost %s technically, and nothing was wrong with it: %s", id, m.MatchID, m.Reason))
			}
			lost[id]++
		}
	}
	return problems
}

// suspended tells whether a player was suspended before a match: it has failed often,
// and no referee conducted the match.
func suspended(m record.Match, before int) bool { return m.RefereeID == "" && before >= 3 }

// lossesFollowFromFaults computes the failing players of each match and their failures
// from the plan alone, and compares them with the results.
func lossesFollowFromFaults(l *swarmLeague) (problems []string) {
	plan, err := faults.Parse(l.options.Faults)
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range matchesOf(l.result) {
		if m.RefereeID == "" {
			continue // a forfeit: the players were not asked
		}
		want := map[string]string{}
		ask := func(method string) {
			for _, id := range []string{m.PlayerAID, m.PlayerBID} {
				if code, failed := failure(plan, l.options.Seed, m, id, method); failed {
					want[id] = code
				}
			}
		}
		ask(protocol.Invite.Name)
		switch {
		case len(want) > 0:
		case l.options.GameType == tictactoe.Type:
			problems = append(problems, failureInTurn(plan, l.options.Seed, m)...)
			continue
		case l.options.GameType == evenodd.Type:
			ask(protocol.ChooseParity.Name)
		default:
			ask(protocol.MakeMove.Name)
		}
		got := map[string]string{}
		for _, id := range losers(m) {
			got[id], _ = m.Faults.Get(id)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) { // fmt sorts the keys of maps
			problems = append(problems, fmt.Sprintf("%s: lost %v, by the plan %v", m.MatchID, got, want))
		}
	}
	return problems
}

// failure returns the failure of a player after all retries; "" for none.
func failure(plan *faults.Plan, seed uint64, m record.Match, id, method string) (code string, failed bool) {
	switch {
	case faults.Active(plan.Crash, id, m.RoundID):
		return string(protocol.ErrConnection), true
	case faults.Active(plan.Hang, id, m.RoundID):
		return string(protocol.ErrTimeout), true
	}
	code, _, failed = asked(plan, seed, m, id, method, 0)
	return code, failed || method == protocol.Invite.Name && faults.Active(plan.Deny, id, m.RoundID)
}

// asked returns the failure of one question to a player. Tries counts the call attempts
// of this method, before and after the question.
func asked(plan *faults.Plan, seed uint64, m record.Match, id, method string, tries int) (
	code string, after int, failed bool,
) {
	for range 1 + protocol.DefaultRetryPolicy().MaxRetries {
		try := tries
		tries++
		switch fate := plan.FaultOf(seed, faults.Message{Caller: "referee", Receiver: id, Method: method, About: m.MatchID, Repetition: try}); fate {
		case faults.LostRequest, faults.LostAnswer, faults.Late:
			code = string(protocol.ErrTimeout)
		case faults.Garbled:
			code = string(protocol.ErrConnection)
		default:
			return "", tries, false
		}
	}
	return code, tries, true
}

// failureInTurn computes the player that fails first when both are asked in turn. The
// result does not contain the number of moves; without a failure there are at least
// five.
func failureInTurn(plan *faults.Plan, seed uint64, m record.Match) (problems []string) {
	ids := [2]string{m.PlayerAID, m.PlayerBID}
	lost := losers(m)
	tries := [2]int{}
	for turn := range 9 {
		side := turn % 2
		code, after, failed := asked(plan, seed, m, ids[side], protocol.MakeMove.Name, tries[side])
		tries[side] = after
		if !failed {
			continue
		}
		got, _ := m.Faults.Get(ids[side])
		over := turn >= 5 && len(lost) == 0 // before the failure
		if !over && (len(lost) != 1 || lost[0] != ids[side] || got != code) {
			problems = append(problems, fmt.Sprintf("%s: lost %v, by the plan %s with %s in turn %d", m.MatchID, lost, ids[side], code, turn+1))
		}
		return problems
	}
	if len(lost) > 0 {
		problems = append(problems, fmt.Sprintf("%s: lost %v, by the plan no player", m.MatchID, lost))
	}
	return problems
}

// auditFindsNothing checks that the audit of the files has no findings.
func auditFindsNothing(l *swarmLeague) (problems []string) {
	for _, audited := range l.report.Leagues {
		for _, f := range audited.Findings {
			problems = append(problems, f.String())
		}
	}
	return problems
}

// noDisputes checks that this program's referees report one result for each match, that its
// players conform to the protocol, and that a player denies only a match of which each message to
// it was lost.
func noDisputes(l *swarmLeague) (problems []string) {
	plan, err := faults.Parse(l.options.Faults)
	if err != nil {
		return []string{err.Error()}
	}
	for _, audited := range l.report.Leagues {
		for _, f := range audited.Notes {
			denied := f.Rule == audit.RuleDispute && strings.HasPrefix(f.AgentID, "P")
			if f.Rule == audit.RuleConformance || f.Rule == audit.RuleDispute && !denied || denied && reached(plan, l.options.Seed, f.MatchID, f.AgentID) {
				problems = append(problems, f.String())
			}
		}
	}
	return problems
}

// reached tells whether an invitation to a match reaches a player.
func reached(plan *faults.Plan, seed uint64, matchID, id string) bool {
	for try := range 1 + protocol.DefaultRetryPolicy().MaxRetries {
		m := faults.Message{Caller: "referee", Receiver: id, Method: protocol.Invite.Name, About: matchID, Repetition: try}
		if plan.FaultOf(seed, m) != faults.LostRequest {
			return true
		}
	}
	return false
}

func TestKeysStayTheSame(t *testing.T) {
	// Computed by another program: a seed gives the same league in every version.
	for _, tt := range []struct {
		name string
		key  protocol.Secret
		want string
	}{
		{"nonce", simulation.Nonce(7, "R1M1"), "e688895195d84613c0ca337cc64136feafcdf1cebede9e81113bb59755debdb7"},
		{"entropy", simulation.Entropy(7, "R1M1", "P02"), "76b48d0ea4cc963dd00be423f2a3f47135bb1ea40ff824d855e634e4e91e0ff4"},
		{"second choice in a match, largest seed", simulation.Derive(1<<64-1, "choice", "R12M3/1", "P100"),
			"311dc756eab913d4a3919fe20a3fa0a16a7e517b1d4fda79ce84a8619cd14126"},
	} {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, tt.key.Hex()) })
	}
	t.Run("a choice's source begins with its key", func(t *testing.T) {
		const high, low = 0x311dc756eab913d4, 0xa3919fe20a3fa0a1
		assert.Equal(t, rand.New(rand.NewPCG(high, low)).Uint64(), simulation.Random(1<<64-1, "P100", "R12M3/1").Uint64())
	})
}

// A key determines the random values of a decision.
type key struct {
	seed       uint64
	what, a, b string
}

func (k key) derive() protocol.Secret { return simulation.Derive(k.seed, k.what, k.a, k.b) }

func TestDifferentDecisionsHaveDifferentKeys(t *testing.T) {
	// Few letters, so that two keys often have the same concatenated parts; zero bytes,
	// because lengths contain them.
	part := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune("R1M\x00\x01")), 0, 4, -1),
		rapid.SampledFrom([]string{"R1M1", "R1M11", "R11M1", "R1M1/1", "P01", "P10", "P011"}),
		rapid.StringN(0, 200, 1000), // longer than usual ids
	)
	any1 := rapid.Custom(func(t *rapid.T) key {
		return key{
			rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "seed"),
			rapid.SampledFrom([]string{"nonce", "entropy", "choice"}).Draw(t, "what"),
			part.Draw(t, "a"), part.Draw(t, "b"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		keys := map[protocol.Secret]key{}
		for _, k := range rapid.SliceOfN(any1, 2, 30).Draw(t, "keys") {
			secret := k.derive()
			if other, taken := keys[secret]; taken {
				assert.Equal(t, other, k, "two decisions, one key")
			}
			keys[secret] = k
			assert.Equal(t, secret, k.derive(), "the same decision, the same key")
		}
	})
}
