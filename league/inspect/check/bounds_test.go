package check_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/inspect/check"
)

// serveConnections handles each connection in its own way.
func serveConnections(n *network, do func(net.Conn, <-chan struct{})) (url string) {
	n.Helper()
	l := n.open()
	over := make(chan struct{})
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				do(c, over)
			})
		}
	})
	n.Cleanup(func() {
		close(over)
		_ = l.Close()
		serving.Wait()
	})
	return urlOf(l)
}

// request reads a request, as much of it as comes at once.
func request(c net.Conn) bool {
	_, err := c.Read(make([]byte, 64<<10))
	return err == nil
}

// endless writes the same until the other has enough.
func endless(c net.Conn, head, again string) {
	_, err := io.WriteString(c, head)
	for err == nil {
		_, err = io.WriteString(c, again)
	}
}

func TestExaminationEndsInItsBudgetWhateverTheConnectionDoes(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, do := range map[string]func(net.Conn, <-chan struct{}){
		"says nothing": func(_ net.Conn, over <-chan struct{}) { <-over },
		"never stops talking": func(c net.Conn, _ <-chan struct{}) {
			if request(c) {
				endless(c, ok+"Connection: close\r\n\r\n", strings.Repeat("x", 1<<20))
			}
		},
		"hangs up": func(c net.Conn, _ <-chan struct{}) { request(c) },
	} {
		for _, role := range []string{check.Player, check.Referee, check.Manager} {
			t.Run(name+"/"+role, func(t *testing.T) {
				t.Parallel()
				inVirtualTime(t, func(n *network) {
					began := time.Now()
					r := n.check(check.Options{Role: role, URL: serveConnections(n, do), Listener: n.open()})
					assert.False(n, r.Conforms())
					assert.Len(n, r.Findings, len(check.Catalogue(role)))
					assert.LessOrEqual(n, time.Since(began), 3*time.Minute+time.Second, "the budget")
				})
			})
		}
	}
}
