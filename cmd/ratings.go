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
	"evenodd/league/lists"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/league/view/record"
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
leagues may be running. Points and places are those in the tables of the leagues, in the order of their begin; the page
/leagues shows the same table.`,
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
	leagues := map[string][]record.SeasonLeague{} // by game
	for _, dir := range dirs {
		ids, err := audit.Leagues(store.In(dir))
		if err != nil {
			return err
		}
		for _, id := range ids {
			l := record.ReadSeasonLeague(ctx, store.In(dir), id, games())
			if l.Problem != nil {
				return fmt.Errorf("%s: %w", dir, l.Problem)
			}
			if l.Start != "" {
				leagues[l.GameType] = append(leagues[l.GameType], l)
			}
		}
	}
	known := slices.Sorted(maps.Keys(leagues))
	if o.game != "" {
		maps.DeleteFunc(leagues, func(game string, _ []record.SeasonLeague) bool { return game != o.game })
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

// key is what players that count as one have in common; "" if it is not known.
func (o *ratingsOptions) key(p *league.Standing) string {
	if o.by == byName {
		return record.NameOf(p)
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
		const columns = "player leagues played wins draws losses rating low high rank best_rank worst_rank " +
			"points matches"
		return printCSV(s.out, csvRows(columns, slices.Values(r.Players), func(p record.RatedPlayer) []any {
			row := []any{p.Player, p.Leagues, p.Played, p.Wins, p.Draws, p.Losses}
			return append(append(row, p.RatingCells()...), p.Points, p.Matches)
		}))
	}
	return o.printText(s.out, r)
}

func (o *ratingsOptions) printText(w io.Writer, r *record.Ratings) error {
	text := printout{screen: columnsOf(w)}
	title := map[string]string{byName: "Player", byStrategy: "Strategy", byModel: "Model"}[o.by]
	header := []string{"Rank", title, "Leagues", "Played", "W", "D", "L", "Rating (95%)", "Ranks", "Points", "Places"}
	text.table(header, lists.Map(r.Players, func(p record.RatedPlayer) []any {
		rank := any(p.Rank)
		if p.Rank == 0 {
			rank = ""
		}
		return []any{rank, p.Player, p.Leagues, p.Played, p.Wins, p.Draws, p.Losses, p.Interval(),
			p.Ranks(), p.Points, p.PlacesInWords()}
	}))
	text.line("%s of %s.", words.Counted(len(r.Leagues), "league"), games().Name(o.game))
	for _, sentence := range r.Sentences() {
		text.line("%s", sentence)
	}
	return text.print(w)
}
