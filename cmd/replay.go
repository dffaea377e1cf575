package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

type replayOptions struct {
	matchID  string
	data     string
	leagueID string
	attempt  int
	format   string
	board    bool
	pace     time.Duration
}

// newReplay makes 'evenodd replay': it shows a finished match as a conversation.
func newReplay(s streams) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay MATCH",
		Short: "Show a match as a conversation",
		Long: `Show the conversation of a match from its match file: each message with sender,
receiver, time and delay, the tries of each question in order, every wrong
answer as it arrived with its error, the draw of the number and the result.`,
		Example: examples(
			"Show a match", "evenodd replay R1M1 --data ./my-league",
			"Show the positions of a board game, one after the other",
			"evenodd replay R1M1 --data ./my-league --board --pace 500ms",
			"Show an attempt at it that was given up", "evenodd replay R1M1 --data ./my-league --attempt 1",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.matchID = args[0]
			return runReplay(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the league")
	f.StringVar(&o.leagueID, "league-id", "", "the league of the match (default: the running one, else that with the newest entry)")
	f.IntVar(&o.attempt, "attempt", 0, "an attempt at the match that was given up, from 1 (default: the attempt that "+
		"counts)")
	f.BoolVar(&o.board, "board", false, "show the moves and the positions in place of the messages")
	f.DurationVar(&o.pace, "pace", 0, "pause before each position of --board, such as 500ms")
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
	doc, err := o.read(s)
	if err != nil {
		return err
	}
	r := record.ConversationOf(doc, games())
	if o.board {
		return printBoards(ctx, s.out, r, o.pace)
	}
	return show(s.out, o.format, r, func(w io.Writer) error { return printConversation(w, r) })
}

// read reads the match or the attempt.
func (o *replayOptions) read(s streams) (*store.Match, error) {
	dir := store.Folder(o.data)
	var err error
	if o.leagueID, err = s.chooseLeague(dir, o.leagueID, false); err != nil {
		return nil, err
	}
	if _, ok := league.ParseMatchID(o.matchID); !ok {
		return nil, usage("match %.40q: matches are called R1M1, R1M2, …", o.matchID)
	}
	if err := dir.CheckShape(o.leagueID); err != nil {
		return nil, err
	}
	var doc *store.Match
	if o.attempt > 0 {
		doc, err = dir.LoadAttempt(o.leagueID, o.matchID, o.attempt)
	} else {
		doc, err = dir.LoadMatch(o.leagueID, o.matchID)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.attempt > 0:
		return nil, fmt.Errorf("there is no file of attempt %d at %s", o.attempt, o.matchID)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("league %s has no file of match %s in %s", o.leagueID, o.matchID, dir.Matches(o.leagueID))
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return nil, errors.New(audit.Reason(err))
	}
	return doc, err
}
