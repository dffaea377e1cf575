package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// adminTokenVariable is the environment variable with the admin token.
const adminTokenVariable = "EVENODD_ADMIN_TOKEN"

// adminToken is the admin token in the environment; "" for none.
func adminToken() string { return strings.TrimSpace(os.Getenv(adminTokenVariable)) }

// maxOrganiserReply is the size in bytes of the largest response of a manager to an organiser.
const maxOrganiserReply = 8 << 20

// A leagueClient calls a manager about its league: with the admin token, after the manager has shown that it runs the
// league, or with the token of an agent.
type leagueClient struct {
	caller   protocol.Caller
	node     *node // of caller, which Close closes; nil if it is another's
	url      string
	leagueID string
	sender   string // protocol.ManagerSender with the admin token
	token    string
}

// connect finds the manager and the admin token. It sends the token only to a manager of the
// league, and never in plain text to another machine.
func (o *leagueCommand) connect(ctx context.Context) (*leagueClient, error) {
	token, address := adminToken(), o.manager
	var folder store.Folder
	var missing error
	if token == "" || !o.remote {
		folder, missing = o.folder()
	}
	if missing != nil && token == "" {
		return nil, fmt.Errorf("no admin token: set %s to what 'evenodd league token' prints on the manager's machine, "+
			"or --data to the manager's data folder (%w)", adminTokenVariable, missing)
	}
	if missing == nil && !o.remote {
		switch id, err := o.chooseLeague(folder, o.leagueID, true); {
		case err == nil:
			o.leagueID, address = id, cmp.Or(folder.ManagerURL(id), address)
		case token == "":
			return nil, err
		}
	}
	address = cmp.Or(address, usualManager)
	if err := completeManager(&address); err != nil {
		return nil, err
	}
	if !onThisMachine(address) && !strings.HasPrefix(strings.ToLower(address), "https://") {
		return nil, usage("--manager %q: it is on another machine, and the admin token must not cross the network in plain "+
			"text: use https (the manager's --tls-cert), or run the command on the manager's machine", address)
	}
	n, err := newNode(nodeOptions{maxReply: maxOrganiserReply, ca: o.ca, log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	c := &leagueClient{caller: n.caller, node: n, url: address, leagueID: o.leagueID, sender: protocol.ManagerSender,
		token: token}
	if err = c.meet(ctx); err == nil && token == "" {
		c.token, err = o.tokenOf(folder, c.leagueID)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	o.leagueID = c.leagueID
	return c, nil
}

// tokenOf derives the admin token of a league from its secret.
func (o *leagueCommand) tokenOf(folder store.Folder, leagueID string) (string, error) {
	secret, err := secretOf(folder, leagueID, o.secretFile)
	if err != nil {
		return "", fmt.Errorf("no admin token: %w; or set %s to the token, if you have it", err, adminTokenVariable)
	}
	return protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, leagueID), nil
}

// onThisMachine tells whether a URL leads to this machine.
func onThisMachine(address string) bool {
	u, _ := url.Parse(address)             // connect has checked it
	ip, _ := netip.ParseAddr(u.Hostname()) // the zero address for a name
	return loopback(strings.ToLower(u.Hostname())) || isLocal(ip.Unmap())
}

// meet pings the manager, without the token.
func (c *leagueClient) meet(ctx context.Context) error {
	q := &protocol.ToolRequest{Envelope: c.unsigned("")}
	pong, err := protocol.Ping.Call(ctx, c.caller, protocol.Peer{Endpoint: c.url}, q)
	switch {
	case ctx.Err() != nil:
		return interrupted("Nothing was changed.")
	case protocol.Foreign(err):
		return misdirected(c.url, err)
	case err != nil:
		return fmt.Errorf("no manager answers at %s: start it, or set --manager to its URL (%w)", c.url, err)
	case pong.Role != protocol.RoleManager || !protocol.ValidLeagueID(pong.LeagueID):
		return fmt.Errorf("at %s is no manager of a league but a %.20q: set --manager to its URL", c.url, pong.Role)
	case c.leagueID != "" && pong.LeagueID != c.leagueID:
		return fmt.Errorf("the manager at %s runs league %.64s, not %s: set --manager or --league-id", c.url,
			pong.LeagueID, c.leagueID)
	}
	c.leagueID = pong.LeagueID
	return nil
}

// unsigned returns an envelope without the token.
func (c *leagueClient) unsigned(messageType string) protocol.Envelope {
	conversation := "conv-query"
	if c.sender == protocol.ManagerSender { // for whom the organiser speaks
		conversation = "conv-organiser"
	}
	return protocol.NewStamp(c.sender, protocol.SystemClock()).Envelope(messageType, conversation)
}

// envelope returns an envelope with the token.
func (c *leagueClient) envelope(messageType string) protocol.Envelope {
	e := c.unsigned(messageType)
	e.AuthToken = c.token
	return e
}

// ask sends a query and decodes the data of the response.
func (c *leagueClient) ask(ctx context.Context, queryType string, params protocol.QueryParams, data any) error {
	raw, err := c.answer(ctx, subject{queryType: queryType}, params)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, data)
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

// answer sends a query about a subject and returns the data of the response. It joins the pages of a list.
func (c *leagueClient) answer(ctx context.Context, about subject, params protocol.QueryParams) (jsontext.Value, error) {
	var first protocol.Object // the members of the first page
	var items []jsontext.Value
	for {
		data, err := patiently(ctx, c, func() (jsontext.Value, error) { return c.page(ctx, about.queryType, params) })
		if err != nil {
			return nil, err
		}
		var members protocol.Object
		if len(data) == 0 || json.Unmarshal(data, &members) != nil {
			return nil, fmt.Errorf("the response of the manager at %s has no data", c.url)
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
		params.Offset = len(items)
	}
}

// page sends one query and returns the data of the response.
func (c *leagueClient) page(ctx context.Context, queryType string, params protocol.QueryParams) (jsontext.Value, error) {
	q := &protocol.LeagueQuery{Envelope: c.envelope(protocol.TypeLeagueQuery), LeagueID: c.leagueID, QueryType: queryType,
		QueryParams: params}
	method := protocol.ReadAs[queryAnswer](protocol.Query)
	r, err := method.Call(ctx, c.caller, protocol.Peer{Endpoint: c.url}, q)
	switch {
	case protocol.Unreachable(err):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("the query to the manager at %s failed: %w", c.url, err)
	case r.Success != nil && !*r.Success:
		return nil, fmt.Errorf("the manager at %s refused the query: %s", c.url, reasonOf(r.Error))
	case r.Data.Kind() != '{':
		return r.Beside, nil
	}
	return r.Data, nil
}

// reasonOf says why a manager refused a query.
func reasonOf(e *protocol.QueryError) string {
	if e == nil {
		return "it gives no reason"
	}
	return strings.Trim(e.ErrorCode+" "+e.ErrorName+": "+e.ErrorDescription, " :")
}

// withoutToken hides a token, in case the manager repeats it.
func withoutToken(text []byte, token string) []byte {
	const shortest = 8 // third-party managers without tokens use words such as none
	if len(token) >= shortest {
		text = bytes.ReplaceAll(text, []byte(token), []byte("***"))
	}
	return protocol.HideTokens(text)
}

// patiently makes a call again when the manager asks to wait.
func patiently[R any](ctx context.Context, c *leagueClient, call func() (R, error)) (R, error) {
	const most = 30 // calls
	for n := 1; ; n++ {
		result, err := call()
		e := protocol.AsError(err)
		if e == nil || e.Code != protocol.ErrRateLimited || n == most {
			return result, c.explain(ctx, err)
		}
		if protocol.SystemClock().Sleep(ctx, max(e.RetryAfter(), time.Second)) != nil {
			return result, interrupted("Nothing was changed.")
		}
	}
}

// explain says what to do about the error of a call, which has no token.
func (c *leagueClient) explain(ctx context.Context, err error) error {
	e, organises := protocol.AsError(err), c.sender == protocol.ManagerSender
	switch {
	case err == nil:
		return nil
	case organises && ctx.Err() != nil:
		return interrupted("Run 'evenodd league status' to see whether the decision was made.")
	case organises && e != nil && e.Code == protocol.ErrTokenInvalid:
		return fmt.Errorf("the manager at %s refuses the admin token: set %s to what 'evenodd league token' prints on its "+
			"machine, or --data to its data folder", c.url, adminTokenVariable)
	case organises && protocol.Unreachable(err):
		return fmt.Errorf("no manager answers at %s: start it, or set --manager to its URL", c.url)
	}
	text := misdirected(c.url, err).Error()
	switch {
	case e != nil && e.Code == protocol.ErrTokenInvalid:
		text += "; the agent is no longer registered there: register it again, or use the token of another with --id or " +
			tokenVariable
	case protocol.Unreachable(err):
		text += ": start the manager, or set --manager to another"
	case organises && e != nil && e.Remote:
		if detail, ok := e.Context["detail"].(string); ok {
			text = fmt.Sprintf("%.1000s (%s)", detail, e.Code) // the text of the error is shortened
		}
	}
	if text = string(withoutToken([]byte(text), c.token)); text == err.Error() {
		return err
	}
	return errors.New(text)
}

// Lines implements record.Source.
func (c *leagueClient) Lines(ctx context.Context, from int) (lines []string, err error) {
	var page protocol.JournalData
	if err := c.ask(ctx, protocol.QueryJournal, protocol.QueryParams{Offset: from}, &page); err != nil {
		return nil, err
	}
	return page.Lines, nil
}

// Log implements record.Source.
func (c *leagueClient) Log(ctx context.Context, agentID string, offset int64) (lines []string, next int64, err error) {
	var page protocol.AgentLogData
	err = c.ask(ctx, protocol.QueryAgentLog, protocol.QueryParams{PlayerID: agentID, Offset: int(offset)}, &page)
	return page.Lines, int64(page.Next), err
}

// Transcript implements record.Source.
func (c *leagueClient) Transcript(ctx context.Context, at league.Attempt) (doc *store.Match, err error) {
	r, err := patiently(ctx, c, func() (*protocol.MatchTranscript, error) {
		q := &protocol.ToolRequest{Envelope: c.envelope(""), LeagueID: c.leagueID, MatchID: at.MatchID.String(),
			Attempt: at.Number}
		return protocol.GetMatchTranscript.Call(ctx, c.caller, protocol.Peer{Endpoint: c.url}, q)
	})
	if err != nil {
		return nil, err
	}
	doc = new(store.Match)
	return doc, json.Unmarshal(r.Match, doc)
}

// Close implements record.Source.
func (c *leagueClient) Close() { c.node.close() }

// source opens the records of the league: those of the manager that the user has named, else
// those of the data folder.
func (o *leagueCommand) source(ctx context.Context) (record.Source, error) {
	if o.remote {
		return o.connect(ctx)
	}
	dir, err := o.chosen()
	if err != nil {
		return nil, err
	}
	return record.NewFolder(dir, o.leagueID), nil
}

// A leagueRecord is a league as the organiser's commands show it.
type leagueRecord struct {
	*record.League

	roster    []config.RosterEntry // that the user has named
	obstacles map[string]string    // what pings to silent agents met
}

// readRoster reads the file of --roster; "" is no roster.
func readRoster(path string) ([]config.RosterEntry, error) {
	if path == "" {
		return nil, nil
	}
	entries, err := config.ReadRoster(path)
	if err != nil {
		return nil, usage("--roster: %w", err)
	}
	return entries, nil
}

func newLeagueRecord() *leagueRecord {
	r := &leagueRecord{League: record.NewLeague()}
	r.Zone = time.Local
	return r
}

// firstEvent is the longest wait for the first event of a league. A manager that starts makes
// the journal shortly before it writes this event.
const firstEvent = 2 * time.Second

// stopped tells whether nobody runs the league, as its data folder shows.
func (o *leagueCommand) stopped() bool { return !o.remote && !store.In(o.data).Running(o.leagueID) }

// readLeague opens the records of the league, and folds its journal. It calls news, which may be nil, with each event
// and its line.
func (o *leagueCommand) readLeague(ctx context.Context,
	news func(*leagueRecord, *journal.Event, string)) (*leagueRecord, record.Source, error) {
	from, err := o.source(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, end := newLeagueRecord(), time.Now().Add(firstEvent)
	r.Stopped = o.stopped()
	update := func() error {
		return r.Update(ctx, from, func(e *journal.Event, line string) {
			if news != nil {
				news(r, e, line)
			}
		})
	}
	for err = update(); err == nil && r.Created == nil; err = update() {
		if protocol.SystemClock().Sleep(ctx, firstEvent/20) != nil {
			err = interrupted("Nothing was changed.")
			break
		}
		if time.Now().After(end) {
			err = record.NoEvent(o.leagueID)
			break
		}
	}
	if err != nil {
		from.Close()
		return nil, nil, err
	}
	return r, from, nil
}

// withLeague reads the league, and calls a function with it and with its records, which are closed then. News is that
// of readLeague.
func (o *leagueCommand) withLeague(ctx context.Context, news func(*leagueRecord, *journal.Event, string),
	use func(r *leagueRecord, from record.Source) error) error {
	r, from, err := o.readLeague(ctx, news)
	if err != nil {
		return err
	}
	defer from.Close()
	return use(r, from)
}
