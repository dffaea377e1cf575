// Package mcp serves an agent to clients of the Model Context Protocol, on the endpoint
// of its JSON-RPC calls: tools, resources and prompts. A program
// that a host starts serves it on its standard streams.
//
// Each request over HTTP stands alone: there are no sessions. Updates of resources come by
// subscriptions/listen. The package must not depend on the protocol of the league: it
// knows no message. The server of package transport/http decides which requests are for
// it, and bounds them.
package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evenodd/transport"
)

// A Tool is a call that a client can make.
type Tool struct {
	Name, Title, Description string
	ReadOnly                 bool // a call changes nothing
	Once                     bool // a repeated call is an error, or has another effect
	OpenWorld                bool // a call reaches an address that its arguments name
	// Input and Output are JSON Schemas of objects, of the arguments and of the result.
	// A nil Output makes no promise.
	Input  map[string]any
	Output any
	// Call makes a call with arguments, one JSON object, which the server has not
	// checked. Bearer is the caller's credential; "" for none.
	Call func(ctx context.Context, bearer string, arguments []byte) (result any, err error)
}

// A Resource is a document in JSON that a client can read.
type Resource struct {
	URI                      string // a URI template (RFC 6570) if it contains a brace
	Name, Title, Description string
	// Read returns the document as a value to encode. A URI without a document is
	// ErrNotFound.
	Read func(ctx context.Context, bearer, uri string) (any, error)
}

// ErrNotFound is the error of a resource that does not exist.
var ErrNotFound = errors.New("no such resource")

// A Prompt is a text that introduces a language model to the agent.
type Prompt struct {
	Name, Title, Description string
	Text                     func() string
}

// Options describe an agent.
type Options struct {
	Name, Title, Version string
	Instructions         string // for the user of the tools
	Tools                []Tool
	Resources            []Resource
	Prompts              []Prompt

	// Listen admits a client with a bearer credential, "" for none, to the updates of
	// resources (see Server.Changed). Nil: the server has no updates.
	Listen func(ctx context.Context, bearer string) error
}

// A Server is an agent's MCP server. It is safe for concurrent use.
type Server struct {
	http.Handler
	server func() *mcp.Server // makes it at the first call: it takes milliseconds, and most agents have no client

	mu      sync.Mutex
	changed map[string]bool // URIs of resources of which clients are not told yet
	telling bool            // a goroutine tells them
	tellers sync.WaitGroup
}

// NewServer makes a server.
func NewServer(o Options) *Server {
	s := &Server{changed: map[string]bool{}, server: sync.OnceValue(o.server)}
	overHTTP := &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // the server of package http checks the names of hosts
		MaxRequestBodyBytes:          -1,   // and the size
	}
	s.Handler = serveExactly(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.server() }, overHTTP))
	return s
}

// server makes the server of the SDK.
func (o *Options) server() *mcp.Server {
	options := &mcp.ServerOptions{
		Instructions: o.Instructions, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.CacheScope = "private" // results depend on the credential
		},
	}
	if len(o.Resources) > 0 {
		options.Capabilities.Resources = &mcp.ResourceCapabilities{Subscribe: o.Listen != nil}
	}
	if o.Listen != nil {
		options.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
		options.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
	}
	if len(o.Prompts) > 0 {
		options.Capabilities.Prompts = &mcp.PromptCapabilities{}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: o.Name, Title: o.Title, Version: o.Version}, options)
	if o.Listen != nil {
		server.AddReceivingMiddleware(onlyAdmitted(o.Listen))
	}
	for _, t := range o.Tools {
		server.AddTool(t.describe(), t.handle)
	}
	for _, r := range o.Resources {
		r.add(server)
	}
	for _, p := range o.Prompts {
		server.AddPrompt(&mcp.Prompt{Name: p.Name, Title: p.Title, Description: p.Description},
			func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text := &mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: p.Text()}}
				return &mcp.GetPromptResult{Description: p.Description, Messages: []*mcp.PromptMessage{text}}, nil
			})
	}
	return server
}

// maxLine is the largest request that Run reads, in bytes.
const maxLine = 1 << 20

// Run serves one client, which writes its requests to in and reads the responses from
// out, each on a line, until in or ctx ends. Then it ends the calls
// that still run, and waits for them. Nothing else may write to out.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	s.server().AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(call context.Context, method string, q mcp.Request) (mcp.Result, error) {
			call, cancel := context.WithCancel(call)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)() // the library lets calls continue
			return next(call, method, q)
		}
	})
	streams := &stdio{in: bufio.NewReaderSize(in, 64<<10), out: out}
	return s.server().Run(ctx, &mcp.IOTransport{Reader: streams, Writer: streams, MaxLineLength: 2 * maxLine})
}

// onlyAdmitted refuses a stream of updates to a client that is not admitted. Older
// revisions subscribe in a session, which this server does not have: it neither offers
// such subscriptions nor remembers them.
func onlyAdmitted(admit func(ctx context.Context, bearer string) error) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, q mcp.Request) (mcp.Result, error) {
			switch method {
			case "resources/subscribe", "resources/unsubscribe":
				const text = "updates need subscriptions/listen, of revision 2026-07-28"
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: text}
			case "subscriptions/listen":
				if err := admit(ctx, bearerOf(q.GetExtra())); err != nil {
					return nil, asRPC(err)
				}
			}
			result, err := next(ctx, method, q)
			if began, ok := result.(*mcp.InitializeResult); ok && err == nil {
				began.Capabilities.Resources.Subscribe = false
			}
			return result, err
		}
	}
}

func (t *Tool) describe() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input, OutputSchema: t.Output,
		Annotations: &mcp.ToolAnnotations{
			Title: t.Title, ReadOnlyHint: t.ReadOnly, IdempotentHint: !t.Once, DestructiveHint: &no, OpenWorldHint: &t.OpenWorld,
		},
	}
}

// handle answers a call of the tool. An error of the tool is a result with isError, as
// MCP demands, so that the model reads it. It is text alone, with the data of the error in the last line: clients
// refuse structured content that does not fit the tool's output schema, and would hide the error.
func (t *Tool) handle(ctx context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments := []byte(q.Params.Arguments)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	result, err := t.Call(ctx, bearerOf(q.Extra), arguments)
	if err != nil {
		text := err.Error()
		if coded, ok := errors.AsType[transport.RPCError](err); ok {
			if _, _, data := coded.RPCError(); data != nil {
				encoded, err := encode(data)
				if err != nil {
					return nil, err
				}
				text += "\n" + string(encoded)
			}
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
	}
	text, err := encode(result)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{StructuredContent: text, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}

// add adds the resource to a server.
func (r *Resource) add(s *mcp.Server) {
	const mimeType = "application/json"
	if strings.Contains(r.URI, "{") {
		s.AddResourceTemplate(&mcp.ResourceTemplate{
			URITemplate: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: mimeType,
		}, r.read)
		return
	}
	s.AddResource(&mcp.Resource{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: mimeType,
	}, r.read)
}

func (r *Resource) read(ctx context.Context, q *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	value, err := r.Read(ctx, bearerOf(q.Extra), q.Params.URI)
	if errors.Is(err, ErrNotFound) {
		return nil, mcp.ResourceNotFoundError(q.Params.URI)
	}
	if err != nil {
		return nil, asRPC(err)
	}
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	contents := &mcp.ResourceContents{URI: q.Params.URI, MIMEType: "application/json", Text: string(text)}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// asRPC returns an error of the agent as an error of JSON-RPC.
func asRPC(err error) error {
	coded, ok := errors.AsType[transport.RPCError](err)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "Internal error"}
	}
	code, _, data := coded.RPCError()
	out := &jsonrpc.Error{Code: int64(code), Message: err.Error()}
	if data != nil {
		if text, failed := encode(data); failed == nil {
			out.Data = text
		}
	}
	return out
}

func encode(value any) (json.RawMessage, error) {
	text, err := jsonv2.Marshal(value)
	return text, err
}

// bearerOf is the bearer credential of a request; "" for none.
func bearerOf(e *mcp.RequestExtra) string {
	if e == nil {
		return ""
	}
	return transport.Bearer(e.Header.Get("Authorization"))
}

// Changed tells the clients that listen to a resource that it has changed. It never
// waits: several changes of a resource can become one update.
func (s *Server) Changed(uris ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range uris {
		s.changed[uri] = true
	}
	if !s.telling {
		s.telling = true
		s.tellers.Go(s.tell)
	}
}

// Wait waits until all clients are told of the changes so far. Call it after the last
// Changed.
func (s *Server) Wait() { s.tellers.Wait() }

// tell sends updates until there are none.
func (s *Server) tell() {
	for {
		s.mu.Lock()
		changed := s.changed
		s.changed = map[string]bool{}
		s.telling = len(changed) > 0
		s.mu.Unlock()
		if len(changed) == 0 {
			return
		}
		for uri := range changed {
			// A client that does not read loses its stream; it listens again.
			_ = s.server().ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
		}
	}
}
