package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
)

// greeting is the request and the result of the examples.
type greeting struct{ Text string }

func decodeGreeting(raw []byte) (any, error) {
	g := &greeting{}
	return g, json.Unmarshal(raw, g)
}

// greeter is an agent with the method greet.
func greeter() *transport.Mux {
	mux := transport.NewMux(zerolog.Nop())
	mux.Handle("greet", decodeGreeting, func(_ context.Context, _ string, params any) (any, error) {
		return &greeting{"Hello, " + params.(*greeting).Text}, nil
	})
	return mux
}

// The memory bus passes values from the caller to the handler.
func Example_memory() {
	bus := memory.NewBus()
	stop := bus.Listen("memory://greeter/mcp", greeter())
	defer stop()
	result, _, err := bus.Call(context.Background(), transport.Request{
		Endpoint: "memory://greeter/mcp", Method: "greet", Params: &greeting{"league"}, Decode: decodeGreeting, Limit: time.Second,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.(*greeting).Text)
	// Output: Hello, league
}

// Over HTTP the same call is encoded, and returns where its time went.
func Example_http() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server := http.NewServer(greeter(), http.Config{MaxBody: 10 << 10})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	client := http.NewClient(http.ClientConfig{MaxReply: 64 << 10})
	result, timing, err := client.Call(context.Background(), transport.Request{
		Endpoint: "http://" + listener.Addr().String() + http.Path, Method: "greet", Params: &greeting{"league"}, Decode: decodeGreeting, Limit: 10 * time.Second,
	})
	client.Close()
	_ = server.Shutdown(context.Background())
	serving.Wait()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.(*greeting).Text, timing.Waiting > 0)
	// Output: Hello, league true
}
