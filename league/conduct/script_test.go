package conduct_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

var update = flag.Bool("update", false, "write the outcomes of the scripts again")

// TestScripts conducts the matches of testdata/*.txt. Each line is a directive with its outcome, after "->". The
// directives are the methods of script; a line without one is a comment.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			s, written := new(script), new(strings.Builder)
			for line := range strings.Lines(string(text)) {
				line = strings.TrimRight(line, "\n")
				directive, _, is := strings.Cut(line, " ->")
				if !is {
					fmt.Fprintln(written, line)
					continue
				}
				outcome := s.do(t, strings.Fields(directive))
				fmt.Fprintln(written, strings.TrimRight(fmt.Sprintf("%-40s -> %s", strings.TrimRight(directive, " "), outcome), " "))
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(written.String()), 0o644))
				return
			}
			assert.Equal(t, string(text), written.String(), "write it again with -update, and read the difference")
		})
	}
}

// A script conducts one match after the other, at a time that only its directives change.
type script struct {
	match *conduct.Match
	moves *protocol.MoveForm
	now   time.Time
	began time.Time
}

var players = []string{"P01", "P02"}

var startHash = protocol.Secret{1}.Hex()

func (s *script) do(t *testing.T, words []string) string {
	t.Helper()
	name, values, flags := words[0], map[string]string{}, []string(nil)
	for _, word := range words[1:] {
		if key, value, ok := strings.Cut(word, "="); ok {
			values[key] = value
		} else {
			flags = append(flags, word)
		}
	}
	duration := func(key string) time.Duration {
		d, err := time.ParseDuration(values[key])
		require.True(t, values[key] == "" || err == nil, "%q: %v", words, err)
		return d
	}
	side := func() rules.Side {
		require.NotEmpty(t, flags, "%q needs a player", words)
		i := slices.Index(players, flags[0])
		require.GreaterOrEqual(t, i, 0, "%q has no player", words)
		return rules.Side(i)
	}
	switch name {
	case "match": // game=, retries=, delay=, backoff=, strict, plain, signs
		return s.begin(t, values, flags)
	case "wait": // a time
		d, err := time.ParseDuration(flags[0])
		require.NoError(t, err)
		s.now = s.now.Add(d)
		return s.now.Sub(s.began).String()
	case "next":
		return s.next()
	case "do": // a player
		return s.step(side())
	case "answer": // a player, then accept, refuse, a move or a flag of reply
		of := side()
		reply := s.reply(of, flags[1:], values)
		return s.judge(of, &conduct.Attempt{Reply: reply, Timing: timing(duration("queued"))})
	case "fail": // a player and a code; local, remote; queued=, overdue=, start=, end=, retry-after=, rpc=
		of, code := side(), protocol.Code(flags[1])
		fault := protocol.Fault(code, "no answer")
		if after := duration("retry-after"); after > 0 {
			fault = fault.With("retry_after_sec", int(after.Seconds()))
		}
		fault.Remote = slices.Contains(flags, "remote")
		if rpc := values["rpc"]; rpc != "" {
			fault = fault.Coded(atoi(rpc))
		}
		return s.judge(of, &conduct.Attempt{Fault: fault, Local: slices.Contains(flags, "local"),
			Timing: timing(duration("queued")), Overdue: duration("overdue"), AtEnd: duration("end"), AtStart: duration("start")})
	case "result":
		return s.ended()
	}
	require.Fail(t, "unknown directive", "%q", words)
	return ""
}

func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func timing(queued time.Duration) *protocol.Timing {
	if queued == 0 {
		return nil
	}
	return &protocol.Timing{Queued: queued}
}

func (s *script) begin(t *testing.T, values map[string]string, flags []string) string {
	t.Helper()
	a := &protocol.MatchAssignment{
		LeagueID: "L", RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: evenodd.Type,
		PlayerA:  protocol.AssignedPlayer{PlayerID: "P01", AccessToken: "a"},
		PlayerB:  protocol.AssignedPlayer{PlayerID: "P02", AccessToken: "b"},
		Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: league.MatchPoints{Win: 3, Draw: 1},
	}
	var game rules.Game = evenodd.Game{}
	for key, value := range values {
		switch key {
		case "game":
			game, a.GameType = tictactoe.Game{}, value
			require.Equal(t, value, game.Info().Type)
		case "retries":
			a.RetryPolicy.MaxRetries = atoi(value)
		case "backoff":
			a.RetryPolicy.Backoff = value
		default:
			require.Fail(t, "unknown", key)
		}
	}
	for _, flag := range flags {
		switch flag {
		case "strict":
			a.Replies = protocol.RepliesStrict
		case "plain":
			a.Members = protocol.MembersPlain
		case "signs":
			a.Started, a.PlayerA.PublicKey, a.PlayerB.PublicKey = startHash, keyOf("P01").Public(), keyOf("P02").Public()
		default:
			require.Fail(t, "unknown", flag)
		}
	}
	s.began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.now, s.moves = s.began, protocol.MoveFormOf(a.GameType)
	s.match = conduct.New(a, game, "REF01", protocol.Secret{2}, protocol.FormatTimestamp)
	return s.match.State()
}

func keyOf(id string) *protocol.SigningKey {
	return protocol.NewSigningKey(protocol.Secret{byte(len(id)), id[2]})
}

func entropyOf(of rules.Side) protocol.Secret { return protocol.Secret{3, byte(of)} }

func (s *script) next() string {
	sides := s.match.Next()
	asked := make([]string, len(sides))
	for i, side := range sides {
		asked[i] = players[side]
	}
	switch {
	case s.match.GivenUp():
		return "given up"
	case len(asked) == 0:
		return s.match.State() + ", the end"
	}
	return s.match.State() + ", asks " + strings.Join(asked, " and ")
}

func (s *script) step(of rules.Side) string {
	step := s.match.Step(of, s.now)
	window := ""
	if step.Window > 0 {
		window = fmt.Sprintf(", a window of %v", step.Window)
	}
	switch step.Kind {
	case conduct.Ask:
		more := ""
		switch q := step.Message.(type) {
		case *protocol.ChooseParityCall:
			more = ", until " + q.Deadline[11:19]
		case *protocol.GameMoveCall:
			more = fmt.Sprintf(", until %s, of %s", q.Deadline[11:19], strings.Join(q.MoveRequest.ValidOptions, " "))
		}
		return fmt.Sprintf("ask %s, try %d%s%s", step.Method.Name, step.Try, more, window)
	case conduct.GameError:
		q := step.Message.(*protocol.GameError)
		again := "the last"
		if step.Failure.Verdict == conduct.Again {
			again = fmt.Sprintf("retry %d of %d", *q.RetryCount, *q.MaxRetries)
		}
		return fmt.Sprintf("GAME_ERROR %s about try %d, %s", q.ErrorCode, step.Try, again)
	case conduct.Pause:
		if step.Delivery {
			return fmt.Sprintf("pause until the delivery, at most %v%s", step.Pause, window)
		}
		return fmt.Sprintf("pause %v", step.Pause)
	}
	return "done"
}

// reply is an honest reply with the changes of some words.
func (s *script) reply(of rules.Side, words []string, values map[string]string) *conduct.Reply {
	r := &conduct.Reply{MatchID: "R1M1"}
	word := ""
	if len(words) > 0 {
		word = words[0]
	}
	yes, no := true, false
	switch word {
	case "accept", "refuse", "neither":
		r.Type, r.EntropyCommitment = protocol.TypeGameJoinAck, protocol.EntropyCommitment("R1M1", players[of], entropyOf(of))
		r.Accept = map[string]*bool{"accept": &yes, "refuse": &no}[word]
	default:
		r.Type = s.moves.Method.Result
		r.Choice, r.Entropy = word, entropyOf(of).Hex()
	}
	if statement, _, due := s.match.Statement(of, r); due {
		r.Signature = keyOf(players[of]).SignMove(statement)
	}
	for _, flag := range words[min(1, len(words)):] {
		switch flag {
		case "breach":
			r.Breach = protocol.Fault(protocol.ErrInvalidFieldType, "timestamp must be in UTC")
		case "fallback":
			r.Fallback = true
		case "unsigned":
			r.Signature = ""
		case "forged":
			r.Unsigned = true
		}
	}
	for key, value := range values {
		switch key {
		case "type":
			r.Type = value
		case "match":
			r.MatchID = value
		case "entropy":
			r.Entropy = value
		case "commitment":
			r.EntropyCommitment = value
		case "broken":
			r.Broken = []protocol.FieldError{{Field: value, Got: "7"}}
		}
	}
	return r
}

func (s *script) judge(of rules.Side, a *conduct.Attempt) string {
	a.At = s.now
	w := s.match.Judge(of, a)
	s.match.Take(of, w)
	why := ""
	if w.Fault != nil {
		why = ": " + w.Fault.Error()
	}
	switch w.Verdict {
	case conduct.Counts:
		return "counts"
	case conduct.Again:
		return "again" + why
	case conduct.Wait:
		return fmt.Sprintf("waits %v", w.Pause)
	case conduct.Void:
		if w.GivenUp {
			return "void, given up: " + w.Void
		}
		return "void: " + w.Void
	}
	if w.Pause > 0 {
		return fmt.Sprintf("lost after %v: %s", w.Pause, w.Loss)
	}
	return "lost: " + w.Loss
}

func (s *script) ended() string {
	r := s.match.Result()
	parts := []string{r.Status, r.Reason}
	for _, id := range players {
		choice, _ := r.Choices.Get(id)
		fault, _ := r.Faults.Get(id)
		points, _ := s.match.Score(r).Get(id)
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s chose %s, %d points %s", id, orNothing(choice), points, fault)))
	}
	return strings.Join(parts, "; ")
}

func orNothing(choice *string) string {
	if choice == nil {
		return "nothing"
	}
	return *choice
}
