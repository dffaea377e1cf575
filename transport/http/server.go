// Package http carries calls over HTTP: POST /mcp with a JSON-RPC 2.0 body
// (spec 003 §1.3), and GET /healthz beside it.
//
// A server takes every caller for a stranger: what one may send, how long and
// how often, is bounded for each address and for all together. A client takes
// every endpoint for a stranger's.
package http

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
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

// Path is where agents listen.
const Path = "/mcp"

// Config is what a server allows.
type Config struct {
	MaxBody       int64                    // bytes of a request
	MaxBearerBody int64                    // bytes of a request that shows a bearer credential which is trusted; 0 means MaxBody
	Trusts        func(bearer string) bool // nil trusts none
	// TooLarge makes the answer to a larger request; nil for a plain 413.
	TooLarge    func(ctx context.Context, limit int64) error
	RateLimited func(wait time.Duration) error // how a caller that is too fast is answered; nil for a plain 429
	Health      func() any                     // what GET /healthz says; nil for {"status":"ok"}
	Limits      Limits                         // of callers; those that are 0 are the usual ones
	// Hosts are the names that the server goes by, without port. A request
	// for another is refused: it was made by a page that has bent its own name
	// to this address. An address, which no page can bend, is always right. Nil
	// means any name.
	Hosts []string
	TLS   *tls.Config // nil for plain HTTP
	// Dialect understands requests that are put otherwise than the protocol has
	// it; nil takes only those in its form, at Path.
	Dialect Requests
}

// Requests is the side of a dialect that is called. Safe for concurrent use.
type Requests interface {
	// Serve answers a body that was posted to a path, from an address that is the
	// zero address where the network has none. Serve, its last parameter,
	// answers a JSON-RPC body in the form of the protocol, as often as it takes,
	// one after the other, and also when Serve has returned; nil is the answer to
	// a notification. Status is that of HTTP, 404 for a path where nobody listens;
	// a nil answer has no body.
	Serve(ctx context.Context, from netip.Addr, path string, body []byte, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte)
}

// A Server serves one agent.
type Server struct {
	mux     *transport.Mux
	config  Config
	hosts   map[string]bool // nil for any
	callers *callers
	room    *room
	large   chan struct{} // holds one for each large request of a stranger
	server  *http.Server
}

// NewServer makes a server of mux.
func NewServer(mux *transport.Mux, config Config) *Server {
	config.MaxBearerBody = max(config.MaxBearerBody, config.MaxBody)
	config.Limits = config.Limits.orUsual()
	if config.Health == nil {
		config.Health = func() any { return map[string]string{"status": "ok"} }
	}
	s := &Server{
		mux: mux, config: config, hosts: hostNames(config.Hosts), callers: newCallers(config.Limits), room: newRoom(config.Limits),
		large: make(chan struct{}, maxLarge),
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST "+Path, s.bounded)
	if config.Dialect != nil {
		routes.HandleFunc("POST /", s.bounded) // some call at paths of their own
	}
	// Health is not bounded: whoever watches an agent would take one that is
	// busy for one that is dead, and to refuse costs as much as to answer.
	routes.HandleFunc("GET /healthz", s.health)
	s.server = &http.Server{
		Handler:           s.forThisHost(http.NewCrossOriginProtection().Handler(routes)),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second, // a move may take 30
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, callerKey{}, addressOf(c.RemoteAddr().String()))
		},
	}
	return s
}

// Serve answers calls on the listener until Shutdown; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
	l = newDoor(l, s.room)
	if s.config.TLS != nil {
		l = overTLS(l, s.config.TLS)
	}
	if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops listening and waits for running calls, until ctx ends; then
// it breaks them off.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(err, s.server.Close())
	}
	return nil
}

// bounded lets a call in, unless there are too many.
func (s *Server) bounded(w http.ResponseWriter, r *http.Request) {
	s.makeRoom(w)
	caller, wait := s.callers.enter(addressOf(r.RemoteAddr))
	switch {
	case caller != nil:
		defer s.callers.leave(caller)
		if calls := s.call(w, r); calls > 1 {
			s.callers.charge(caller, calls-1)
		}
	case wait > 0:
		s.rateLimited(w, wait)
	default: // not this caller's fault
		unavailable(w)
	}
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too many calls at once", http.StatusServiceUnavailable)
}

// makeRoom ends a connection with its answer when others wait for its place.
func (s *Server) makeRoom(w http.ResponseWriter) {
	if s.room.crowded() {
		w.Header().Set("Connection", "close")
	}
}

// call answers a request, and returns how many calls it held.
func (s *Server) call(w http.ResponseWriter, r *http.Request) (calls int) {
	if problem := contentProblem(r.Header); problem != "" && !s.asksWithoutBody(r) {
		write(w, http.StatusUnsupportedMediaType, transport.EncodeError(&transport.Error{
			Code: transport.CodeInvalidRequest, Message: "Invalid Request", Data: problem,
		}))
		return 1
	}
	bearer := bearerOf(r)
	limit := s.config.MaxBody
	switch {
	case bearer != "" && s.config.Trusts != nil && s.config.Trusts(bearer):
		limit = s.config.MaxBearerBody
	case limit > notLarge && r.ContentLength <= limit && isLarge(r):
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		default:
			unavailable(w)
			return 1
		}
	}
	body, err := readBody(w, r, limit)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		s.tooLarge(r.Context(), w, limit)
		return 1
	}
	if err != nil {
		http.Error(w, "the request could not be read", http.StatusBadRequest)
		return 1
	}
	status, answer := s.answer(r, bearer, body)
	s.makeRoom(w) // others may have come meanwhile
	switch {
	case status == http.StatusOK && answer.Body == nil:
		w.WriteHeader(http.StatusNoContent)
	case status == http.StatusOK && answer.RetryAfter > 0:
		writeRetry(w, answer.RetryAfter, answer.Body)
	default:
		write(w, status, answer.Body)
	}
	return answer.Calls
}

// answer has the mux answer a body, or the dialect, if there is one. What the
// dialect makes of a body is at least one call.
func (s *Server) answer(r *http.Request, bearer string, body []byte) (status int, answer transport.Answer) {
	if s.config.Dialect == nil {
		return http.StatusOK, s.mux.Serve(r.Context(), bearer, body)
	}
	var counting sync.Mutex
	var all transport.Answer // what the dialect asks later counts no more
	status, text := s.config.Dialect.Serve(r.Context(), plainAddress(r.RemoteAddr), r.URL.Path, body, func(ctx context.Context, body []byte) []byte {
		one := s.mux.Serve(ctx, bearer, body)
		counting.Lock()
		defer counting.Unlock()
		all.Calls += one.Calls
		all.RetryAfter = max(all.RetryAfter, one.RetryAfter)
		return one.Body
	})
	counting.Lock()
	defer counting.Unlock()
	return status, transport.Answer{Body: text, Calls: max(1, all.Calls), RetryAfter: all.RetryAfter}
}

// A message in memory can take a hundred times its size, and there may be a
// thousand calls at once. So of strangers' requests that are large there are few.
const (
	notLarge = 10 << 10 // bytes
	maxLarge = 2
)

// isLarge tells whether a request is; of one that does not say how large it is
// the beginning is read.
func isLarge(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength > notLarge
	}
	body := bufio.NewReaderSize(r.Body, notLarge+1)
	start, _ := body.Peek(notLarge + 1) // an error comes again when it is read
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return len(start) > notLarge
}

// contentProblem is what is wrong with the form of a body, "" for nothing. Only
// JSON is taken, because a browser sends that to other sites only when they
// have allowed it; and nothing is unpacked, because what is small when packed
// may be large.
func contentProblem(h http.Header) string {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return "send the body as it is, without Content-Encoding"
	}
	said := h.Get("Content-Type")
	if said == "application/json" {
		return ""
	}
	if kind, _, err := mime.ParseMediaType(said); err != nil || kind != "application/json" {
		return "send the body with Content-Type: application/json"
	}
	return ""
}

// asksWithoutBody tells whether a request has no body whose form could be wrong:
// where there is a dialect, a path of its own may say all there is to say.
func (s *Server) asksWithoutBody(r *http.Request) bool {
	return s.config.Dialect != nil && r.URL.Path != Path && r.ContentLength == 0 &&
		r.Header.Get("Content-Type") == "" && r.Header.Get("Content-Encoding") == ""
}

// bearerOf is the credential of a request, "" for none and for those of other
// schemes (RFC 6750 §2.1; a scheme's case does not matter).
func bearerOf(r *http.Request) string {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return credential
}

// readBody reads a body of at most limit bytes. A larger one is always refused
// by MaxBytesReader, because that makes the server wait until the client has
// read the refusal: closing at once resets the connection under a client that
// still sends.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	switch n := r.ContentLength; {
	case n > limit:
		limit = 0 // nothing of it is wanted
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

func (s *Server) rateLimited(w http.ResponseWriter, wait time.Duration) {
	if s.config.RateLimited == nil {
		w.Header().Set("Retry-After", inSeconds(wait))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	writeRetry(w, wait, transport.EncodeError(s.config.RateLimited(wait)))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(s.config.Health())
	if err != nil {
		http.Error(w, "no health", http.StatusInternalServerError)
		return
	}
	write(w, http.StatusOK, append(body, '\n'))
}

// inSeconds is a wait as Retry-After has it: in whole seconds, never less than
// it was.
func inSeconds(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

func writeRetry(w http.ResponseWriter, wait time.Duration, body []byte) {
	w.Header().Set("Retry-After", inSeconds(wait))
	write(w, http.StatusTooManyRequests, body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a caller that has gone away is its own loss
}
