package simulation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
)

// A toolNetwork makes every call by tools/call of MCP.
type toolNetwork struct {
	*loopback
	client nethttp.Client
}

func newToolNetwork() *toolNetwork {
	return &toolNetwork{newNetwork(HTTP).(*loopback), nethttp.Client{Transport: &nethttp.Transport{MaxIdleConnsPerHost: 128}}}
}

func (n *toolNetwork) reserve(ctx context.Context, _ string) (string, func(*transport.Mux) func(), error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	n.listeners = append(n.listeners, l)
	return "http://" + l.Addr().String() + http.Path, func(mux *transport.Mux) func() {
		server := http.NewServer(mux, http.Config{MaxBody: maxMessage, Limits: http.NoLimits(), MCP: mcp.NewServer(mcp.Options{Name: "agent", Version: "1", Tools: toolsOf(mux)})})
		var serving sync.WaitGroup
		serving.Go(func() { _ = server.Serve(l) })
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			n.client.CloseIdleConnections()
			_ = server.Shutdown(ctx)
			serving.Wait()
		}
	}, nil
}

func toolsOf(mux *transport.Mux) (tools []mcp.Tool) {
	for _, t := range protocol.Tools() {
		if mux.Handles(t.Name) {
			tools = append(tools, mcp.Tool{Name: t.Name, Input: t.Input, Output: t.Output, Call: func(ctx context.Context, bearer string, arguments []byte) (any, error) {
				return mux.DispatchEncoded(ctx, bearer, t.Name, arguments)
			}})
		}
	}
	return tools
}

func (n *toolNetwork) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, q.Limit)
	defer cancel()
	body, err := transport.EncodeRequest("tools/call", map[string]any{"name": q.Method, "arguments": q.Params}, 1)
	if err != nil {
		return nil, nil, err
	}
	request, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, q.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	request.Header.Set("Authorization", "Bearer "+q.Bearer)
	response, err := n.client.Do(request)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	var answer struct {
		Result struct {
			Structured jsontext.Value `json:"structuredContent"`
			IsError    bool           `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Result.IsError || answer.Result.Structured == nil {
		return nil, nil, fmt.Errorf("%s: %s (%w)", q.Method, text, err)
	}
	value, err := q.Decode(answer.Result.Structured)
	return value, nil, err
}
