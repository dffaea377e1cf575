package leaguetest_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// wireFaults are the faults of a player's connections and bytes.
func wireFaults() []*fault {
	at := func(name, description string, ownResults matchResults, method string, play reply) *fault {
		return &fault{name: name, description: description, of: ofWire, ownResults: ownResults, wire: &wire{replies: map[string]reply{method: play}}}
	}
	choice := func(name, description string, ownResults matchResults, play reply) *fault {
		return at(name, description, ownResults, protocol.ChooseParity.Name, play)
	}
	always := func(name, description string, ownResults matchResults, play reply) *fault {
		return at(name, description, ownResults, "", play)
	}
	line := func(name, description string, ownResults matchResults, x *wire) *fault {
		return &fault{name: name, description: description, of: ofWire, ownResults: ownResults, wire: x}
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	bomb := sync.OnceValue(func() []byte { return packed(bytes.Repeat([]byte(" "), 10<<20)) })
	redirect := func(line, to string) reply { return status(line, "Location: "+to+"\r\n") }
	return []*fault{
		// Connections.
		line("refuses-connections", "refuses every connection after its registration", allLost, &wire{connect: refusesConnections}),
		line("never-accepts", "never accepts a connection", allLost, &wire{connect: neverAccepts}),
		line("accepts-without-reading", "accepts connections, but neither reads nor writes", allLost, &wire{greet: waits}),
		line("reads-without-answering", "accepts connections and reads requests, but never answers", allLost, &wire{greet: hangs}),
		line("closes-connections", "closes every connection immediately", allLost, &wire{greet: func(net.Conn) {}}),
		line("resets-connections", "resets every connection immediately", allLost, &wire{connect: resets, greet: func(net.Conn) {}}),
		line("resets-during-the-response", "resets every connection in the middle of its response", allLost, &wire{
			connect: resets, replies: map[string]reply{protocol.ChooseParity.Name: halves},
		}),
		line("random-bytes", "answers every connection with random bytes", allLost, &wire{greet: func(c net.Conn) {
			_, _ = io.ReadFull(c, make([]byte, 16)) // the begin of the request
			_, _ = io.CopyN(c, rand.NewChaCha8([32]byte{}), 4096)
		}}),
		line("refuses-after-round-1", "refuses every connection from round 2 on", someLost, &wire{connect: refusesConnections, round: 2}),
		line("never-accepts-after-round-1", "never accepts a connection from round 2 on", someLost, &wire{connect: neverAccepts, round: 2}),
		always("closes-after-each-response", "sends valid responses and closes the connection after each", allComplete, spoils(func(s string) string { return s })),

		// HTTP.
		choice("http-500", "answers HTTP 500", allLost, status("500 Internal Server Error", "")),
		choice("http-503", "answers HTTP 503 with Retry-After: 3600", allLost, status("503 Service Unavailable", "Retry-After: 3600\r\n")),
		choice("http-429", "answers HTTP 429 with Retry-After: 3600", allLost, status("429 Too Many Requests", "Retry-After: 3600\r\n")),
		choice("http-500-with-a-valid-response", "sends a valid response with HTTP 500", allLost, func(c *rawCall) {
			writes(strings.Replace(string(plainHTTP("Connection: close\r\n", c.honest)), "200 OK", "500 Oops", 1))(c)
		}),
		choice("redirects-to-another-player", "redirects to P01", allLost, redirect("301 Moved Permanently", leaguetest.EndpointOf("p01"))),
		choice("redirects-to-the-manager", "redirects to the manager", allLost, redirect("307 Temporary Redirect", leaguetest.EndpointOf(leaguetest.ManagerHost))),
		choice("redirects-to-itself", "redirects to itself", allLost, redirect("308 Permanent Redirect", leaguetest.EndpointOf("p02"))),
		choice("switches-protocols", "answers HTTP 101, switching protocols", allLost, writes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: ws\r\nConnection: Upgrade\r\n\r\n")),
		choice("endless-http-100", "sends HTTP 100 endlessly", allLost, endlessly("", "HTTP/1.1 100 Continue\r\n\r\n", 0)),
		choice("endless-headers", "sends header lines endlessly", allLost, endlessly(ok, "X-More: "+strings.Repeat("x", 4000)+"\r\n", 0)),
		choice("endless-chunks", "sends chunks of spaces endlessly", allLost,
			endlessly(ok+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 0)),
		choice("one-byte-per-second", "sends one byte of its response per second", allLost, func(c *rawCall) {
			for _, b := range plainHTTP("", c.honest) {
				pause()
				if _, err := c.conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}),
		choice("half-a-response", "sends half of its response and keeps the connection open", allLost, func(c *rawCall) {
			halves(c)
			hangs(c.conn)
		}),
		choice("invalid-chunks", "sends chunks with invalid lengths", allLost, writes(ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")),
		choice("10-MB-with-length", "sends a response of 10 MB with its Content-Length", allLost, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("", bytes.Repeat([]byte(" "), 10<<20)))
		}),
		choice("gzip-bomb", "sends 10 MB of spaces, compressed to 10 KB, with Content-Encoding: gzip", allLost, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("Content-Encoding: gzip\r\nConnection: close\r\n", bomb()))
		}),
		choice("response-twice", "sends its response twice on the connection", allComplete, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("", c.honest))
			_, _ = c.conn.Write(plainHTTP("", c.honest))
		}),
		choice("response-to-the-next-request", "sends its response, and a forged response for the next request", allComplete, func(c *rawCall) {
			_, _ = c.conn.Write(append(plainHTTP("", c.honest), plainHTTP("", []byte(`{"jsonrpc":"2.0","result":{"forged":true},"id":1}`))...))
			hangs(c.conn)
		}),
		choice("event-stream", "sends a valid response as an event stream", allLost, func(c *rawCall) {
			answer := "data: " + string(c.honest) + "\n\n"
			writes(strings.Replace(string(plainHTTP("Connection: close\r\n", []byte(answer))), "application/json", "text/event-stream", 1))(c)
		}),

		// JSON.
		choice("html-page", "sends an HTML page", allLost, answers("<!doctype html><title>Welcome</title>")),
		choice("empty-body", "sends an empty body", allLost, answers("")),
		choice("no-json-rpc", `sends {"parity_choice":"even"} without a JSON-RPC envelope`, allLost, answers(`{"parity_choice":"even"}`)),
		choice("half-json", "sends half of its JSON with the right Content-Length", allLost, spoils(func(s string) string { return s[:len(s)/2] })),
		choice("trailing-bytes", `sends its JSON, followed by "]]"`, allLost, spoils(func(s string) string { return s + "]]" })),
		choice("invalid-utf-8", "sends a choice with invalid UTF-8", allLost, replaces(`"parity_choice":"even"`, "\"parity_choice\":\"even\xff\xfe\"")),
		choice("deep-nesting", "sends 10,000 nested lists as the result", allLost, answers(`{"jsonrpc":"2.0","result":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,"id":1}`)),
		choice("deep-nesting-in-a-member", "sends a valid response with an additional member of 10,000 nested lists", allLost,
			replaces(`"result":{`, `"result":{"deep":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,`)),
		choice("duplicate-members", "sends parity_choice twice, even and odd", allLost, replaces(`"result":{`, `"result":{"parity_choice":"odd",`)),
		choice("two-results", "sends two result members", allLost, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","result":{}`)),
		choice("huge-number", "sends a valid response with an additional number 1e999", allComplete, replaces(`"result":{`, `"result":{"x":1e999,`)),
		choice("jsonrpc-1.0", "sends a valid response as jsonrpc 1.0", allComplete, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`)),
		choice("jsonrpc-missing", "sends a valid response without jsonrpc", allComplete, replaces(`"jsonrpc":"2.0",`, ``)),
		choice("another-id", "sends a valid response with another id", allComplete, replaces(`"id":`, `"id":9`)),
		choice("error-and-result", "sends a valid response with an additional error", allLost, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","error":{"code":1,"message":"m"}`)),
		choice("null-error-and-result", "sends a valid response with an additional error null", allComplete, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","error":null`)),
		choice("error-is-a-string", `sends {"error":"no"}`, allLost, answers(`{"jsonrpc":"2.0","error":"no","id":1}`)),
		choice("neither-result-nor-error", "sends a response without result and error", allLost, answers(`{"jsonrpc":"2.0","id":1}`)),
		choice("response-with-a-token", "sends a valid response with a stolen token in additional members", allComplete,
			replaces(`"result":{`, `"result":{"access_token":"tok-p01-stolen","token":"tok-p01-stolen",`)),
	}
}

// waits neither reads nor writes until the caller closes the connection.
func waits(c net.Conn) {
	for err := error(nil); err == nil; { // a pipe reports its end even to a read of no bytes
		pause()
		_, err = c.Read(nil)
	}
}

// halves writes half of the response.
func halves(c *rawCall) {
	whole := plainHTTP("", c.honest)
	_, _ = c.conn.Write(whole[:len(whole)-len(c.honest)/2])
}

// pause waits a second.
func pause() { time.Sleep(leaguetest.Second) }

func packed(raw []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(raw)
	_ = z.Close()
	return b.Bytes()
}
