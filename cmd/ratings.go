package cmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/league/words"
	"evenodd/player/strategy/external"
)

type ratingsOptions struct{ game, by, format string }

// What makes players of several leagues one.
const (
	byName     = "name"
	byStrategy = "strategy"
	byModel    = "model"
)

// newRatings makes 'evenodd ratings', which rates players over several leagues.
func newRatings(s streams) *cobra.Command {
	o := &ratingsOptions{}
	c := &cobra.Command{
		Use:   "ratings FOLDER...",
		Short: "Rate players over several leagues",
		Long: `Rate the players of all leagues of one game in some data folders. Players with the same display name are one.
With --by strategy, all players of a strategy are one, and so are all language models; --by model tells the models
apart. Only the record of a simulation has strategies.

A league counts once, also if several folders have it: the hash of its start decides. So do matches in which the same
players repeat their moves. Technical losses and results that rest on the word of a referee alone do not count. The
leagues may be running.`,
		Example: examples(
			"Rate over the leagues of three folders", "evenodd ratings ./spring ./summer ./autumn",
			"Compare strategies, for a spreadsheet", "evenodd ratings ./cup ./test --by strategy --format csv",
		),
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error { return o.run(c.Context(), s, dirs) },
	}
	f := c.Flags()
	f.StringVar(&o.game, "game", "", "rate only leagues of the game of this `type`, such as "+defaultGame+
		" (default: that of all leagues)")
	choiceFlag(f, &o.by, "by", byName, "players are one if they have the same", byName, byStrategy, byModel)
	choiceFlag(f, &o.format, "format", formatText, "output", formatText, formatCSV, formatJSON)
	return c
}

func (o *ratingsOptions) run(ctx context.Context, s streams, dirs []string) error {
	leagues := map[string][]record.Season{} // by game
	for _, dir := range dirs {
		ids, err := audit.Leagues(store.Folder(dir))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := readSeason(ctx, leagues, dir, id); err != nil {
				return err
			}
		}
	}
	known := slices.Sorted(maps.Keys(leagues))
	if o.game != "" {
		maps.DeleteFunc(leagues, func(game string, _ []record.Season) bool { return game != o.game })
	}
	switch types := slices.Sorted(maps.Keys(leagues)); len(types) {
	case 0:
		of := ""
		if o.game != "" {
			of = " of " + o.game + words.DidYouMean(o.game, known)
		}
		return exit(exitFailed, "no league%s in these folders has started", of)
	case 1:
		o.game = types[0]
	default:
		return usage("these folders have leagues of several games: choose one with --game: %s", strings.Join(types, ", "))
	}
	return o.print(s, record.Rate(leagues[o.game], o.key))
}

// readSeason adds a league of a folder to those of its game, if it has started.
func readSeason(ctx context.Context, leagues map[string][]record.Season, dir, id string) error {
	from := record.NewFolder(store.Folder(dir), id)
	defer from.Close()
	l, start := record.NewLeague(), ""
	err := l.Update(ctx, from, func(e *journal.Event, line string) {
		if _, ok := e.Data.(*journal.Started); ok {
			start = journal.Hash([]byte(line))
		}
	})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if start != "" {
		game := l.Created.GameType
		leagues[game] = append(leagues[game], record.NewSeason(l, dir, start, l.Results(games())))
	}
	return nil
}

// key is what players that count as one have in common; "" if it is not known.
func (o *ratingsOptions) key(p *league.Standing) string {
	if o.by == byName {
		return p.DisplayName
	}
	model, isModel := strings.CutPrefix(p.Strategy, external.Model+":")
	switch {
	case p.Strategy == simulation.ExternalStrategy:
		return ""
	case isModel && o.by == byStrategy:
		return external.Model
	case isModel:
		return model
	}
	return p.Strategy
}

func (o *ratingsOptions) print(s streams, r *record.Ratings) error {
	switch o.format {
	case formatJSON:
		return printJSON(s.out, struct {
			SchemaVersion string `json:"schema_version"`
			GameType      string `json:"game_type"`
			By            string `json:"by"`
			*record.Ratings
		}{outputSchema, o.game, o.by, r})
	case formatCSV:
		for _, sentence := range r.Sentences() {
			s.note("%s", sentence)
		}
		const columns = "player leagues played wins draws losses rating low high rank best_rank worst_rank"
		return printCSV(s.out, csvRows(columns, slices.Values(r.Players), func(p record.RatedPlayer) []any {
			return []any{p.Player, p.Leagues, p.Played, p.Wins, p.Draws, p.Losses, p.Rating, p.Low, p.High, p.Rank, p.Best,
				p.Worst}
		}))
	}
	return o.printText(s.out, r)
}

func (o *ratingsOptions) printText(w io.Writer, r *record.Ratings) error {
	text := printout{screen: columnsOf(w)}
	title := map[string]string{byName: "Player", byStrategy: "Strategy", byModel: "Model"}[o.by]
	header := []string{"Rank", title, "Leagues", "Played", "W", "D", "L", "Rating (95%)", "Ranks"}
	text.table(header, lists.Map(r.Players, func(p record.RatedPlayer) []any {
		shown := stats.Player{Rating: p.Rating, Low: p.Low, High: p.High, BestRank: p.Best, WorstRank: p.Worst}
		return []any{p.Rank, p.Player, p.Leagues, p.Played, p.Wins, p.Draws, p.Losses, shown.Interval(), shown.Ranks()}
	}))
	text.line("%s of %s.", words.Counted(len(r.Leagues), "league"), o.game)
	for _, sentence := range r.Sentences() {
		text.line("%s", sentence)
	}
	return text.print(w)
}
