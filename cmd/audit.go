package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/rules"
)

type auditOptions struct {
	audit.Options
	format string
	keys   string // path of the file
	strict bool
	rules  gameReader
}

// newAudit makes 'evenodd audit', which recomputes leagues from their files.
func newAudit(s streams) *cobra.Command {
	o := &auditOptions{}
	c := &cobra.Command{
		Use:   "audit DIR",
		Short: "Recompute leagues from their files alone",
		Long: `Recompute the leagues of a data folder from their files, and compare the files with each other: the hash chain
of the journal, the schedule, one result for each match, the choices in the transcripts, commitments and nonces, drawn
numbers, verdicts, points, standings and rounds, the histories of players, and the signatures of players and manager.

Everybody who can write the folder and has the keys in its private folder can make a league that follows the rules from
the start. Name what you know from elsewhere:

    --head HASH      a hash that the league printed at its end, or told players
    --keys FILE      public keys that agents told you: a JSON object such as
                     {"P01": "hex"}, or lines of an id and a key; "manager" is the
                     id of the manager. Each choice of a player that is named must
                     have its signature
    --histories DIR  the histories that players kept: DIR/P01/history.jsonl and so
                     on, or a data folder. They replace those in the folder

With --views it also compares what each player was shown with what the history of its match lets it see: the cards in
its questions, the views that it signed, and those of which its history keeps a hash. That finds a referee that showed
a player a wrong card.

A league of a game that is a program needs the program as --game exec:'COMMAND', of the version and the digest in the
journal. Without it everything but the rules is checked, and a note says which is needed. The program is asked once
about each match; with --views about each position, which takes longer.

Each finding names its file and line; with findings the exit code is 4. Of one file at most 50 are listed, and the
others counted. Notes are unusual but not wrong. With --strict the exit code is also 4 if a result rests on the word of
its referee alone, or was not judged by the rules of its game. The command only reads the folder; the league may be
running.`,
		Example: examples(
			"Recompute a league", "evenodd audit ./my-league",
			"Also compare the hash that the league printed at its end", "evenodd audit ./my-league --head HASH",
			"Also compare keys and histories that players sent you",
			"evenodd audit ./my-league --keys keys.txt --histories ./collected",
			"Also compare what the players saw of a game with hidden cards",
			"evenodd audit ./my-league --views --histories ./collected",
			"Audit a league of a game that is a program", "evenodd audit ./my-league --game 'exec:python3 nim.py'",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runAudit(c.Context(), s, o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.LeagueID, "league-id", "", "audit only this league (default: all)")
	formatFlag(f, &o.format)
	f.StringVar(&o.Head, "head", "", "a hash of the journal's event that you know: the journal must contain it")
	f.StringVar(&o.keys, "keys", "", "a file with public keys that you know: the league must have them")
	f.StringVar(&o.Histories, "histories", "", "a folder with histories that players kept")
	o.rules.flags(f, "to judge its results")
	f.BoolVar(&o.Views, "views", false, "compare what each player was shown with the history of its match")
	f.BoolVar(&o.strict, "strict", false, "exit with 4 also if a result rests on the word of its referee alone, or was "+
		"not judged by the rules of its game")
	return c
}

// auditGC is the GOGC of an audit: most of its memory is garbage soon.
const auditGC = 200

func runAudit(ctx context.Context, s streams, o *auditOptions, dir string) (err error) {
	if secret, ok := protocol.ParseSecret(o.Head); o.Head != "" && (!ok || secret.Hex() != o.Head) {
		return usage("--head %.80q: must be 64 lower-case hexadecimal digits", o.Head)
	}
	if o.keys != "" {
		if o.Keys, err = readKeys(o.keys); err != nil {
			return err
		}
	}
	own, err := o.rules.open(ctx)
	if err != nil {
		return err
	}
	defer own.close()
	if o.Games = own.games(); own != nil {
		o.Programs = map[string]audit.Program{o.rules.game: {Digest: own.Digest(),
			Ask: func(history []rules.Entry) (*rules.State, error) { return own.Ask(ctx, history) }}}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(auditGC))
	var stop func()
	o.Progress, stop = s.showProgress("matches audited")
	report, err := audit.Run(store.In(dir), o.Options)
	stop()
	if err != nil {
		return err
	}
	err = show(s.out, o.format, report, func(w io.Writer) error {
		var text printout
		for i := range report.Leagues {
			l := &report.Leagues[i]
			for _, f := range slices.Concat(l.Findings, l.Notes) {
				text.line("%s", f.String())
			}
			for _, u := range l.Unlisted {
				text.line("%s", u.String())
			}
			text.line("%s", l.Summary())
		}
		return text.print(w)
	})
	switch n, stated := report.Findings(), report.Stated(); {
	case err != nil:
	case n > 0:
		err = exit(exitFound, "%s", words.Counted(n, "finding"))
	case o.strict && stated > 0:
		err = exit(exitFound, "results that rest on the word of a referee alone: %d", stated)
	case o.strict && report.Unjudged() > 0:
		err = exit(exitFound, "results that were not judged by the rules of their game: %d", report.Unjudged())
	}
	return err
}

// maxKeys is the largest size of a file of keys in bytes.
const maxKeys = 4 << 20

// readKeys reads a file of public keys by id: a JSON object, or lines of an id and a key.
// Empty lines and lines that begin with # count for nothing.
func readKeys(path string) (map[string]string, error) {
	text, err := userfile.ReadText(path, maxKeys)
	if err != nil {
		return nil, fmt.Errorf("--keys %s: %w", path, err)
	}
	keys := map[string]string{}
	if strings.HasPrefix(strings.TrimSpace(string(text)), "{") {
		if err := json.Unmarshal(text, &keys); err != nil {
			return nil, fmt.Errorf("%s: not an object of ids and keys: %s", path, audit.Reason(err))
		}
	} else {
		for i, line := range strings.Split(string(text), "\n") {
			fields := strings.Fields(line)
			switch {
			case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
			case len(fields) != 2:
				return nil, fmt.Errorf("%s line %d: must be an id and a public key", path, i+1)
			case keys[fields[0]] != "":
				return nil, fmt.Errorf("%s line %d: a second key of %.40q", path, i+1, fields[0])
			default:
				keys[fields[0]] = fields[1]
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		if !protocol.ValidPublicKey(keys[id]) {
			return nil, fmt.Errorf("%s: the key of %.40q must be 64 lower-case hexadecimal digits", path, id)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no keys", path)
	}
	return keys, nil
}
