package http

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// overTLS makes a listener accept TLS with HTTP/1.1. HTTP/2 is off, because all its
// calls share one connection, and a limit on connections would bound nothing.
func overTLS(l net.Listener, config *tls.Config) net.Listener {
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"}
	return tls.NewListener(sniffingListener{l}, config)
}

// A sniffingListener makes sniffingConns.
type sniffingListener struct{ net.Listener }

func (l sniffingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &sniffingConn{Conn: c}, nil
}

// A sniffingConn notes whether the caller speaks TLS. Package net/http answers plain
// HTTP with an error and closes the connection. While the rest of the request is
// unread, that resets the connection, and the caller may never see the error.
// Therefore Close reads for a moment longer.
type sniffingConn struct {
	net.Conn

	begun bool // used by the reader only
	plain atomic.Bool
}

const (
	handshake = 22 // the type of the first TLS record (RFC 8446 §5.1)
	drainTime = 500 * time.Millisecond
	maxUnread = 64 << 10 // bytes
)

func (c *sniffingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.begun && n > 0 {
		c.begun = true
		c.plain.Store(b[0] != handshake)
	}
	return n, err
}

// Close lets a caller that speaks plain HTTP read the response.
func (c *sniffingConn) Close() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && c.plain.Load() {
		if half.CloseWrite() == nil && c.SetReadDeadline(time.Now().Add(drainTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, maxUnread) // until the caller closes
		}
	}
	return c.Conn.Close()
}
