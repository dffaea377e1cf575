// Package http carries calls over HTTP: POST /mcp with a JSON-RPC 2.0 body
// (spec 003 §1.3), and GET /healthz beside it.
package http

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"evenodd/transport"
)

// Path is where agents listen.
const Path = "/mcp"

// Config is what a server allows.
type Config struct {
	MaxBody       int64                   // bytes of a request
	MaxBearerBody int64                   // bytes of a request that shows a bearer credential; 0 means MaxBody
	TooLarge      func(limit int64) error // how a larger request is answered; nil for a plain 413
	Health        func() any              // what GET /healthz says; nil for {"status":"ok"}
}

// A Server serves one agent.
type Server struct {
	mux    *transport.Mux
	config Config
	server *http.Server
}

// NewServer makes a server of mux.
func NewServer(mux *transport.Mux, config Config) *Server {
	config.MaxBearerBody = max(config.MaxBearerBody, config.MaxBody)
	if config.Health == nil {
		config.Health = func() any { return map[string]string{"status": "ok"} }
	}
	s := &Server{mux: mux, config: config}
	routes := http.NewServeMux()
	routes.HandleFunc("POST "+Path, s.call)
	routes.HandleFunc("GET /healthz", s.health)
	s.server = &http.Server{
		Handler:           routes,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      60 * time.Second, // a move may take 30
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	return s
}

// Serve answers calls on the listener until Shutdown; it then returns nil.
func (s *Server) Serve(l net.Listener) error {
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

func (s *Server) call(w http.ResponseWriter, r *http.Request) {
	bearer := bearerOf(r)
	limit := s.config.MaxBody
	if bearer != "" {
		limit = s.config.MaxBearerBody
	}
	body, err := readBody(w, r, limit)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		s.tooLarge(w, limit)
		return
	}
	if err != nil {
		http.Error(w, "the request could not be read", http.StatusBadRequest)
		return
	}
	answer := s.mux.Serve(r.Context(), bearer, body)
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	write(w, http.StatusOK, answer)
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
	case n >= 0:
		b := make([]byte, n)
		_, err := io.ReadFull(r.Body, b)
		return b, err
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
}

func (s *Server) tooLarge(w http.ResponseWriter, limit int64) {
	w.Header().Set("Connection", "close")
	if s.config.TooLarge == nil {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	write(w, http.StatusRequestEntityTooLarge, transport.EncodeError(s.config.TooLarge(limit)))
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(s.config.Health())
	if err != nil {
		http.Error(w, "no health", http.StatusInternalServerError)
		return
	}
	write(w, http.StatusOK, append(body, '\n'))
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, and said to be; a caller that has gone away is its own loss
}
