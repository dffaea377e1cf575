package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

type replayOptions struct {
	matchID  string
	data     string
	leagueID string
	attempt  int
	format   string
	against  string
	ca       string
	as       string
}

// newReplay makes 'evenodd replay': it shows a finished match as a conversation, or
// replays it against a player.
func newReplay(s streams) *cobra.Command {
	o := &replayOptions{}
	c := &cobra.Command{
		Use:   "replay MATCH",
		Short: "Show a match as a conversation, or replay it against a player",
		Long: `Show the conversation of a match from its match file: each message with sender,
receiver, time and delay, the tries of each question in order, every wrong answer as it
arrived with its error, the draw of the number and the result.

With --against, send the requests that one player got again to another endpoint, in
their order, with new times and without a token, and show where the answers differ.
Times, entropies, tokens and senders may differ. A player in a league whose manager
proves itself refuses all callers but the referee of its match.`,
		Example: examples(
			"Show a match", "evenodd replay R1M1 --data ./my-league",
			"Send the requests that P03 got to a corrected player", "evenodd replay R1M1 --against http://localhost:8101/mcp --as P03",
		),
		ValidArgsFunction: completeMatch,
		Args:              takes(1, nil, "replay takes one match, such as R1M1"),
		RunE: func(c *cobra.Command, args []string) error {
			o.matchID = args[0]
			return runReplay(c.Context(), s, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.data, "data", defaultData, "data `folder` of the league")
	f.StringVar(&o.leagueID, "league-id", "", "the league of the match (default: the only one there is)")
	f.IntVar(&o.attempt, "attempt", 0, "an attempt at the match that was given up, from 1 (default: the attempt that counts)")
	f.StringVar(&o.format, "format", formatText, "text or json")
	f.StringVar(&o.against, "against", "", "`URL` of a player to replay the match against")
	tlsCAFlag(f, &o.ca)
	f.StringVar(&o.as, "as", "", "the player whose requests are sent (default: the loser, or player A)")
	return c
}

func runReplay(ctx context.Context, s streams, o *replayOptions) error {
	switch err := oneOf("format", o.format, formatText, formatJSON); {
	case err != nil:
		return err
	case o.attempt < 0:
		return usage("--attempt %d: 1 or more", o.attempt)
	case o.against != "" && !httpURL(o.against):
		return usage("--against %q: a URL such as http://localhost:8101/mcp", o.against)
	case o.against == "" && o.as != "":
		return usage("--as needs --against: it names the player whose requests are sent")
	}
	doc, err := o.read()
	if err != nil {
		return err
	}
	if o.against != "" {
		return replayAgainst(ctx, s, o, doc)
	}
	r := record.ConversationOf(doc)
	return show(s.out, o.format, r, func(w io.Writer) error { return printConversation(w, r) })
}

// read reads the match or the attempt. Its error lists those that exist.
func (o *replayOptions) read() (*store.Match, error) {
	dir := store.Folder(o.data)
	var err error
	if o.leagueID, err = chooseLeague(dir, o.leagueID); err != nil {
		return nil, err
	}
	if _, ok := protocol.ParseMatchID(o.matchID); !ok {
		return nil, usage("match %.40q: matches are called R1M1, R1M2, …", o.matchID)
	}
	doc, err := dir.LoadMatch(o.leagueID, o.matchID)
	if o.attempt > 0 && (err != nil || doc.Attempt != o.attempt) {
		doc, err = o.readAttempt(dir)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = o.missing(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
		err = errors.New(audit.Reason(err))
	}
	return doc, err
}

// missing is the error of a match without a file.
func (o *replayOptions) missing(dir store.Folder) error {
	err := fmt.Errorf("league %s has no file of match %s; there %s", o.leagueID, o.matchID, inventory(namesIn(dir.Matches(o.leagueID)), "is no file of any match", "are those of"))
	if left := o.attempts(dir); len(left) > 0 {
		err = fmt.Errorf("%w\nunacknowledged attempts at %s: %s; show one with --attempt", err, o.matchID, strings.Join(left, ", "))
	}
	return err
}

// readAttempt reads an attempt from a results file, or from a file of its own as earlier
// versions wrote it.
func (o *replayOptions) readAttempt(dir store.Folder) (*store.Match, error) {
	for _, a := range dir.RecordedAttempts(o.leagueID, o.matchID) {
		if a.Attempt == o.attempt { // an attempt has one referee
			return store.LoadAttempt(a.Path, a.MatchID, a.Attempt)
		}
	}
	names := namesIn(dir.Attempts(o.leagueID), fmt.Sprintf("%s.a%d.", o.matchID, o.attempt))
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no file of attempt %d at %s; of its attempts there %s", o.attempt, o.matchID, inventory(o.attempts(dir), "is none", "are"))
	}
	return store.Read[store.Match](filepath.Join(dir.Attempts(o.leagueID), names[0]+".json"))
}

// attempts lists the unacknowledged attempts at the match.
func (o *replayOptions) attempts(dir store.Folder) []string {
	names := namesIn(dir.Attempts(o.leagueID), o.matchID+".")
	for _, a := range dir.RecordedAttempts(o.leagueID, o.matchID) {
		if a.State != store.StateAcknowledged {
			names = append(names, fmt.Sprintf("%s.a%d.%s", a.MatchID, a.Attempt, a.RefereeID))
		}
	}
	slices.Sort(names)
	return names
}

// namesIn lists the names of the JSON files of a folder that have a prefix, in order
// of matches.
func namesIn(path string, prefix ...string) (names []string) {
	entries, _ := os.ReadDir(path) // no folder, no names
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if ok && !strings.HasPrefix(name, ".") && strings.HasPrefix(name, strings.Join(prefix, "")) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		idA, _ := protocol.ParseMatchID(a)
		idB, _ := protocol.ParseMatchID(b)
		return cmp.Or(idA.Compare(idB), strings.Compare(a, b))
	})
	return names
}

// inventory formats at most 20 names.
func inventory(names []string, none, some string) string {
	const limit = 20
	switch n := len(names); {
	case n == 0:
		return none
	case n > limit:
		return fmt.Sprintf("%s %s and %d more", some, strings.Join(names[:limit], ", "), n-limit)
	}
	return some + " " + strings.Join(names, ", ")
}
