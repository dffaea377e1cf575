package conduct_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
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
	sent  any // the last message to a player
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
	case "match": // game=, program= with its most turns, draws, hidden, retries=, backoff=, time=, strict, plain, signs, and keyless and tokenless, which are about P02
		return s.begin(t, values, flags)
	case "wait": // a time
		d, err := time.ParseDuration(flags[0])
		require.NoError(t, err)
		s.now = s.now.Add(d)
		return s.now.Sub(s.began).String()
	case "next":
		return s.next()
	case "says": // what the program of the game says of the history that is due, as JSON
		return s.told(t, strings.Join(words[1:], " "))
	case "join": // both players accept the invitation
		s.match.Next()
		for i := range players {
			s.match.Step(rules.Side(i), s.now)
			s.judge(rules.Side(i), &conduct.Attempt{Reply: s.reply(rules.Side(i), []string{"accept"}, nil)}, false)
		}
		return s.next()
	case "do": // a player
		return s.step(side())
	case "show": // members of the last message
		return s.show(t, flags)
	case "answer": // a player, then accept, refuse, a move or a flag of reply; counts says that it does, whatever it is worth
		of := side()
		a := &conduct.Attempt{Reply: s.reply(of, flags[1:], values), Timing: timing(duration("queued")),
			Judged: duration("judged")}
		asks, ok := s.consider(of, a.Reply, values)
		if !ok {
			return asks
		}
		return asks + s.judge(of, a, slices.Contains(flags, "counts"))
	case "fail": // a player, then how, as in failure; queued=, overdue=, start=, end=
		of, err := side(), failure(flags[1:], values, duration("after"))
		return s.judge(of, &conduct.Attempt{Fault: protocol.AsError(err), Local: protocol.Local(err),
			Timing:  timing(duration("queued")),
			Overdue: duration("overdue"), AtEnd: duration("end"), AtStart: duration("start")}, false)
	case "asked": // a player; try=, deadline=
		of, deadline := side(), time.Time{}
		if after := duration("deadline"); after > 0 {
			deadline = s.began.Add(after)
		}
		s.match.Asked(of, atoi(values["try"]), deadline)
		return map[bool]string{true: "owes an answer"}[s.match.Owes(of)]
	case "result":
		return s.ended()
	case "evidence":
		return s.evidence()
	case "over": // a player
		s.sent = s.match.GameOver(side(), s.match.Result(), s.match.Draw(), s.now)
		return fmt.Sprintf("GAME_OVER in %s, after commitment %.6s", s.match.Conversation(), s.match.Commitment())
	}
	require.Fail(t, "unknown directive", "%q", words)
	return ""
}

// failures are the words of calls that failed on this side or on the way.
var failures = map[string]transport.Kind{
	"refused": transport.Refused, "unreadable": transport.Unreadable, "closed": transport.Closed,
	"broken": transport.Broken, "unreachable": transport.Unreachable, "local": transport.Local,
}

// failure returns the error of a call: a code of the specification, which the player sent, rpc=, or one of failures;
// with status=.
func failure(flags []string, values map[string]string, after time.Duration) error {
	word := flags[0]
	carried := &transport.CallError{Endpoint: "its endpoint", Status: atoi(values["status"]), After: after,
		Err: errors.New("no")}
	switch kind, known := failures[word]; {
	case known:
		carried.Kind = kind
	case word == "timeout":
		return context.DeadlineExceeded
	case word == "error":
		carried.Kind, carried.Err = transport.Failed, &transport.Error{Code: atoi(values["rpc"]), Message: "no"}
	default:
		fault := protocol.Fault(protocol.Code(word), "no")
		fault.Remote = true
		return fault.Because(carried)
	}
	return carried
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
			a.GameType = value
			game = map[string]rules.Game{tictactoe.Type: tictactoe.Game{}, kuhnpoker.Type: kuhnpoker.Game{}}[value]
		case "program":
			a.GameType = "words_test"
			game = rules.NewProgram(rules.Info{Type: a.GameType, DisplayName: "Words", Rules: "The last word wins.",
				Draws: slices.Contains(flags, "draws"), Hidden: slices.Contains(flags, "hidden")}, atoi(value))
		case "retries":
			a.RetryPolicy.MaxRetries = atoi(value)
		case "backoff":
			a.RetryPolicy.Backoff = value
		case "time":
			var err error
			a.TimeBank, err = protocol.ParseTimeBank(value)
			require.NoError(t, err)
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
		case "draws", "hidden": // see program
		case "keyless":
			a.PlayerB.PublicKey = ""
		case "tokenless":
			a.PlayerB.AccessToken = ""
		case "signs":
			a.Started, a.PlayerA.PublicKey, a.PlayerB.PublicKey = startHash, keyOf("P01").Public(), keyOf("P02").Public()
		default:
			require.Fail(t, "unknown", flag)
		}
	}
	s.began = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s.now, s.moves = s.began, protocol.MoveFormOf(a.GameType)
	s.match = conduct.New(conduct.Version, a, game, "REF01", protocol.Secret{2}, protocol.FormatTimestamp)
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
	history, due := s.match.Awaits()
	switch {
	case s.match.GivenUp():
		return "given up"
	case due:
		return s.match.State() + ", the program is to say what follows" + written(history)
	case len(asked) == 0:
		return s.match.State() + ", the end"
	}
	return s.match.State() + ", asks " + strings.Join(asked, " and ")
}

func (s *script) step(of rules.Side) string {
	step := s.match.Step(of, s.now)
	window := ""
	if step.Message != nil {
		s.sent = step.Message
	}
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
			if n := q.MoveRequest.Text; n > 0 {
				more = fmt.Sprintf(", until %s, a text of at most %d bytes", q.Deadline[11:19], n)
			}
		}
		return fmt.Sprintf("ask %s, try %d%s%s", step.Method.Name, step.Try, more, window)
	case conduct.GameError:
		q := step.Message.(*protocol.GameError)
		again := "the last"
		if step.Failure.Verdict == conduct.Again {
			again = fmt.Sprintf("retry %d", step.Retries)
		}
		if next := q.RetryInfo; next != nil && next.NextRetryAt != "" {
			again += fmt.Sprintf(" of %d at %s", next.MaxRetries, next.NextRetryAt[11:19])
			if left := next.TimeRemaining; left != nil {
				again += fmt.Sprintf(", %gs left", *left)
			}
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

// told tells the match what the program says.
func (s *script) told(t *testing.T, text string) string {
	t.Helper()
	before := len(s.match.Draws())
	if err := s.match.Told(stateOf(t, text)); err != nil {
		return "error: " + err.Error()
	}
	outcome := "told"
	for _, d := range s.match.Draws()[before:] {
		outcome += fmt.Sprintf(", %d of %d is drawn before turn %d", d.Number, d.Of, d.Turn)
	}
	return outcome
}

// stateOf reads what a program says, in the form of its answers.
func stateOf(t *testing.T, text string) *rules.State {
	t.Helper()
	var said struct {
		ToMove map[string]struct {
			Type    string   `json:"type"`
			Options []string `json:"options"`
			Text    int      `json:"text"`
			View    any      `json:"view"`
			Secret  bool     `json:"secret"`
		} `json:"to_move"`
		Draw    int        `json:"draw"`
		Winner  *string    `json:"winner"`
		Reason  string     `json:"reason"`
		Board   [][]string `json:"board"`
		Illegal *struct {
			Index  int    `json:"index"`
			Side   string `json:"side"`
			Reason string `json:"reason"`
		} `json:"illegal"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &said, json.RejectUnknownMembers(true)), text)
	sides := map[string]rules.Side{"A": rules.SideA, "B": rules.SideB}
	state := &rules.State{Draw: said.Draw, Over: said.Reason != "", Reason: said.Reason, Board: said.Board,
		Winner: rules.NoSide}
	for name, q := range said.ToMove {
		state.ToMove[sides[name]] = &rules.Question{MoveType: q.Type, Options: q.Options, Text: q.Text, View: q.View,
			Secret: q.Secret}
	}
	if said.Winner != nil {
		state.Winner = sides[*said.Winner]
	}
	if i := said.Illegal; i != nil {
		state.Illegal = &rules.Illegal{Index: i.Index, Side: sides[i.Side], Reason: i.Reason}
	}
	return state
}

// written returns a history in words.
func written(history []rules.Entry) string {
	texts := make([]string, len(history))
	for i, e := range history {
		switch {
		case e.Draw != nil:
			texts[i] = strconv.Itoa(*e.Draw)
		default:
			texts[i] = cmp.Or(e.Moves[0], "-") + "/" + cmp.Or(e.Moves[1], "-")
		}
	}
	return " [" + strings.Join(texts, " ") + "]"
}

// consider has the program judge a move in free text: it refuses entry index= of side=, if refused= has its reason. It
// says what the program is asked, and whether the answer is to be judged.
func (s *script) consider(of rules.Side, r *conduct.Reply, values map[string]string) (asks string, ok bool) {
	history, due := s.match.Legal(of, r)
	if !due {
		return "", true
	}
	said := &rules.State{}
	if reason := values["refused"]; reason != "" {
		said.Illegal = &rules.Illegal{Index: len(history) - 1, Side: of, Reason: reason}
		if index := values["index"]; index != "" {
			said.Illegal.Index = atoi(index)
		}
	}
	if err := s.match.Refuse(of, r, history, said); err != nil {
		return "error: " + err.Error(), false
	}
	return "the program judges" + written(history) + ", ", true
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
	defer func() { // as the referee does
		if statement, key, due := s.match.Statement(of, r); due {
			r.Unsigned = r.Signature != "" && !statement.Verify(key, r.Signature)
		}
	}()
	for _, flag := range words[min(1, len(words)):] {
		switch flag {
		case "breach":
			r.Breach = protocol.Fault(protocol.ErrInvalidFieldType, "timestamp must be in UTC")
		case "fallback":
			r.Fallback = true
		case "reversed":
			r.Choice = "\u202e"
		case "unsigned":
			r.Signature = ""
		case "forged":
			r.Signature = keyOf(players[of.Other()]).SignHead("L", "x")
		}
	}
	for key, value := range values {
		switch key {
		case "type":
			r.Type = value
		case "match":
			r.MatchID = value
		case "player":
			r.PlayerID = value
		case "instead": // of the move that is signed
			r.Choice = value
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

func (s *script) judge(of rules.Side, a *conduct.Attempt, counts bool) string {
	a.At = s.now
	w := s.match.Judge(of, a)
	if counts {
		w.Verdict = conduct.Counts
	}
	s.match.Take(of, w)
	if w.Used == nil {
		return verdict(&w)
	}
	return fmt.Sprintf("%s; used %d ms, %v left", verdict(&w), w.Used.Debit, s.match.Bank(of))
}

func verdict(w *conduct.Worth) string {
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

// show returns members of the last message. A path leads to those within others.
func (s *script) show(t *testing.T, paths []string) string {
	t.Helper()
	shown := make([]string, len(paths))
	for i, path := range paths {
		value, err := json.Marshal(s.sent, json.Deterministic(true))
		require.NoError(t, err)
		for _, name := range strings.Split(path, ".") {
			members := map[string]jsontext.Value{}
			require.NoError(t, json.Unmarshal(value, &members), path)
			value = members[name]
		}
		shown[i] = cmp.Or(string(value), "none")
	}
	return strings.Join(shown, " ")
}

func (s *script) ended() string {
	if s.match.Strayed() {
		return "strayed"
	}
	r := s.match.Result()
	parts := []string{r.Status, r.Reason}
	for i, id := range players {
		choice, _ := r.Choices.Get(id)
		did, fallbacks := s.match.Record(rules.Side(i)), ""
		if n, _ := r.Fallbacks.Get(id); n > 0 {
			fallbacks = fmt.Sprintf(" (%d by fallback)", n)
		}
		score, _ := s.match.ScoreAndDraw(r)
		points, _ := score.Get(id)
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s chose %s%s, %d points %s", id, orNothing(choice),
			fallbacks, points, did.Fault)))
	}
	return strings.Join(parts, "; ")
}

// evidence returns what proves the result, without most of the digits.
func (s *script) evidence() string {
	short := func(text string) string { return text[:min(len(text), 6)] }
	draw, e := s.match.Draw(), s.match.Evidence()
	if draw == nil {
		return "none"
	}
	parts := []string{"commitment " + short(draw.Commitment) + ", nonce " + short(draw.Nonce)}
	for _, id := range players {
		entropy, _ := draw.Entropies.Get(id)
		committed, _ := draw.EntropyCommitments.Get(id)
		signature, _ := e.Signatures.Get(id)
		proof := "no signature"
		if signature.Signature != "" {
			proof = fmt.Sprintf("signature %.6s of turn %d", signature.Signature, signature.Turn)
		}
		if signature.ViewHash != "" {
			proof += fmt.Sprintf(" after view %.6s", signature.ViewHash)
		}
		parts = append(parts, fmt.Sprintf("%s entropy %s, commitment %s, %s", id,
			cmp.Or(short(entropy), "none"), cmp.Or(short(committed), "none"), proof))
	}
	for _, move := range s.match.Moves() {
		text := move.PlayerID + " " + move.Move
		if move.Turn > 0 {
			text += fmt.Sprintf(" in turn %d", move.Turn)
		}
		if move.Secret {
			text += ", secret"
		}
		parts = append(parts, text)
	}
	for _, d := range e.Draws {
		parts = append(parts, fmt.Sprintf("%d of %d before turn %d", d.Number, d.Of, d.Turn))
	}
	for _, b := range s.match.Boards() {
		parts = append(parts, fmt.Sprintf("board %v before turn %d", b.Cells, b.Turn))
	}
	return strings.Join(parts, "; ")
}

func orNothing(choice *string) string {
	if choice == nil {
		return "nothing"
	}
	return *choice
}
