package http

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// overTLS makes a listener speak TLS, and HTTP/1.1 in it: the calls of HTTP/2
// share a connection, so that to count connections would bound nothing.
func overTLS(l net.Listener, config *tls.Config) net.Listener {
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return tls.NewListener(doubting{l}, config)
}

// doubting listens to how its callers begin.
type doubting struct{ net.Listener }

func (l doubting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &doubted{Conn: c}, nil
}

// A doubted connection knows whether TLS is spoken on it. Package net/http
// tells whoever speaks plain HTTP so, and closes. With the rest of the request
// unread that resets the connection, and the answer may never be seen: so this
// side reads for a moment longer.
type doubted struct {
	net.Conn

	begun bool // known to the reader alone
	plain atomic.Bool
}

const (
	handshake = 22 // the type of the first TLS record (RFC 8446 §5.1)
	aMoment   = 500 * time.Millisecond
	maxUnread = 64 << 10
)

func (c *doubted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && n > 0 {
		c.begun = true
		c.plain.Store(b[0] != handshake)
	}
	return n, err
}

// Close lets a caller that speaks plain HTTP read the answer.
func (c *doubted) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.plain.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(aMoment)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, maxUnread) // until the caller closes
		}
	}
	return c.Conn.Close()
}
