package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

type replayOptions struct {
	match    string // its id, or what journal.State.FindMatch reads
	data     string
	leagueID string
	attempt  int
	format   string
	board    bool
	full     bool
	pace     time.Duration
	rules    gameReader
}

// newReplay makes 'evenodd replay': it shows a finished match as a conversation.
func newReplay(s streams) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay" + matchUse,
		Short: "Show a match as a conversation",
		Long: `Show the conversation of a match, named by its id or by two players and a round, from its match file: each
message with sender, receiver, time and delay, the tries of each question in order, every wrong answer as it arrived
with its error, the draw of the number and the result.`,
		Example: examples(
			"Show a match", "evenodd replay R1M1 --data ./my-league",
			"Show the match of two players in round 2", "evenodd replay Alice Bob 2 --data ./my-league",
			"Show the positions of a board game, one after the other",
			"evenodd replay R1M1 --data ./my-league --board --pace 500ms",
			"Show an attempt at it that was given up", "evenodd replay R1M1 --data ./my-league --attempt 1",
		),
		Args:              oneMatch,
		ValidArgsFunction: matchArguments,
		RunE: func(c *cobra.Command, args []string) error {
			o.match = matchText(args)
			return runReplay(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the league")
	leagueFlag(f, &o.leagueID, "the league of the match", "")
	f.IntVar(&o.attempt, "attempt", 0, "an attempt at the match that was given up, from 1 (default: the attempt that "+
		"counts)")
	f.BoolVar(&o.board, "board", false, "show the moves and the positions in place of the messages")
	f.BoolVar(&o.full, "full", false, "show tries that failed for the same cause as the one before, and the nonces, "+
		"entropies and commitments of the draw")
	f.DurationVar(&o.pace, "pace", 0, "pause before each position of --board, such as 500ms")
	o.rules.flags(f, "for the words of its moves")
	formatFlag(f, &o.format)
	return c
}

func runReplay(ctx context.Context, s streams, o *replayOptions) error {
	switch {
	case o.attempt < 0:
		return usage("--attempt %d: 1 or more", o.attempt)
	case o.board && o.format != formatText:
		return usage("--board prints text: --format %s has the positions anyway", o.format)
	case o.pace < 0 || o.pace > 0 && !o.board:
		return usage("--pace %s: a pause before each position of --board, such as 500ms", o.pace)
	}
	doc, err := o.read(ctx, s)
	if err != nil {
		return err
	}
	own, err := o.rules.open(ctx)
	if err != nil {
		return err
	}
	defer own.close()
	r := record.ConversationOf(doc, own.games())
	t := &toldMatch{Conversation: r, full: o.full, names: firstEvents(ctx, store.In(o.data), o.leagueID)}
	if o.board {
		return t.printBoards(ctx, s.out, o.pace)
	}
	return show(s.out, o.format, r, t.print)
}

// read reads the match or the attempt.
func (o *replayOptions) read(ctx context.Context, s streams) (*store.Match, error) {
	dir := store.In(o.data)
	var err error
	if o.leagueID, err = s.chooseLeague(dir, o.leagueID, false); err != nil {
		return nil, err
	}
	if err := dir.CheckShape(o.leagueID); err != nil {
		return nil, err
	}
	matchID, err := findMatch(ctx, dir, o.leagueID, o.match)
	if err != nil {
		return nil, err
	}
	var doc *store.Match
	if o.attempt > 0 {
		doc, err = dir.LoadAttempt(o.leagueID, matchID, o.attempt)
	} else {
		doc, err = dir.LoadMatch(o.leagueID, matchID)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.attempt > 0:
		return nil, fmt.Errorf("there is no file of attempt %d at %s", o.attempt, matchID)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("league %s has no file of match %s in %s%s", o.leagueID, matchID, dir.Matches(o.leagueID),
			otherAttempts(dir, o.leagueID, matchID))
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return nil, errors.New(audit.Reason(err))
	}
	return doc, err
}

// findMatch is the id of a match that a person names by its id, for which the journal is not read, or by two players
// and a round.
func findMatch(ctx context.Context, dir store.Folder, leagueID, text string) (string, error) {
	if id, ok := league.ParseMatchID(text); ok {
		return id.String(), nil
	}
	l := record.NewLeague()
	if err := l.Update(ctx, record.NewFolder(dir, leagueID), nil); err != nil {
		return "", err
	}
	id, err := l.FindMatch(text)
	if err != nil {
		return "", asUsage(err)
	}
	return id.String(), nil
}

// otherAttempts says which attempts at a match without a file have files of their own; "" for none.
func otherAttempts(dir store.Folder, leagueID, matchID string) string {
	entries, _ := os.ReadDir(dir.Matches(leagueID)) // a missing folder has none
	var numbers []int
	for _, e := range entries {
		if id, attempt, ok := store.ParseMatchFile(e.Name()); ok && id == matchID && attempt > 0 {
			numbers = append(numbers, attempt)
		}
	}
	if len(numbers) == 0 {
		return ""
	}
	slices.Sort(numbers)
	last := numbers[len(numbers)-1]
	if len(numbers) == 1 {
		return fmt.Sprintf("; attempt %d was given up, or its result does not count: --attempt %d shows it", last, last)
	}
	return fmt.Sprintf("; %s were given up, or their results do not count: --attempt %d shows the last one",
		words.Counted(len(numbers), "attempt"), last)
}

// A toldMatch is a match as this command prints it.
type toldMatch struct {
	*record.Conversation

	full  bool           // with repeated tries, nonces and commitments
	names *record.League // of the agents
}

// side is the sender or the receiver of a message: a player with its name, else the referee or the manager.
func (r *toldMatch) side(id string) string {
	if id == r.RefereeID { // the first line names it
		return id
	}
	return r.named(id)
}

// named is an agent with its name.
func (r *toldMatch) named(id string) string {
	one := r.names.Ref(id)
	for _, p := range []store.MatchPlayer{r.PlayerA, r.PlayerB} {
		if p.PlayerID == id && one.Name == "" {
			one.Name = p.DisplayName // of a folder without the journal
		}
	}
	return one.String()
}

// print writes the match as a conversation.
func (r *toldMatch) print(w io.Writer) error {
	conducted := fmt.Sprintf("attempt %d, conducted by %s", r.Attempt, r.named(r.RefereeID))
	if r.RefereeID == "" {
		conducted = "forfeited before it began"
	}
	var text printout
	called := r.LeagueID // of a folder without the journal
	if created := r.names.Created; created != nil {
		called = calledOf(created)
	}
	text.line("%s of %s: round %d, %s (%s)", r.MatchID, called, r.RoundID, conducted, r.State)
	text.line("%s against %s", r.named(r.PlayerA.PlayerID), r.named(r.PlayerB.PlayerID))
	text.line("")
	r.addLines(&text)
	text.line("")
	r.addDraw(&text)
	if r.Result == nil {
		text.line("Result: none; the attempt was given up.")
	} else {
		text.line("Result: %s", r.result())
	}
	return text.print(w)
}

// printBoards writes the positions of the match, each after a pause. The last moves stand in brackets, the line that
// wins in parentheses.
func (r *toldMatch) printBoards(ctx context.Context, w io.Writer, pace time.Duration) error {
	if len(r.Steps) == 0 {
		return printLine(w, "No move of %s is recorded.", r.MatchID)
	}
	for i := range r.Steps {
		step := &r.Steps[i]
		if i > 0 && protocol.SystemClock().Sleep(ctx, pace) != nil {
			return interrupted("Run the same command again to see the match.")
		}
		var text printout
		took := ""
		if sec := step.Took(); sec != nil {
			took = fmt.Sprintf("  %.3f s", *sec)
		}
		if clocks := step.ClocksBy(r.named); clocks != "" {
			took += "  " + clocks
		}
		text.line("%d. %s%s", step.Number, step.WordsBy(r.named), took)
		for _, m := range step.Mistakes() {
			text.line("   %s %s", r.named(m.PlayerID), m.Mistake())
		}
		for k, row := range step.Cells {
			name := ""
			if step.Rows != nil {
				name = step.Rows[k]
			}
			text.line("%s", boardLine(name, row))
		}
		if err := text.print(w); err != nil {
			return err
		}
	}
	if r.Result == nil {
		return nil
	}
	return printLine(w, "Result: %s", r.result())
}

// boardLine is a row of a board behind its name, with the cells in columns of equal width.
func boardLine(name string, row []record.Cell) string {
	var line strings.Builder
	for _, c := range row {
		left, right := " ", " "
		switch {
		case c.Changed:
			left, right = "[", "]"
		case c.Line:
			left, right = "(", ")"
		}
		text := cmp.Or(c.Text, "·")
		line.WriteString(left + text + right + strings.Repeat(" ", max(0, 3-utf8.RuneCountInString(text))))
	}
	return strings.TrimRight(fmt.Sprintf("%2s ", name)+line.String(), " ")
}

// addRemarks adds what there is to say about a message, indented.
func addRemarks(text *printout, u *record.Line, indent string) {
	if u.Mark != "" {
		text.line("%s? This move %s.", indent, u.Mark)
	}
	if u.WrongToken {
		text.line("%sIts auth_token is not that of the question, but another, as the agent token, which is for the manager alone.", indent)
	}
	if u.Void != "" {
		text.line("%sThis try does not count: %s.", indent, u.Void)
	}
}

func (r *toldMatch) addLines(text *printout) {
	switch {
	case len(r.Lines) == 0 && r.RefereeID == "":
		text.line("There was no conversation: the match was forfeited without a referee.")
	case len(r.Lines) == 0:
		text.line("The referee kept or delivered no transcript: the manager wrote this file from its report.")
	}
	explained := map[record.Cause]bool{{}: true}
	for i := 0; i < len(r.Lines); i++ {
		u := &r.Lines[i]
		clock := record.LocalClock(u.At, time.Local)
		below := strings.Repeat(" ", len(clock)+15)
		if again := r.Repeated(i); !r.full && again > 0 {
			if tries := r.Repeats(i, again); tries != "" {
				text.line("%s(%s: %s)", below, words.Counted(again, "message"), tries)
				i += again - 1
				continue
			}
		}
		text.line("%s %s", clock, r.said(u))
		if u.Error != nil {
			text.line("%s%s", below, u.Failure())
		}
		if cause := u.Cause(); !explained[cause] {
			explained[cause] = true
			text.line("%s%s %s. %s", below, r.named(u.From), cause.Words, cause.Remedy)
		}
		addRemarks(text, u, below)
	}
	if r.Omitted > 0 && len(r.Lines) > 0 {
		text.line("(%d more exchanges are not in the file)", r.Omitted)
	}
}

// said is a message with its delay, sender, receiver, try, and the time that the sender has left.
func (r *toldMatch) said(u *record.Line) string {
	waited, try := "", ""
	if u.Waited != nil {
		waited = fmt.Sprintf("%+.3fs", *u.Waited)
	}
	if u.Tries > 1 {
		try = fmt.Sprintf(" [try %d of %d]", u.Try, u.Tries)
	}
	if left := u.TimeLeft(); left != "" {
		try += " [" + left + "]"
	}
	says := u.Says
	if !r.full {
		says = u.Brief()
	}
	return fmt.Sprintf("%10s  %s → %s  %s%s", waited, r.side(u.From), r.side(u.To), says, try)
}

// addDraw adds the draw, in full if its values do not fit.
func (r *toldMatch) addDraw(text *printout) {
	d := r.Draw
	if d == nil {
		return
	}
	differ := lists.Filter(d.Draws, func(o record.RecomputedOutcome) bool { return !o.Holds })
	switch {
	case !d.CommitmentHolds:
		text.line("Draw: the referee reveals nonce %s,", d.Nonce)
		text.line("      which does not match the commitment %s.", d.Commitment)
	case r.full:
		text.line("Draw: the referee reveals nonce %s,", d.Nonce)
		text.line("      which matches the commitment %s.", d.Commitment)
	default:
		text.line("Draw: the referee reveals a nonce, which matches its commitment, and the players their entropies " +
			"(--full).")
	}
	if r.full || !d.CommitmentHolds || len(differ) > 0 {
		for _, e := range d.Entropies {
			text.line("      %s gave entropy %s.", r.named(e.Name), e.Value)
		}
	}
	switch {
	case len(differ) > 0:
		text.line("      Together they do not make %d of the %s during the match.", len(differ),
			words.Counted(len(d.Draws), "draw"))
	case len(d.Draws) > 0:
		text.line("      Together they make the %s during the match, as the file says.", words.Counted(len(d.Draws), "draw"))
	case d.Number == nil:
		text.line("      No number was drawn.")
	case r.Result.DrawnNumber != nil && *r.Result.DrawnNumber == *d.Number:
		text.line("      Together they make the number %d, as the result says.", *d.Number)
	default:
		text.line("      Together they make the number %d; the result says another.", *d.Number)
	}
}

func (r *toldMatch) result() string {
	m := r.Result
	text := m.Status
	switch {
	case m.WinnerPlayerID != nil:
		text += ", " + r.named(*m.WinnerPlayerID) + " wins"
	case m.Status == league.StatusTechnicalLoss:
		text += " of both"
	}
	points := lists.Map(m.Score, func(s league.Member[int]) string {
		return fmt.Sprintf("%s: %d", r.named(s.Name), s.Value)
	})
	if m.Reason != "" {
		text += ". " + m.Reason
	}
	return text + ". Points: " + strings.Join(points, ", ") + "."
}
