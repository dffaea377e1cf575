package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A subject is what one of the commands of 'evenodd league' shows that agents may call too. An agent asks the manager
// and sees its answer. An organiser sees what is recorded of the league.
type subject struct {
	name, short, long string
	examples          []string
	flags             []string                                 // settings of 'evenodd league' that it needs, besides --id
	ofOrganiser       func(o *leagueCommand, f *pflag.FlagSet) // defines the flags that an agent may not use; nil for none

	queryType string
	list      string // member of the answer that comes in pages; "" for none
	total     string // member with the number of items on all pages
	enough    int    // items after which no further page is asked for; 0 for none

	// print writes the data of an answer.
	print func(streams, jsontext.Value) error

	// recorded shows the subject to an organiser; nil for what the query answers.
	recorded func(ctx context.Context, o *leagueCommand, r *leagueRecord, from record.Source) error
}

// subjects are the subjects in the order of the help.
var subjects = [...]subject{
	{
		name: "status", queryType: protocol.QueryStatus,
		short: "Show how far the league is, and what needs attention",
		long: `Show how far the league is: its phase, the round, the running matches with the time of their start, the agents
with what needs attention (absent, not reached, suspended, failing, technical losses), and the last decisions.

With --watch the command goes on until the league is over, and prints a line for each change; with --format json one
document after each change.`,
		examples: []string{
			"Show the league once", "evenodd league status",
			"Also show who has not registered", "evenodd league status --roster class.csv",
			"Show each change until the league is over", "evenodd league status --watch",
		},
		ofOrganiser: statusFlags, print: printMembers, recorded: recordedStatus,
	},
	{
		name: "standings", queryType: protocol.QueryStandings, list: "standings", total: "total_players",
		short: "Show the table",
		long:  "Show the current table with all players, also those that are withdrawn.",
		examples: []string{
			"Show the table", "evenodd league standings",
			"Show it as player P01 sees it", "evenodd league standings --id P01",
			"For scripts", "evenodd league standings --format json",
		},
		print: printQueriedStandings, recorded: recordedStandings,
	},
	{
		name: "schedule", queryType: protocol.QuerySchedule, list: "matches", total: "total_matches",
		flags: []string{"round"},
		short: "Show the matches, played and planned",
		long:  "Show the matches of all rounds that are known, with referees, results and annulled results.",
		examples: []string{
			"Show all matches", "evenodd league schedule",
			"Show those of round 2 as JSON", "evenodd league schedule --round 2 --format json",
		},
		print: printQueriedSchedule, recorded: recordedSchedule,
	},
	{
		name: "next-match", queryType: protocol.QueryNextMatch, flags: []string{"player-id"},
		short: "Show the next match of a player",
		long:  "Show the next match of a player, which can be a rematch.",
		examples: []string{
			"Show your own next match", "evenodd league next-match --id P01",
			"Show that of another player", "evenodd league next-match --player-id P02",
		},
		print: printMembers,
	},
	{
		name: "stats", queryType: protocol.QueryPlayerStats, flags: []string{"player-id"},
		short: "Show the results and the state of an agent",
		long:  "Show the row of a player in the table and its state, or the state of a referee.",
		examples: []string{
			"Show your own results", "evenodd league stats --id P01",
			"Show the state of a referee", "evenodd league stats --player-id REF01",
		},
		print: printMembers,
	},
}

// subjectOf is the subject with a name.
func subjectOf(name string) subject {
	return subjects[slices.IndexFunc(subjects[:], func(s subject) bool { return s.name == name })]
}

// newSubject makes a command that shows a subject.
func newSubject(o *leagueCommand, data *dataFolder, settings *pflag.FlagSet, about subject) *cobra.Command {
	c := &cobra.Command{
		Use: about.name, Short: about.short, Long: about.long, Example: examples(about.examples...),
		RunE: func(c *cobra.Command, _ []string) error { return o.show(c.Context(), data.loader, about) },
	}
	for _, name := range append([]string{"id"}, about.flags...) {
		c.Flags().AddFlag(settings.Lookup(name))
		if name != "round" {
			completeAgent(c, name, "")
		}
	}
	if about.ofOrganiser != nil {
		about.ofOrganiser(o, c.Flags())
	}
	return c
}

// show shows a subject to an agent or to the organiser.
func (o *leagueCommand) show(ctx context.Context, files *config.Loader, about subject) (err error) {
	params := protocol.QueryParams{PlayerID: o.playerID}
	if params.RoundID, err = readRound(o.round); err != nil {
		return err
	}
	if access, ok := o.asAgent(); ok {
		return o.showToAgent(ctx, files, access, about, params)
	}
	err = o.withLeague(ctx, nil, func(r *leagueRecord, from record.Source) error {
		if about.recorded != nil {
			return about.recorded(ctx, o, r, from)
		}
		if o.playerID == "" {
			return usage("%s needs --player-id, because an organiser is no player; or --id to ask as an agent", about.name)
		}
		q := &protocol.LeagueQuery{LeagueID: r.Created.LeagueID, QueryType: about.queryType, QueryParams: params}
		answer, err := (&decide.View{State: r.State}).Answer(q, "")
		if err != nil {
			return err
		}
		data, err := json.Marshal(answer.Data)
		if err != nil {
			return err
		}
		return o.showAnswer(o.leagueID, about, data)
	})
	if _, missing := o.folder(); missing != nil && adminToken() == "" && (o.remote || about.recorded == nil) {
		return fmt.Errorf("%w; an agent sets %s to its token, or --data to its folder", err, tokenVariable)
	}
	return err
}

// asAgent tells whether the command asks as an agent: if the user has named it or set its token, or if the folder has
// the identities of agents and no journal.
func (o *leagueCommand) asAgent() (a *agentAccess, ok bool) {
	a = &agentAccess{data: o.data, id: o.id, leagueID: o.leagueID, ofFolder: o.namesAgent || o.namesData}
	switch {
	case o.namesAgent:
		return a, true
	case adminToken() != "":
		return nil, false
	case o.id != "", agentToken() != "" && !o.namesData:
		return a, true
	}
	return a, a.hasIdentity() && !hasJournal(store.In(o.data))
}

// managerOfAgent is the URL of the manager that an agent asks: the one that the user has named, else the one that runs
// a league in the data folder, else the usual one.
func (o *leagueCommand) managerOfAgent() string {
	address := o.manager
	if dir, err := o.folder(); err == nil && address == "" {
		if id, err := o.chooseLeague(dir, o.leagueID, true); err == nil {
			address = dir.ManagerURL(id)
		}
	}
	return cmp.Or(address, usualManager)
}

// hasJournal tells whether a folder has the journal of a league.
func hasJournal(folder store.Folder) bool {
	ids, _ := audit.Leagues(folder)
	return slices.ContainsFunc(ids, func(id string) bool {
		_, err := os.Stat(folder.Journal(id))
		return err == nil
	})
}

// showToAgent shows what the manager answers to an agent.
func (o *leagueCommand) showToAgent(ctx context.Context, files *config.Loader, access *agentAccess, about subject,
	params protocol.QueryParams) error {
	if o.follow || o.roster != "" {
		return usage("--watch and --roster are for the organiser, who has the manager's data folder or the admin token")
	}
	access.manager = o.managerOfAgent()
	n, err := newNode(nodeOptions{maxReply: maxFromManager, ca: o.ca, log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer n.close()
	c, data, err := access.answer(ctx, n.caller, files, about, params)
	switch {
	case ctx.Err() != nil:
		return interrupted("A query changes nothing.")
	case err != nil:
		return err
	}
	return o.showAnswer(c.leagueID, about, data)
}

// showAnswer shows the data of the answer to a query.
func (o *leagueCommand) showAnswer(leagueID string, about subject, data jsontext.Value) error {
	if o.format == formatJSON {
		return printJSON(o.out, struct {
			head

			QueryType string         `json:"query_type"`
			Data      jsontext.Value `json:"data"`
		}{headOf(leagueID), about.queryType, data})
	}
	return about.print(o.streams, data)
}

// readRound reads the value of --round: a number, protocol.AllRounds, or 0 without a value, which means the same.
func readRound(text string) (protocol.QueryRound, error) {
	switch n, err := strconv.Atoi(text); {
	case text == "":
		return 0, nil
	case text == "all":
		return protocol.AllRounds, nil
	case err != nil || n < 1:
		return 0, usage("--round %q: must be a number from 1, or all", text)
	default:
		return protocol.QueryRound(n), nil
	}
}

// dataAs decodes the data of a response; false for data without the member, or of another form.
func dataAs[T any](data jsontext.Value, member string) (read *T, ok bool) {
	var members protocol.Object
	read = new(T)
	return read, json.Unmarshal(data, &members) == nil && members.Has(member) && json.Unmarshal(data, read) == nil
}

// readAs decodes the data of a response for show. It prints what it cannot decode as JSON.
func readAs[T any](s streams, data jsontext.Value, member string, show func(*T) error) error {
	if read, ok := dataAs[T](data, member); ok {
		return show(read)
	}
	return printJSON(s.out, data)
}

func printQueriedStandings(s streams, data jsontext.Value) error {
	return readAs(s, data, "standings", func(d *protocol.StandingsData) error {
		rows := lists.Map(d.Standings, func(r protocol.StandingRow) league.Standing { return r.Standing() })
		titles, cells := league.Cells(slices.DeleteFunc(league.Columns(rows), func(c league.Column) bool {
			return c.Name == "technical_losses" // the message does not have them
		}), rows)
		return printTable(s.out, titles, cells)
	})
}

func printQueriedSchedule(s streams, data jsontext.Value) error {
	return readAs(s, data, "matches", func(d *protocol.ScheduleData) error {
		unknown := 0
		if d.KnownRounds != nil {
			unknown = *d.KnownRounds + 1
		}
		return printMatches(s.out, lists.Map(d.Matches, func(m protocol.ScheduledMatch) []any {
			return []any{m.RoundID, m.MatchID, m.PlayerAID, m.PlayerBID, m.RefereeEndpoint, m.Status, m.WinnerPlayerID, ""}
		}), unknown)
	})
}

// printMembers prints the members of the data of a response, those of objects with their paths.
func printMembers(s streams, data jsontext.Value) error {
	var rows [][]any
	var add func(path string, value jsontext.Value)
	add = func(path string, value jsontext.Value) {
		switch members := protocol.ParseObject(value); {
		case members != nil:
			for _, m := range members {
				add(strings.TrimPrefix(path+"."+m.Name, "."), m.Value)
			}
		case value.Kind() == '"':
			rows = append(rows, []any{path, protocol.Unquote(value)})
		default:
			rows = append(rows, []any{path, string(value)})
		}
	}
	add("", data)
	return printTable(s.out, []string{"Member", "Value"}, rows)
}
