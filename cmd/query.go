package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

type queryOptions struct {
	subject  string
	manager  string
	data     string
	id       string
	leagueID string
	round    protocol.QueryRound
	playerID string
	format   string
	ca       string
	ofFolder bool // --data or --id was given
}

// A subject is one query of the command.
type subject struct {
	queryType string
	list      string // member of the data that comes in pages; "" for none
	total     string // member with the number of items on all pages
	enough    int    // items after which no further page is asked for; 0 for none
	flags     []string
	print     func(streams, jsontext.Value) error
}

// subjects are the queries by the argument of the command.
func subjects() map[string]subject {
	return map[string]subject{
		"standings": {queryType: protocol.QueryStandings, list: "standings", total: "total_players",
			print: printQueriedStandings},
		"schedule": {queryType: protocol.QuerySchedule, list: "matches", total: "total_matches",
			flags: []string{"round"}, print: printSchedule},
		"next-match": {queryType: protocol.QueryNextMatch, flags: []string{"player-id"}, print: printMembers},
		"stats":      {queryType: protocol.QueryPlayerStats, flags: []string{"player-id"}, print: printMembers},
		"status":     {queryType: protocol.QueryStatus, print: printMembers},
	}
}

// tokenVariable is the environment variable with the token of an agent.
const tokenVariable = "EVENODD_TOKEN"

// subjectNames are the arguments of the command in the order of help and errors.
var subjectNames = [...]string{"standings", "schedule", "next-match", "stats", "status"}

// newQuery makes 'evenodd query', which queries a league manager.
func newQuery(s streams, data *dataFolder) *cobra.Command {
	o, round := &queryOptions{}, ""
	c := &cobra.Command{
		Use:   "query " + strings.Join(subjectNames[:], "|"),
		Short: "Ask a manager for standings, schedule, matches or status",
		Long: `Query a league manager and print its response. The query needs the token of a registered agent: from
EVENODD_TOKEN, or from the folder --data of an agent, which --id chooses. A token in the folder is sent only to the
manager that issued it.

    standings    the current table
    schedule     the matches of all rounds, or of --round
    next-match   the next match of the agent, or of --player-id
    stats        the results of the agent, or of --player-id
    status       the progress of the league, and its games`,
		Example: examples(
			"Show the table", "evenodd query standings --id P01",
			"Show the matches of all rounds as JSON", "evenodd query schedule --round all --format json",
			"Show the next match of another player", "evenodd query next-match --id P01 --player-id P02",
		),
		ValidArgs: subjectNames[:],
		Args: func(c *cobra.Command, args []string) error {
			if err := cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)(c, args); err != nil {
				return err
			}
			o.subject = args[0]
			o.ofFolder = c.Flags().Changed("data") || c.Flags().Changed("id")
			for _, name := range []string{"round", "player-id"} {
				if c.Flags().Changed(name) && !slices.Contains(subjects()[o.subject].flags, name) {
					return usage("query %s takes no --%s", o.subject, name)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if o.round, err = readRound(round); err != nil {
				return err
			}
			return runQuery(c.Context(), s, data.loader, o)
		},
	}
	f := c.Flags()
	managerFlag(f, &o.manager)
	tlsCAFlag(f, &o.ca)
	dataFlag(f, &o.data, defaultData)
	f.StringVar(&o.id, "id", "", "agent in the data folder whose token to use, such as P01")
	f.StringVar(&o.leagueID, "league-id", "", "league of the query (default: the league of the agent)")
	f.StringVar(&round, "round", "", "round of the schedule: `N` or all (default: all)")
	f.StringVar(&o.playerID, "player-id", "", "player of the query (default: the agent itself)")
	formatFlag(f, &o.format)
	return c
}

func runQuery(ctx context.Context, s streams, files *config.Loader, o *queryOptions) error {
	if err := checkManager(o.manager); err != nil {
		return err
	}
	n, err := newNode(nodeOptions{maxReply: maxFromManager, ca: o.ca, log: zerolog.Nop()})
	if err != nil {
		return err
	}
	defer n.close()
	about := subjects()[o.subject]
	question, data, err := o.run(ctx, n.caller, files, about)
	switch {
	case ctx.Err() != nil:
		return interrupted("A query changes nothing.")
	case err != nil:
		return err
	}
	if o.format == formatJSON {
		return printJSON(s.out, struct {
			head

			QueryType string         `json:"query_type"`
			Data      jsontext.Value `json:"data"`
		}{headOf(question.LeagueID), question.QueryType, data})
	}
	return about.print(s, data)
}

// run asks the manager, and returns the query and the data of the response without
// tokens.
func (o *queryOptions) run(ctx context.Context, caller protocol.Caller, files *config.Loader,
	about subject) (*protocol.LeagueQuery, jsontext.Value, error) {
	question, err := o.question(files)
	if err != nil {
		return nil, nil, err
	}
	data, err := ask(ctx, caller, o.manager, question, about)
	if err != nil {
		return nil, nil, fmt.Errorf("%s", withoutToken([]byte(err.Error()), question.AuthToken))
	}
	return question, withoutToken(data, question.AuthToken), nil
}

// question makes the query, with the token of an agent.
func (o *queryOptions) question(files *config.Loader) (*protocol.LeagueQuery, error) {
	q := &protocol.LeagueQuery{QueryType: subjects()[o.subject].queryType, LeagueID: o.leagueID}
	q.QueryParams.PlayerID, q.QueryParams.RoundID = o.playerID, o.round
	// the manager knows the agent by its token
	role, id, token := protocol.RolePlayer, "unknown", strings.TrimSpace(os.Getenv(tokenVariable))
	if token == "" || o.ofFolder {
		identity, err := o.identity()
		if err != nil {
			return nil, err
		}
		role, id, token = identity.Role, identity.AgentID, identity.AuthToken
		q.LeagueID = cmp.Or(q.LeagueID, identity.LeagueID)
	}
	if q.LeagueID == "" {
		system, _ := files.System() // the flags needed it already
		q.LeagueID = system.DefaultLeagueID
	}
	q.Envelope = protocol.NewStamp(role+":"+id, protocol.SystemClock()).Envelope(protocol.TypeLeagueQuery,
		"conv-query-"+o.subject)
	q.AuthToken = token
	return q, nil
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

// identity returns the agent in the data folder whose token to use. A token is sent only
// to the manager that issued it: the name of the identity file contains the manager's
// address.
func (o *queryOptions) identity() (*store.Identity, error) {
	folder, found := store.Folder(o.data), map[string]*store.Identity{}
	if o.data == "" {
		return nil, errors.New("no token: set EVENODD_TOKEN to the token of a registered agent, or --data to its folder")
	}
	for _, role := range []string{protocol.RolePlayer, protocol.RoleReferee} {
		for _, path := range folder.Identities(role) {
			identity, err := store.Read[store.Identity](path)
			if err != nil || identity.AuthToken == "" || identity.Role != role {
				continue // not an identity, or damaged
			}
			name := identity.DisplayName + " at " + o.manager
			if path == folder.Identity(role, name) && (o.leagueID == "" || o.leagueID == identity.LeagueID) {
				found[identity.AgentID] = identity
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(found), league.CompareIDs)
	private := filepath.Join(o.data, "private")
	switch {
	case len(ids) == 0:
		of := ""
		if o.leagueID != "" {
			of = " of league " + strconv.Quote(o.leagueID)
		}
		return nil, fmt.Errorf("no token: %s has no agent%s that registered with the manager at %s: set --manager to its "+
			"URL, --data to the folder of an agent, or EVENODD_TOKEN", private, of, o.manager)
	case o.id != "" && found[o.id] == nil:
		return nil, usage("--id %q: must be one of the agents in %s: %s", o.id, private, strings.Join(ids, ", "))
	case o.id != "":
		return found[o.id], nil
	case len(ids) > 1:
		return nil, usage("%s has the tokens of %s: choose one with --id", private, strings.Join(ids, ", "))
	}
	return found[ids[0]], nil
}

// A queryAnswer is a LEAGUE_QUERY_RESPONSE with its data not decoded. Third-party
// managers put the data beside the envelope.
type queryAnswer struct {
	protocol.Envelope
	QueryType string               `json:"query_type"`
	Success   *bool                `json:"success"`
	Data      jsontext.Value       `json:"data"`
	Error     *protocol.QueryError `json:"error"`
	Beside    jsontext.Value       `json:",embed"`
}

// ask sends a query and returns the data of the response. It joins the pages of a list.
func ask(ctx context.Context, caller protocol.Caller, manager string, q *protocol.LeagueQuery,
	about subject) (jsontext.Value, error) {
	method := protocol.ReadAs[queryAnswer](protocol.Query)
	var first protocol.Object // the members of the first page
	var items []jsontext.Value
	for {
		r, err := method.Call(ctx, caller, protocol.Peer{Endpoint: manager}, q)
		switch {
		case protocol.Unreachable(err):
			return nil, fmt.Errorf("%w: start the manager, or set --manager to another", err)
		case err != nil:
			return nil, fmt.Errorf("the query to the manager at %s failed: %w%s", manager, err, queryHint(err))
		case r.Success != nil && !*r.Success:
			return nil, fmt.Errorf("the manager at %s refused the query: %s", manager, reasonOf(r.Error))
		}
		data := r.Data
		if data.Kind() != '{' {
			data = r.Beside
		}
		var members protocol.Object
		if len(data) == 0 || json.Unmarshal(data, &members) != nil {
			return nil, fmt.Errorf("the response of the manager at %s has no data", manager)
		}
		var page []jsontext.Value // none if the list is missing
		_ = json.Unmarshal(members.Raw(about.list), &page)
		total, _ := strconv.Atoi(string(members.Raw(about.total))) // 0 if missing: a single page
		items = append(items, page...)
		if len(page) == 0 || len(items) >= total || about.enough > 0 && len(items) >= about.enough {
			if first == nil {
				return data, nil // unchanged
			}
			whole, _ := json.Marshal(items) // valid JSON
			first.Set(about.list, whole)
			return json.Marshal(first)
		}
		if first == nil {
			first = members
		}
		q.QueryParams.Offset = len(items)
	}
}

// reasonOf says why a manager refused a query.
func reasonOf(e *protocol.QueryError) string {
	if e == nil {
		return "it gives no reason"
	}
	return strings.Trim(e.ErrorCode+" "+e.ErrorName+": "+e.ErrorDescription, " :")
}

// queryHint says what to do about an error, "" if the error does.
func queryHint(err error) string {
	if e := protocol.AsError(err); e != nil && e.Code == protocol.ErrTokenInvalid {
		return "; the agent is no longer registered there: register it again, or use the token of another with --id or " +
			"EVENODD_TOKEN"
	}
	return ""
}

// withoutToken hides the token of the query, in case the manager repeats it.
func withoutToken(text []byte, token string) []byte {
	const shortest = 8 // third-party managers without tokens use words such as none
	if len(token) >= shortest {
		text = bytes.ReplaceAll(text, []byte(token), []byte("***"))
	}
	return protocol.HideTokens(text)
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
		rows := protocol.Each(d.Standings, func(r protocol.StandingRow) league.Standing { return r.Standing() })
		titles, cells := league.Cells(slices.DeleteFunc(league.Columns(rows), func(c league.Column) bool {
			return c.Name == "technical_losses" // the message does not have them
		}), rows)
		return printTable(s.out, titles, cells)
	})
}

func printSchedule(s streams, data jsontext.Value) error {
	return readAs(s, data, "matches", func(d *protocol.ScheduleData) error {
		unknown := 0
		if d.KnownRounds != nil {
			unknown = *d.KnownRounds + 1
		}
		return printMatches(s.out, protocol.Each(d.Matches, func(m protocol.ScheduledMatch) []any {
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
