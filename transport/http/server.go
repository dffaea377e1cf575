// Package http carries calls over HTTP: POST /mcp with a JSON-RPC 2.0 body. It also serves
// other handlers beside /mcp, such as a health check.
//
// A server trusts no caller: it bounds how large, how long and how frequent requests
// are, for each address and for all together. A client trusts no endpoint. The package
// must not depend on the protocol: it knows no message.
package http

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenodd/transport"
)

// Path is where agents are called.
const Path = "/mcp"

// isPath tells whether a path is Path, in any spelling that a dialect takes for it.
func isPath(path string) bool { return strings.EqualFold(strings.TrimSuffix(path, "/"), Path) }

// Config configures a server.
type Config struct {
	MaxBody       int64 // bytes of a request
	MaxBearerBody int64 // bytes of a request whose bearer credential is valid; 0 means MaxBody
	// Identify names the caller of a request with a valid credential: the bearer credential,
	// or one in the body, which is nil before it is read. It returns "" for no valid
	// credential. It may be called for any request, and from many goroutines. Nil identifies
	// nobody.
	Identify func(bearer string, body []byte) (caller string)
	// TooLarge makes the error for a larger request; nil for a plain 413.
	TooLarge    func(ctx context.Context, limit int64) error
	RateLimited func(wait time.Duration) error // makes the error for a caller that is too fast; nil for a plain 429
	// Misdirected is told of requests that look like calls, but have a method of HTTP or a path that the
	// server does not have. It may be called from many goroutines. Nil ignores them.
	Misdirected func(ctx context.Context, method, path string)
	Limits      Limits // of callers; the zero value has the defaults
	// Patient lets a call take any time, as a person who chooses a move does. Else it is cut off a minute after its
	// request.
	Patient bool
	// Hosts are the names of the server, without port. It refuses requests for other
	// names, but not for addresses. Nil allows any name.
	Hosts []string
	// TrustedProxies are the networks of proxies whose header X-Forwarded-For names the caller, for limits, refusals and
	// logs. Their connections are not limited for each address. The header of any other address is ignored.
	TrustedProxies []netip.Prefix
	TLS            *tls.Config // nil for plain HTTP
	// Dialect translates requests in third-party forms. Nil accepts only requests in
	// our own form, at Path.
	Dialect Requests
	MCP     http.Handler // of the requests of the Model Context Protocol at Path; nil for none
	Mounts  []Mount      // further handlers
}

// Requests is the server side of a dialect. It is safe for concurrent use.
type Requests interface {
	// Serve answers a body that was posted to a path by an address, which is the zero
	// address where the network has none. It passes JSON-RPC bodies in our own form to
	// serve, each once, one after the other, also after Serve has returned. The status is
	// that of HTTP, 404 for an unknown path.
	Serve(ctx context.Context, from netip.Addr, path string, body []byte, serve Serve) (
		status int, answer transport.Answer)
}

// Serve serves a JSON-RPC body in our own form.
type Serve = func(ctx context.Context, body []byte) transport.Answer

// A Server serves one agent.
type Server struct {
	mux       *transport.Mux
	config    Config
	callers   *transport.Budgets
	admission *admission
	large     chan struct{} // has one element for each large request of an untrusted caller
	streams   *streams      // of MCP
	server    *http.Server
}

// NewServer makes a server of mux. Without a mux it has only the mounts.
func NewServer(mux *transport.Mux, config Config) *Server {
	config.MaxBearerBody = max(config.MaxBearerBody, config.MaxBody)
	config.Limits = config.Limits.OrDefault()
	if config.Identify == nil {
		config.Identify = func(string, []byte) string { return "" }
	}
	s := &Server{
		mux: mux, config: config, callers: transport.NewBudgets(config.Limits), admission: newAdmission(config.Limits),
		large: make(chan struct{}, maxLarge), streams: newStreams(mcpStreams()),
	}
	s.server = &http.Server{
		Handler:           secured(onlyFor(config.Hosts, http.NewCrossOriginProtection().Handler(s.config.forwarded(s.routes())))),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
		TLSConfig:         config.TLS,
		Protocols:         new(http.Protocols),
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, admitted(c))
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if conn := admitted(c); conn != nil && state == http.StateIdle {
				conn.wait()
			}
		},
	}
	// HTTP/2 is off, because all its calls share one connection, and a limit on
	// connections would bound nothing.
	s.server.Protocols.SetHTTP1(true)
	return s
}

// Serve answers calls on the listener until Shutdown; it then returns nil, and otherwise the
// error of the listener.
func (s *Server) Serve(l net.Listener) error {
	serve := s.server.Serve
	if s.config.TLS != nil {
		serve = func(l net.Listener) error { return s.server.ServeTLS(l, "", "") }
	}
	limited := &limitedListener{Listener: l, server: s, closed: make(chan struct{})}
	if err := serve(limited); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeUntil answers calls in the background. The returned function lets running calls go on for so long,
// then stops the server.
func (s *Server) ServeUntil(l net.Listener, patience time.Duration) (stop func()) {
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // ends by Shutdown
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.Shutdown(ctx) // cuts off the calls that still run then
		serving.Wait()
	}
}

// Shutdown stops listening and waits for running calls until ctx ends; then it cuts
// them off and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.streams.end()
	for _, m := range s.config.Mounts {
		if m.Quota != nil {
			m.Quota.streams.end()
		}
	}
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(err, s.server.Close())
	}
	return nil
}

// enter counts a request, whose body has been read, as a call of its address. If that has too
// many, the request counts as a call of the caller that its credential names. Enter refuses
// the request and returns nil if this caller has too many, or there is none. Leave must
// follow.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, bearer string, body []byte) *transport.Budget {
	conn, name := connOf(r.Context()), ""
	caller, wait := s.callers.Enter(transport.CallerID{Address: CallerAddress(r.Context())})
	if caller == nil || !conn.proven.Load() {
		name = s.config.Identify(bearer, body)
	}
	if name != "" {
		conn.prove(name)
		if caller == nil {
			caller, wait = s.callers.Enter(transport.CallerID{Name: name})
		}
	}
	if caller == nil {
		refuse(w, wait, s.config.RateLimited)
		return nil
	}
	conn.call()
	return caller
}

// refuse refuses a call of a caller that must wait, 0 if all callers together have too many calls. Limited
// makes the error; nil for a plain text.
func refuse(w http.ResponseWriter, wait time.Duration, limited func(wait time.Duration) error) {
	switch {
	case wait == 0:
		unavailable(w)
	case limited == nil:
		w.Header().Set("Retry-After", retrySeconds(wait))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
	default:
		writeRetry(w, wait, transport.EncodeError(limited(wait)))
	}
}

func unavailable(w http.ResponseWriter) { retry(w, "too many calls at once") }

// standsBy refuses a call of an agent because this process may not answer it.
func standsBy(w http.ResponseWriter) { retry(w, "this manager does not lead the league now") }

func retry(w http.ResponseWriter, reason string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, reason, http.StatusServiceUnavailable)
}

// call answers a request at Path, or at a path that the dialect knows. A request that opens a
// stream is no call any more once it has been answered: streams have limits of their own.
func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	if stream := s.read(w, r); stream != nil {
		stream()
	}
}

// read reads a request and answers it. It refuses a request that it cannot read, which
// costs as little as to refuse a call of a caller that has too many.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (stream func()) {
	if !s.mux.Open() {
		standsBy(w)
		return nil
	}
	if problem := contentProblem(r.Header); problem != "" && !s.isBareCall(r) {
		write(w, http.StatusUnsupportedMediaType, transport.EncodeError(&transport.Error{
			Code: transport.CodeInvalidRequest, Message: "Invalid Request", Data: transport.Problem{Detail: problem},
		}))
		return nil
	}
	bearer := transport.Bearer(r.Header.Get("Authorization"))
	limit := s.config.MaxBody
	switch {
	case bearer != "" && s.config.Identify(bearer, nil) != "":
		limit = s.config.MaxBearerBody
	case limit > notLarge && r.ContentLength <= limit && isLarge(r):
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		default:
			unavailable(w)
			return nil
		}
	}
	body, err := readBody(w, r, limit)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		s.tooLarge(r.Context(), w, limit)
		return nil
	}
	if err != nil {
		http.Error(w, "the request could not be read", http.StatusBadRequest)
		return nil
	}
	caller := s.enter(w, r, bearer, body)
	if caller == nil {
		return nil
	}
	defer s.callers.Leave(caller)
	return s.serveBody(w, r, caller, bearer, body)
}

// writeTimeout is the time from the header of a request to the end of its answer. A patient server gives it again to
// an answer that took long to be made.
const writeTimeout = 60 * time.Second

// serveBody answers a call by its body.
func (s *Server) serveBody(
	w http.ResponseWriter, r *http.Request, caller *transport.Budget, bearer string, body []byte,
) (stream func()) {
	if handled, stream := s.serveMCP(w, r, body); handled {
		return stream
	}
	began := time.Now()
	status, answer := s.answer(r, bearer, body)
	if s.config.Patient && time.Since(began) > writeTimeout/2 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // else the writing fails
	}
	if answer.Calls > 1 { // a batch
		caller.Batch(answer.Calls)
	}
	switch {
	case !s.mux.Open():
		standsBy(w)
	case status == http.StatusOK && answer.Body == nil:
		w.WriteHeader(http.StatusNoContent)
	case status == http.StatusOK && answer.RetryAfter > 0:
		writeRetry(w, answer.RetryAfter, answer.Body)
	default:
		write(w, status, answer.Body)
	}
	return nil
}

// answer answers a body by the dialect, if there is one, else by the mux.
func (s *Server) answer(r *http.Request, bearer string, body []byte) (status int, answer transport.Answer) {
	serve := func(ctx context.Context, body []byte) transport.Answer { return s.mux.Serve(ctx, bearer, body) }
	if s.config.Dialect == nil {
		return http.StatusOK, serve(r.Context(), body)
	}
	return s.config.Dialect.Serve(r.Context(), RemoteAddress(r.Context()), r.URL.Path, body, serve)
}

// A message in memory can take a hundred times its size, and there may be a thousand
// calls at once. Therefore only few untrusted requests at once may be large.
const (
	notLarge = 10 << 10 // bytes
	maxLarge = 2        // requests
)

// isLarge tells whether a request is large. It reads the beginning of a request
// without a length.
func isLarge(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength > notLarge
	}
	body := bufio.NewReaderSize(r.Body, notLarge+1)
	start, _ := body.Peek(notLarge + 1) // an error comes again when the body is read
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return len(start) > notLarge
}

// contentProblem is what is wrong with the form of a body, "" for nothing. Only JSON is
// accepted, because a browser sends JSON to another site only with that site's consent.
// Compressed bodies are refused, because a small one may unpack to a large one.
func contentProblem(h http.Header) string {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "send the body as it is, without Content-Encoding"
	}
	given := h.Get("Content-Type")
	if given == "application/json" {
		return ""
	}
	if kind, _, err := mime.ParseMediaType(given); err != nil || kind != "application/json" {
		return "send the body with Content-Type: application/json"
	}
	return ""
}

// isBareCall tells whether a request has no body whose form could be wrong: a dialect
// knows paths that say everything.
func (s *Server) isBareCall(r *http.Request) bool {
	return s.config.Dialect != nil && !isPath(r.URL.Path) && r.ContentLength == 0 &&
		r.Header.Get("Content-Type") == "" && r.Header.Get("Content-Encoding") == ""
}

// readBody reads a body of at most limit bytes. MaxBytesReader refuses every larger
// one, because it makes the server wait until the client has read the refusal. If the
// server closed the connection at once, it would reset it while the client still sends.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	switch n := r.ContentLength; {
	case n > limit:
		limit = 0 // read nothing of it
	case n >= 0 && n <= smallBody:
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

func (s *Server) tooLarge(ctx context.Context, w http.ResponseWriter, limit int64) {
	w.Header().Set("Connection", "close")
	if s.config.TooLarge == nil {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	write(w, http.StatusRequestEntityTooLarge, transport.EncodeError(s.config.TooLarge(ctx, limit)))
}

// retrySeconds is a wait as Retry-After has it: in whole seconds, rounded up.
func retrySeconds(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

func writeRetry(w http.ResponseWriter, wait time.Duration, body []byte) {
	w.Header().Set("Retry-After", retrySeconds(wait))
	write(w, http.StatusTooManyRequests, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"], h["X-Content-Type-Options"] = jsonType, noSniffing
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only for a caller that has gone
}

// hostName is the name in a Host header in one spelling: without port, brackets and
// final dot, in lower case.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	return strings.ToLower(host)
}

// secured sets the headers that keep a browser from doing anything with an answer but showing its text, also with
// refusals, redirects and errors of all handlers. Pages set their own. Agents, who call Path, need none.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != Path {
			h := w.Header()
			h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "no-referrer")
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
			if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" { // it concerns nobody but the caller
				h.Set("Cross-Origin-Opener-Policy", "same-origin") // browsers ignore it without TLS, and complain
			}
			h.Set("Cache-Control", "no-store")
		}
		next.ServeHTTP(w, r)
	})
}

// onlyFor refuses requests for other hosts, against DNS rebinding: a web page whose own
// name resolves to the address of this server could otherwise call it from a browser in
// the operator's network. A request for an address is never refused, because DNS
// rebinding needs a name. Besides, a server behind a forwarded port, as in a container,
// does not know the address that others call. Nil allows all hosts.
func onlyFor(names []string, next http.Handler) http.Handler {
	if names == nil {
		return next
	}
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[hostName(name)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := hostName(r.Host)
		if _, err := netip.ParseAddr(name); err != nil && !allowed[name] {
			http.Error(w, "this agent does not have the name in the Host header; its operator can allow it by --allowed-host",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
