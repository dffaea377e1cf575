package leaguetest_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
)

// wireFaults are what can be wrong with a player's connections and bytes.
func wireFaults() []*fault {
	at := func(name, does string, fate lot, method string, play reply) *fault {
		return &fault{name: name, does: does, of: ofWire, fate: fate, wire: &wire{replies: map[string]reply{method: play}}}
	}
	choice := func(name, does string, fate lot, play reply) *fault {
		return at(name, does, fate, protocol.ChooseParity.Name, play)
	}
	always := func(name, does string, fate lot, play reply) *fault { return at(name, does, fate, "", play) }
	line := func(name, does string, fate lot, x *wire) *fault {
		return &fault{name: name, does: does, of: ofWire, fate: fate, wire: x}
	}
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	bomb := sync.OnceValue(func() []byte { return packed(bytes.Repeat([]byte(" "), 10<<20)) })
	redirect := func(line, to string) reply { return status(line, "Location: "+to+"\r\n") }
	return []*fault{
		// Connections.
		line("refuses-connections", "refuses every connection once it is registered", loses, &wire{connect: refusesConnections}),
		line("never-accepts", "lets every connection hang before it is accepted", loses, &wire{connect: neverAccepts}),
		line("accepts-and-is-silent", "accepts connections, reads nothing and says nothing", loses, &wire{greet: waits}),
		line("reads-and-is-silent", "accepts connections, reads everything and says nothing", loses, &wire{greet: hangs}),
		line("closes-at-once", "closes every connection at once", loses, &wire{greet: func(net.Conn) {}}),
		line("resets-at-once", "resets every connection at once", loses, &wire{connect: resets, greet: func(net.Conn) {}}),
		line("resets-in-the-middle", "resets every connection in the middle of its answer", loses, &wire{
			connect: resets, replies: map[string]reply{protocol.ChooseParity.Name: halves},
		}),
		line("speaks-another-protocol", "answers every connection with the greeting of a mail server", loses, &wire{greet: says("220 mail ready\r\n")}),
		line("speaks-TLS", "answers every connection with a TLS alert", loses, &wire{greet: says("\x15\x03\x01\x00\x02\x02\x0a")}),
		line("random-bytes", "answers every connection with noise", loses, &wire{greet: says(string(noise(4096)))}),
		line("gone-after-round-1", "refuses every connection from round 2 on", either, &wire{connect: refusesConnections, round: 2}),
		line("hangs-after-round-1", "lets every connection hang from round 2 on", either, &wire{connect: neverAccepts, round: 2}),
		always("closes-after-each-answer", "is honest, and closes the connection after each answer", plays, spoils(func(s string) string { return s })),

		// HTTP.
		choice("http-500", "answers HTTP 500", loses, status("500 Internal Server Error", "")),
		choice("http-503", "answers HTTP 503, try again in an hour", loses, status("503 Service Unavailable", "Retry-After: 3600\r\n")),
		choice("http-429", "answers HTTP 429, try again in an hour", loses, status("429 Too Many Requests", "Retry-After: 3600\r\n")),
		choice("http-404", "answers HTTP 404", loses, status("404 Not Found", "")),
		choice("http-401", "answers HTTP 401 and asks for a password", loses, status("401 Unauthorized", "WWW-Authenticate: Basic realm=x\r\n")),
		choice("http-204", "answers HTTP 204", loses, writes("HTTP/1.1 204 No Content\r\n\r\n")),
		choice("http-999", "answers HTTP 999", loses, status("999 Whatever", "")),
		choice("http-500-with-the-answer", "answers rightly, under HTTP 500", loses, func(c *rawCall) {
			writes(strings.Replace(string(plainHTTP("Connection: close\r\n", c.honest)), "200 OK", "500 Oops", 1))(c)
		}),
		choice("redirects-elsewhere", "redirects to another host", loses, redirect("301 Moved Permanently", leaguetest.EndpointOf("p01"))),
		choice("redirects-to-the-manager", "redirects to the manager", loses, redirect("307 Temporary Redirect", leaguetest.EndpointOf(leaguetest.ManagerHost))),
		choice("redirects-in-a-circle", "redirects to itself", loses, redirect("308 Permanent Redirect", leaguetest.EndpointOf("p02"))),
		choice("switches-protocols", "answers HTTP 101, switching protocols", loses, writes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: ws\r\nConnection: Upgrade\r\n\r\n")),
		choice("never-ending-100", "answers HTTP 100 for ever", loses, endlessly("", "HTTP/1.1 100 Continue\r\n\r\n", 0)),
		choice("never-ending-headers", "sends header lines for ever", loses, endlessly(ok, "X-More: "+strings.Repeat("x", 4000)+"\r\n", 0)),
		choice("a-header-line-a-second", "sends a header line each second for ever", loses, endlessly(ok, "X-More: x\r\n", leaguetest.Second)),
		choice("never-ending-chunks", "sends chunks of spaces for ever", loses,
			endlessly(ok+"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", 0)),
		choice("a-byte-a-second", "sends its answer one byte a second", loses, func(c *rawCall) {
			for _, b := range plainHTTP("", c.honest) {
				pause()
				if _, err := c.conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}),
		choice("a-chunk-a-second", "sends a chunk of one byte each second for ever", loses,
			endlessly(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", leaguetest.Second)),
		choice("half-an-answer-then-silence", "sends half of its answer, and then nothing", loses, func(c *rawCall) {
			halves(c)
			hangs(c.conn)
		}),
		choice("half-an-answer-then-closed", "sends half of its answer, and closes the connection", loses, halves),
		choice("length-too-long", "says that its answer is longer than it is, and waits", loses, func(c *rawCall) {
			writes(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(c.honest)+100, c.honest))(c)
			hangs(c.conn)
		}),
		choice("length-too-short", "says that its answer is shorter than it is", loses, func(c *rawCall) {
			writes(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", ok, len(c.honest)-10, c.honest))(c)
		}),
		choice("length-negative", "says that its answer has -1 bytes", loses, writes(ok+"Content-Length: -1\r\n\r\n{}")),
		choice("length-of-an-exabyte", "says that its answer has 2^60 bytes", loses, func(c *rawCall) {
			writes(ok + "Content-Length: 1152921504606846976\r\n\r\n{")(c)
			hangs(c.conn)
		}),
		choice("two-lengths", "says two different lengths", loses, func(c *rawCall) {
			writes(fmt.Sprintf("%sContent-Length: %d\r\nContent-Length: 5\r\n\r\n%s", ok, len(c.honest), c.honest))(c)
		}),
		choice("broken-chunks", "sends chunks whose lengths are no numbers", loses, writes(ok+"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")),
		choice("10-MB-announced", "answers 10 MB, and says so", loses, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("", bytes.Repeat([]byte(" "), 10<<20)))
		}),
		choice("10-MB-unannounced", "answers 10 MB of unknown length", loses, func(c *rawCall) {
			_, _ = io.WriteString(c.conn, ok+"Connection: close\r\n\r\n")
			_, _ = c.conn.Write(bytes.Repeat([]byte(" "), 10<<20))
		}),
		choice("gzip-bomb", "answers 10 MB of spaces packed into 10 KB, Content-Encoding gzip", loses, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("Content-Encoding: gzip\r\nConnection: close\r\n", bomb()))
		}),
		choice("gzip-unasked", "packs its right answer with gzip although nobody offered to unpack", loses, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("Content-Encoding: gzip\r\nConnection: close\r\n", packed(c.honest)))
		}),
		choice("answers-twice", "sends its answer twice on the connection", plays, func(c *rawCall) {
			_, _ = c.conn.Write(plainHTTP("", c.honest))
			_, _ = c.conn.Write(plainHTTP("", c.honest))
		}),
		choice("answers-the-next-question-too", "sends its answer, and at once a forged one for whatever is asked next", plays, func(c *rawCall) {
			_, _ = c.conn.Write(append(plainHTTP("", c.honest), plainHTTP("", []byte(`{"jsonrpc":"2.0","result":{"forged":true},"id":1}`))...))
			hangs(c.conn)
		}),
		choice("calls-it-html", "sends its right answer as text/html", plays, func(c *rawCall) {
			writes(strings.Replace(string(plainHTTP("Connection: close\r\n", c.honest)), "application/json", "text/html", 1))(c)
		}),
		choice("event-stream", "sends its right answer as an event stream", loses, func(c *rawCall) {
			answer := "data: " + string(c.honest) + "\n\n"
			writes(strings.Replace(string(plainHTTP("Connection: close\r\n", []byte(answer))), "application/json", "text/event-stream", 1))(c)
		}),

		// JSON.
		choice("html-page", "answers an HTML page", loses, answers("<!doctype html><title>Welcome</title>")),
		choice("empty-body", "answers nothing", loses, answers("")),
		choice("not-a-response", `answers {"parity_choice":"even"} without JSON-RPC around it`, loses, answers(`{"parity_choice":"even"}`)),
		choice("half-json", "answers half of its JSON, with the right length", loses, spoils(func(s string) string { return s[:len(s)/2] })),
		choice("two-json-values", "answers its JSON twice in one body", loses, spoils(func(s string) string { return s + s })),
		choice("rubbish-after-the-json", "answers its JSON, and then rubbish", loses, spoils(func(s string) string { return s + "]]" })),
		choice("byte-order-mark", "answers its JSON after a byte order mark", loses, spoils(func(s string) string { return "\ufeff" + s })),
		choice("utf-16", "answers its JSON as UTF-16", loses, spoils(func(s string) string { return "\xff\xfe" + strings.Join(strings.Split(s, ""), "\x00") + "\x00" })),
		choice("bad-utf-8", "answers a choice of bytes that are no UTF-8", loses, replaces(`"parity_choice":"even"`, "\"parity_choice\":\"even\xff\xfe\"")),
		choice("deep-nesting", "answers 10,000 levels of lists", loses, answers(`{"jsonrpc":"2.0","result":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,"id":1}`)),
		choice("deep-nesting-beside-the-answer", "answers rightly, with a member of 10,000 levels of lists", loses,
			replaces(`"result":{`, `"result":{"deep":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`,`)),
		choice("duplicate-keys", "chooses even and odd, both under parity_choice", loses, replaces(`"result":{`, `"result":{"parity_choice":"odd",`)),
		choice("two-results", "answers two results", loses, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","result":{}`)),
		choice("huge-number", "answers rightly, with a member that is 1e999", plays, replaces(`"result":{`, `"result":{"x":1e999,`)),
		choice("number-of-400-digits", "chooses a number of 400 digits", loses, replaces(`"parity_choice":"even"`, `"parity_choice":`+strings.Repeat("9", 400))),
		choice("10000-members", "answers rightly, among 3,000 other members", plays, replaces(`"result":{`, `"result":{`+members(3000))),
		choice("jsonrpc-1.0", "answers rightly as jsonrpc 1.0", plays, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"1.0"`)),
		choice("no-jsonrpc", "answers rightly without jsonrpc", plays, replaces(`"jsonrpc":"2.0",`, ``)),
		choice("id-of-another", "answers rightly, under another id", plays, replaces(`"id":`, `"id":9`)),
		choice("id-null", "answers rightly, with id null", plays, spoils(func(s string) string { return s[:strings.LastIndex(s, `"id":`)] + `"id":null}` })),
		choice("error-beside-the-result", "answers rightly, with an error beside the result", loses, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","error":{"code":1,"message":"m"}`)),
		choice("null-error-beside-the-result", "answers rightly, with a null error beside the result", plays, replaces(`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","error":null`)),
		choice("error-that-is-a-word", `answers {"error":"no"}`, loses, answers(`{"jsonrpc":"2.0","error":"no","id":1}`)),
		choice("neither-result-nor-error", "answers a response without result and error", loses, answers(`{"jsonrpc":"2.0","id":1}`)),
		choice("batch-as-answer", "answers rightly, in a batch of one", loses, spoils(func(s string) string { return "[" + s + "]" })),
		choice("request-as-answer", "answers with a request of its own", loses, answers(body("choose_parity", map[string]string{"parity_choice": "even"}))),
		choice("token-echoed", "answers rightly, with the referee's token in every member it can think of", plays,
			replaces(`"result":{`, `"result":{"access_token":"tok-p01-stolen","token":"tok-p01-stolen",`)),
	}
}

// waits does nothing with a connection; a caller that has written can only
// give up.
func waits(c net.Conn) {
	for err := error(nil); err == nil; { // a pipe tells the end of its other side also to who reads nothing
		pause()
		_, err = c.Read(nil)
	}
}

// says greets with a text, and reads what the caller has to say.
func says(text string) func(net.Conn) {
	return func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 16))
		_, _ = io.WriteString(c, text)
	}
}

// halves writes half of the answer.
func halves(c *rawCall) {
	whole := plainHTTP("", c.honest)
	_, _ = c.conn.Write(whole[:len(whole)-len(c.honest)/2])
}

// pause is a second.
func pause() { time.Sleep(leaguetest.Second) }

func packed(raw []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(raw)
	_ = z.Close()
	return b.Bytes()
}

// noise are bytes that mean nothing, always the same.
func noise(n int) []byte {
	b := make([]byte, 0, n+32)
	for i := 0; len(b) < n; i++ {
		block := leaguetest.SecretOf("noise", fmt.Sprint(i))
		b = append(b, block[:]...)
	}
	return b[:n]
}

// members are n members of an object, each with its comma.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"m%d":%d,`, i, i)
	}
	return b.String()
}
