package conduct_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A message that agents do not read would lose a player its match. So it is an error of the program.
func TestProgramMayNotExceedTheLimitOfAMessage(t *testing.T) {
	long := func(n int) *rules.State {
		q := &rules.Question{MoveType: "say", Options: []string{strings.Repeat("x", n)}, View: "you"}
		return &rules.State{ToMove: [2]*rules.Question{q, q}}
	}
	for name, test := range map[string]struct {
		info  rules.Info
		bytes []int // of the options, turn by turn; the last one is too long
		says  string
	}{
		"a question": {rules.Info{}, []int{7000, 9000}, "in turn 2 a question has 25147 bytes, more than the 10 KB"},
		"a large one": {rules.Info{Large: true}, []int{9000, 15_000, 61_000},
			"more than the 64 KB of a message: make views and options smaller"},
		"all moves so far": {rules.Info{}, []int{1500, 1500, 1500}, "in turn 3 the report has 10"},
		"no JSON":          {rules.Info{}, []int{-1}, "what the program says has no encoding as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			test.info.Type = "long_test"
			m := conduct.New(conduct.Version, assignmentOf("long_test"), rules.NewProgram(test.info, 9), "REF01",
				protocol.Secret{2}, protocol.FormatTimestamp)
			m.Next()
			accepts(m)
			for i, n := range test.bytes {
				state := long(max(n, 0))
				if n < 0 {
					state.ToMove[0].View = func() {}
				}
				require.NoError(t, m.Told(state))
				err := m.CheckSize(state)
				if i == len(test.bytes)-1 {
					require.ErrorContains(t, err, test.says)
					return
				}
				require.NoError(t, err)
				for _, side := range m.Next() {
					m.Take(side, m.Judge(side, &conduct.Attempt{Reply: &conduct.Reply{Type: protocol.TypeGameMoveResponse,
						Choice: state.ToMove[side].Options[0]}}))
				}
			}
		})
	}
}

// Commitments to secret moves are longer than the moves.
func TestQuestionWithCommitmentsToSecretMovesIsNotTooLarge(t *testing.T) {
	for _, view := range []int{10, 500, 1500, 3000} {
		m := conduct.New(conduct.Version, signedAssignmentOf("secret_test"),
			rules.NewProgram(rules.Info{Type: "secret_test", Hidden: true}, 400), "REF01", protocol.Secret{2},
			protocol.FormatTimestamp)
		m.Next()
		accepts(m)
		largest := 0
		for turn := 1; ; turn++ {
			q := &rules.Question{MoveType: "say", Options: []string{"1"}, View: strings.Repeat("x", view), Secret: true}
			state := &rules.State{ToMove: [2]*rules.Question{q, q}}
			require.NoError(t, m.Told(state))
			if m.CheckSize(state) != nil {
				break
			}
			for _, side := range m.Next() {
				step := m.Step(side, time.Now())
				text, err := json.Marshal(step.Message)
				require.NoError(t, err)
				largest = max(largest, len(text))
				m.Take(side, m.Judge(side, &conduct.Attempt{Reply: &conduct.Reply{Type: protocol.TypeGameMoveResponse,
					Choice: "1", MoveProof: protocol.MoveProof{Signature: strings.Repeat("0", 128)}}}))
			}
		}
		require.LessOrEqual(t, largest, 10<<10, "view of %d bytes", view)
		require.Greater(t, largest, 5<<10, "view of %d bytes", view)
	}
}

// accepts makes both sides accept the invitation.
func accepts(m *conduct.Match) {
	yes := true
	for _, side := range []rules.Side{rules.SideA, rules.SideB} {
		m.Take(side, m.Judge(side, &conduct.Attempt{Reply: &conduct.Reply{Type: protocol.TypeGameJoinAck, Accept: &yes}}))
	}
}

// assignmentOf is an assignment of a match of a game.
func assignmentOf(gameType string) *protocol.MatchAssignment {
	return &protocol.MatchAssignment{
		LeagueID: "L", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: gameType,
		PlayerA: protocol.AssignedPlayer{PlayerID: "P01"}, PlayerB: protocol.AssignedPlayer{PlayerID: "P02"},
		Timeouts: protocol.DefaultTimeouts(),
	}
}

// signedAssignmentOf is one of a league in which both players sign.
func signedAssignmentOf(gameType string) *protocol.MatchAssignment {
	a := assignmentOf(gameType)
	a.Started = "2025-01-15T10:30:00Z"
	a.PlayerA.PublicKey, a.PlayerB.PublicKey = strings.Repeat("0", 64), strings.Repeat("1", 64)
	return a
}
