package cmd

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"evenodd/league/protocol"
	"evenodd/player/strategy/external"
	"evenodd/transport/mcp"
)

// A hostAccess gives the MCP host of a player the questions that wait for an answer. Only
// the host token opens it: the tokens of the league grant nothing here.
type hostAccess struct {
	host  *external.Host
	token string
	over  <-chan struct{} // closed when the player has ended; nil if nobody needs to know
}

// newHostAccess makes a token for the host. A nil host has no access.
func newHostAccess(host *external.Host) *hostAccess {
	var secret [24]byte
	_, _ = rand.Read(secret[:]) // never fails
	return &hostAccess{host: host, token: "host-" + base64.RawURLEncoding.EncodeToString(secret[:])}
}

// opens tells whether a credential is the host token.
func (a *hostAccess) opens(bearer string) bool {
	return a.host != nil && protocol.SameToken(bearer, a.token)
}

// identifyOr names a caller with the host token, and any other as next does.
func (a *hostAccess) identifyOr(next func(bearer string, body []byte) string) func(string, []byte) string {
	return func(bearer string, body []byte) string {
		if a.opens(bearer) {
			return "host"
		}
		return next(bearer, body)
	}
}

// The time that wait_for_choice waits, in seconds. The server ends every response after
// a minute.
const (
	usualWait = 25
	maxWait   = 50
)

// tools returns the tools of the host, which need its token; none without a host.
func (a *hostAccess) tools() []mcp.Tool {
	if a.host == nil {
		return nil
	}
	tools := a.openTools()
	for i := range tools {
		tools[i].Call = a.guarded(tools[i].Call)
	}
	return tools
}

// waitSchema is the schema of the arguments of a tool that waits.
func waitSchema() map[string]any {
	return objectSchema(properties{"timeout_sec": properties{"type": "integer", "minimum": 0, "maximum": maxWait,
		"default": usualWait, "description": "seconds to wait"}})
}

// openTools returns the tools of the host for a server that nobody else reaches.
func (a *hostAccess) openTools() []mcp.Tool {
	pending := resultSchema[pendingChoices]()
	return []mcp.Tool{
		withArguments(mcp.Tool{
			Name: "wait_for_choice", Title: "Wait for a choice", ReadOnly: true,
			Description: "Waits until a match asks this player for a choice, and returns the questions that wait for an " +
				"answer. Returns an empty list after timeout_sec: call it again." + untrusted,
			Input: waitSchema(), Output: pending,
		}, waitRequest{usualWait}, a.wait),
		{
			Name: "list_pending_choices", Title: "List pending choices", ReadOnly: true,
			Description: "Returns the questions that wait for an answer, without waiting." + untrusted,
			Input:       objectSchema(properties{}), Output: pending,
			Call: func(context.Context, string, []byte) (any, error) { return a.pending(), nil },
		},
		withArguments(mcp.Tool{
			Name: "answer_choice", Title: "Answer a choice", Once: true,
			Description: "Answers a question with one of its valid_options, before its deadline. The answer is final.",
			Input: objectSchema(properties{"choice_id": properties{"type": "string"}, "choice": properties{"type": "string",
				"description": "one of the valid_options"}}, "choice_id", "choice"),
			Output: resultSchema[answeredChoice](),
		}, choiceAnswer{}, a.answer),
	}
}

type toolCall = func(ctx context.Context, bearer string, arguments []byte) (any, error)

// guarded makes calls without the host token fail.
func (a *hostAccess) guarded(call toolCall) toolCall {
	return func(ctx context.Context, bearer string, arguments []byte) (any, error) {
		switch {
		case bearer == "":
			return nil, protocol.Fault(protocol.ErrTokenMissing, "send the player's host token in the Authorization header")
		case !a.opens(bearer):
			return nil, protocol.Fault(protocol.ErrTokenInvalid, "the credential is not the player's host token")
		}
		return call(ctx, bearer, arguments)
	}
}

// pendingChoices is the result of the tools that return questions.
type pendingChoices struct {
	Pending []external.Question `json:"pending"`
	Over    bool                `json:"over,omitzero"` // the league is over: no more questions
}

func (a *hostAccess) pending() pendingChoices {
	select {
	case <-a.over:
		return pendingChoices{[]external.Question{}, true}
	default:
		return pendingChoices{a.host.Pending(), false}
	}
}

// answeredChoice is the result of answer_choice.
type answeredChoice struct {
	Status   string `json:"status"` // ACCEPTED
	ChoiceID string `json:"choice_id"`
}

// A waitRequest holds the arguments of wait_for_choice.
type waitRequest struct {
	Seconds int `json:"timeout_sec"`
}

func (a *hostAccess) wait(ctx context.Context, _ string, given *waitRequest) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(given.Seconds)*time.Second)
	defer cancel()
	defer background(func(ended context.Context) {
		select {
		case <-a.over:
			cancel()
		case <-ended.Done():
		}
	})()
	a.host.Wait(ctx)
	return a.pending(), nil
}

// A choiceAnswer holds the arguments of answer_choice.
type choiceAnswer struct {
	ChoiceID string `json:"choice_id"`
	Choice   string `json:"choice"`
}

func (a *hostAccess) answer(_ context.Context, _ string, given *choiceAnswer) (any, error) {
	if err := a.host.Answer(given.ChoiceID, given.Choice); err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%s", err).Because(err)
	}
	return answeredChoice{"ACCEPTED", given.ChoiceID}, nil
}

// A hostPlayer is the player of 'evenodd mcp --play', which its host decides for. The command line alone
// says where it plays and what it writes.
type hostPlayer struct {
	playerOptions

	play  bool          // --play
	over  chan struct{} // closed when the player has ended
	final played
	err   error
}

// flags defines the flags.
func (p *hostPlayer) flags(f *pflag.FlagSet) {
	f.BoolVar(&p.play, "play", false, "take part in the league of --manager as a player, for whom the host decides; "+
		"--data keeps its identity and history. --name, --host, --port, --endpoint, --registration-code and --fallback are "+
		"for it, as those of evenodd player")
	p.address.ports = ports{8101, 8150}
	var all pflag.FlagSet
	p.playerOptions.flags(&all, "player-id", "P01", "8101 to 8199")
	botFlags(&all, &p.tools, &p.prompt)
	for _, name := range strings.Fields("name host port endpoint registration-code fallback") {
		f.AddFlag(all.Lookup(name))
	}
}

// start starts the player, and returns its tools. The caller must call stop, which lets a running match end.
func (p *hostPlayer) start(ctx context.Context, d *desktop) (tools []mcp.Tool, stop func(), err error) {
	o := &p.playerOptions
	o.Manager, o.data, o.ca, o.ID = d.query.manager, d.query.data, d.query.ca, d.query.id
	o.strategy, o.tools.Hosted, o.logLevel, o.count = external.HostName, true, "warn", 1
	if o.verify = verifyAnnounced; d.query.leagueID != "" {
		o.Leagues = []string{d.query.leagueID}
	}
	if o.games, err = o.preset(d.files, protocol.RolePlayer); err != nil {
		return nil, nil, err
	}
	if err := o.prepare(ctx, d.streams); err != nil {
		return nil, nil, err
	}
	l, err := o.address.listen(ctx)
	if err != nil {
		return nil, nil, err
	}
	decides, err := external.Open(o.strategy, o.tools)
	if err != nil {
		_ = l.Close()
		return nil, nil, asUsage(err)
	}
	o.host = decides.(*external.Host)
	p.over = make(chan struct{})
	stop = background(func(ctx context.Context) {
		defer close(p.over)
		p.playUntilOver(ctx, d, l)
	})
	access := &hostAccess{host: o.host, over: p.over}
	return append(access.openTools(), withArguments(mcp.Tool{
		Name: "read_result", Title: "Result of the player", ReadOnly: true,
		Description: "Waits until the league of this player is over, and returns its record and the champion. Returns " +
			"over: false after timeout_sec." + untrusted,
		Input: waitSchema(), Output: resultSchema[hostedResult](),
	}, waitRequest{usualWait}, p.result)), stop, nil
}

// playUntilOver plays. The host reads what happened by read_result; people read it on standard error.
func (p *hostPlayer) playUntilOver(ctx context.Context, d *desktop, l net.Listener) {
	p.final, p.err = p.playerOptions.play(ctx, d.streams, d.files, l)
	if p.err != nil && ctx.Err() == nil {
		printError(d.err, p.err)
	}
}

// hostedResult is the result of read_result.
type hostedResult struct {
	Over     bool   `json:"over"`
	Player   string `json:"player_id,omitzero"`
	Record   string `json:"record,omitzero"`
	Champion string `json:"champion,omitzero"`
}

func (p *hostPlayer) result(ctx context.Context, _ string, given *waitRequest) (any, error) {
	select {
	case <-p.over:
	case <-time.After(time.Duration(given.Seconds) * time.Second):
		return hostedResult{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.err != nil {
		return nil, p.err
	}
	return hostedResult{true, p.final.PlayerID, p.final.summary(), championOf(p.final.Champion)}, nil
}
