package mcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The SDK ends a connection, or answers with a text, where JSON-RPC has an error, and rounds ids. This file
// examines each message before the SDK reads it, and mends the responses.

// An envelope has the members of a message that are not MCP's but those of JSON-RPC. A member that is missing
// has no kind.
type envelope struct {
	Version jsontext.Value `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  jsontext.Value `json:"method"`
	Params  jsontext.Value `json:"params"`
	Result  jsontext.Value `json:"result"`
	Error   jsontext.Value `json:"error"`
}

// A refusal is the answer to a message that is no JSON-RPC.
type refusal struct {
	id      jsontext.Value // nil if it cannot be read
	code    int
	message string
}

func (r *refusal) encode() []byte {
	type rpcError struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	id := r.id
	if id == nil {
		id = jsontext.Value("null")
	}
	text, _ := jsonv2.Marshal(struct { // strings and numbers
		Version string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   rpcError       `json:"error"`
	}{"2.0", id, rpcError{r.code, r.message}}, jsontext.AllowInvalidUTF8(true))
	return text
}

// examine returns a message in the form that the SDK can read: its id is exact. It returns a refusal for a
// message that is no request, notification or response of JSON-RPC.
func examine(text []byte) (message []byte, e envelope, refused *refusal) {
	if jsonv2.Unmarshal(text, &e) != nil {
		if !jsontext.Value(text).IsValid() {
			return nil, e, &refusal{code: jsonrpc.CodeParseError, message: "Parse error: a message is valid JSON in UTF-8"}
		}
		return nil, e, &refusal{code: jsonrpc.CodeInvalidRequest, message: "Invalid Request: a message is one JSON object"}
	}
	var wrong string
	named := e.ID.Kind() == '"' || e.ID.Kind() == '0'
	switch answers := e.Result != nil || e.Error != nil; {
	case string(e.Version) != `"2.0"`:
		wrong = `jsonrpc must be "2.0"`
	case e.ID != nil && !named:
		wrong = "id must be a string or a number"
	case e.Method == nil && (!answers || e.ID == nil), e.Method != nil && e.Method.Kind() != '"':
		wrong = "method must be a string"
	case e.Params != nil && e.Params.Kind() != '{' && e.Params.Kind() != '[' && e.Params.Kind() != 'n':
		wrong = "params must be an object"
	default:
		message = exact(text, &e)
		return message, e, nil
	}
	refused = &refusal{code: jsonrpc.CodeInvalidRequest, message: "Invalid Request: the member " + wrong}
	if named {
		refused.id = e.ID
	}
	return nil, e, refused
}

// exactly begins an id that stands for another one, which follows as JSON.
const exactly = "\x01"

// exact replaces an id that the SDK would not echo exactly: a number that is no small integer.
func exact(text []byte, e *envelope) []byte {
	id, changed := standIn(e.ID)
	params := e.Params
	if string(e.Method) == `"notifications/cancelled"` {
		var members map[string]jsontext.Value
		if jsonv2.Unmarshal(params, &members) == nil {
			of, also := standIn(members["requestId"])
			if also {
				members["requestId"] = of
				params, _ = jsonv2.Marshal(members) // values that were decoded
				changed = true
			}
		}
	}
	if !changed {
		return text
	}
	var members map[string]jsontext.Value
	_ = jsonv2.Unmarshal(text, &members) // as examine did
	if id != nil {
		members["id"] = id
	}
	if params != nil {
		members["params"] = params
	}
	text, _ = jsonv2.Marshal(members)
	return text
}

// standIn returns the id that stands for one that the SDK would change.
func standIn(id jsontext.Value) (jsontext.Value, bool) {
	switch id.Kind() {
	case '0':
		n, err := strconv.ParseInt(string(id), 10, 64)
		if const53 := int64(1) << 53; err == nil && -const53 < n && n < const53 && strconv.FormatInt(n, 10) == string(id) {
			return id, false
		}
	case '"':
		var text string
		if jsonv2.Unmarshal(id, &text) == nil && !strings.HasPrefix(text, exactly) {
			return id, false
		}
	default:
		return id, false
	}
	quoted, _ := jsonv2.Marshal(exactly + string(id))
	return quoted, true
}

// standsIn is how a stand-in begins in JSON.
var standsIn = []byte(`"\u0001`)

// mend restores the ids of a response. An error without a code is one of params that the SDK cannot read.
func mend(response []byte) []byte {
	if nameless := []byte(`"error":{"code":0,`); bytes.Contains(response, nameless) {
		var e envelope
		if jsonv2.Unmarshal(response, &e) == nil && bytes.HasPrefix(e.Error, nameless[len(`"error":`):]) {
			mended := fmt.Sprintf(`"error":{"code":%d,`, jsonrpc.CodeInvalidParams)
			response = bytes.Replace(response, nameless, []byte(mended), 1)
		}
	}
	for done := 0; ; {
		at := bytes.Index(response[done:], standsIn)
		if at < 0 {
			return response
		}
		at += done
		value, err := jsontext.NewDecoder(bytes.NewBuffer(response[at:])).ReadValue()
		var text string
		if err != nil || jsonv2.Unmarshal(value, &text) != nil {
			return response
		}
		rest := response[at+len(value):]
		id := text[len(exactly):]
		response, done = slices.Concat(response[:at], []byte(id), rest), at+len(id)
	}
}

// serveExactly serves a request over HTTP with the SDK's handler: every answer to a request is JSON-RPC.
func serveExactly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		text, err := io.ReadAll(r.Body)
		if err != nil { // the server of package transport/http has read and bounded the body
			http.Error(w, "the request cannot be read", http.StatusBadRequest)
			return
		}
		message, e, refused := examine(text)
		if refused != nil {
			writeJSON(w, http.StatusBadRequest, refused.encode())
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
		answer := &answerWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		answer.finish(&e)
	})
}

func writeJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone needs no answer
}

// An answerWriter keeps a response until it is complete, except a stream.
type answerWriter struct {
	http.ResponseWriter

	status int
	text   bytes.Buffer
	stream bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answerWriter) WriteHeader(status int) {
	a.status = status
	if a.stream = strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream"); a.stream {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (a *answerWriter) Write(text []byte) (int, error) {
	if !a.stream && a.text.Len() == 0 && strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
		a.WriteHeader(a.status)
	}
	if !a.stream {
		return a.text.Write(text)
	}
	_, err := a.ResponseWriter.Write(mend(text))
	return len(text), err
}

// Unwrap returns the writer for http.ResponseController, and Flush is for code that asserts http.Flusher.
func (a *answerWriter) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Flush implements http.Flusher. A response that is not complete is not sent.
func (a *answerWriter) Flush() {
	if a.stream {
		_ = http.NewResponseController(a.ResponseWriter).Flush() // the next write fails if this one did
	}
}

// Texts of the SDK where JSON-RPC has an error.
const (
	notHandled    = "JSON RPC not handled"
	invalidParams = `invalid request: missing required "params"`
)

// finish sends the response to a request.
func (a *answerWriter) finish(e *envelope) {
	if a.stream {
		return
	}
	text := a.text.Bytes()
	if a.status == http.StatusBadRequest && !strings.HasPrefix(a.Header().Get("Content-Type"), "application/json") {
		said, code := string(bytes.TrimSpace(text)), 0
		switch {
		case strings.HasPrefix(said, notHandled):
			code = jsonrpc.CodeMethodNotFound
		case strings.HasPrefix(said, invalidParams):
			code = jsonrpc.CodeInvalidParams
		case strings.HasPrefix(said, "invalid request"):
			code = jsonrpc.CodeInvalidRequest
		}
		switch {
		case code != 0 && e.ID == nil: // a notification has no answer
			a.Header().Del("Content-Type")
			a.ResponseWriter.WriteHeader(http.StatusAccepted)
			return
		case code != 0:
			a.Header().Del("X-Content-Type-Options")
			writeJSON(a.ResponseWriter, http.StatusOK, (&refusal{e.ID, code, said}).encode())
			return
		}
	}
	text = mend(text)
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(a.status)
	_, _ = a.ResponseWriter.Write(text) // a client that has gone needs no answer
}

// A stdio examines the lines of a client on standard input, and writes the refusals and the mended lines of
// the SDK to standard output.
type stdio struct {
	in      *bufio.Reader
	rest    []byte // of the line that the SDK is reading
	batches bool   // the client began with a revision that has batches

	mu  sync.Mutex
	out io.Writer
}

// Write writes lines of the SDK.
func (s *stdio) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(mend(lines))
	return len(lines), err
}

// Close leaves the streams open: they are those of the process.
func (s *stdio) Close() error { return nil }

// Read reads the next line that is a message.
func (s *stdio) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		line, tooLong, err := readLine(s.in)
		if len(line) == 0 && err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		s.rest = s.accept(line, tooLong)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// accept returns the lines for the SDK, nil for a line that is refused.
func (s *stdio) accept(line []byte, tooLong bool) []byte {
	if s.batches && bytes.HasPrefix(line, []byte("[")) {
		var batch []jsontext.Value
		if jsonv2.Unmarshal(line, &batch) == nil && len(batch) > 0 {
			for i, one := range batch {
				message, _, refused := examine(one)
				if refused != nil {
					s.refuse(refused)
					return nil
				}
				batch[i] = message
			}
			line, _ = jsonv2.Marshal(batch, jsontext.AllowInvalidUTF8(true)) // values that were decoded
			return append(line, '\n')
		}
	}
	if tooLong {
		s.refuse(&refusal{code: jsonrpc.CodeInvalidRequest,
			message: fmt.Sprintf("Invalid Request: a line has at most %d bytes", maxLine)})
		return nil
	}
	message, e, refused := examine(line)
	if refused != nil {
		s.refuse(refused)
		return nil
	}
	if string(e.Method) == `"initialize"` {
		var params struct {
			Revision string `json:"protocolVersion"`
		}
		_ = jsonv2.Unmarshal(e.Params, &params)
		s.batches = params.Revision == "2024-11-05" || params.Revision == "2025-03-26"
	}
	return append(bytes.TrimSpace(message), '\n')
}

func (s *stdio) refuse(r *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(r.encode(), '\n')) // a client that does not read gets no answer
}

// maxSkipped is how much of a line that is too long is skipped; then the connection ends.
const maxSkipped = 16 * maxLine

// readLine reads a line, at most maxLine bytes of it.
func readLine(in *bufio.Reader) (line []byte, tooLong bool, err error) {
	for size := 0; ; {
		part, err := in.ReadSlice('\n')
		if size += len(part); size > maxSkipped {
			return nil, true, fmt.Errorf("a line has more than %d bytes", maxSkipped)
		}
		if room := maxLine - len(line); len(part) > room+1 {
			tooLong, part = true, part[:max(room, 0)]
		}
		line = append(line, part...)
		if err != bufio.ErrBufferFull { //nolint:errorlint // as the library returns it
			return line, tooLong, err
		}
	}
}
