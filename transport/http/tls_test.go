package http_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// certificate returns a certificate of agent.test and a pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"agent.test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

func TestTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, roots := certificate(t)
		l := pipenet.Listen("agent.test:80")
		server := carrier.NewServer(waitingMux(), carrier.Config{MaxBody: maxBody, TLS: config, Limits: carrier.Limits{Conns: 8}})
		var serving sync.WaitGroup
		serving.Go(func() { assert.NoError(t, server.Serve(l)) })
		defer serving.Wait()
		defer func() { require.NoError(t, server.Shutdown(context.Background())) }()
		calls := func(roots *x509.CertPool, endpoint string) (*transport.Timing, error) {
			client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, Roots: roots, Dial: slowDialer(l.Dial, second)})
			defer client.Close()
			_, timing, err := client.Call(t.Context(), transport.Request{Endpoint: endpoint, Method: "wait", Params: &text{"2s"}, Decode: textOf})
			timing.Departed, timing.Body = time.Time{}, nil
			return timing, err
		}
		const endpoint = "https://agent.test:80/mcp"
		for range 10 { // more than there are places: each gives its own back
			timing, err := calls(roots, endpoint)
			require.NoError(t, err)
			require.Equal(t, &transport.Timing{Connecting: second, Waiting: 2 * second}, timing)

			timing, err = calls(nil, endpoint)
			require.ErrorContains(t, err, "signed by unknown authority; --tls-ca names one to trust")
			require.Equal(t, &transport.Timing{Connecting: second}, timing, "the handshake has begun")

			_, err = calls(roots, pipeEndpoint)
			require.Equal(t, &carrier.StatusError{Status: 400, TLS: true}, err)
		}
	})
}
