package cmd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An authority signs certificates. Agents with its file trust it.
type authority struct {
	file string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the league's own authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key = newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &a.key.PublicKey, a.key)
	require.NoError(t, err)
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// writeCertificate writes a certificate for this machine and its key, and returns them as
// flags.
func (a *authority) writeCertificate(t *testing.T, dir string, serial int64) []string {
	t.Helper()
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, a.cert, &key.PublicKey, a.key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	writePEM(t, filepath.Join(dir, "cert.pem"), "CERTIFICATE", der)
	writePEM(t, filepath.Join(dir, "key.pem"), "PRIVATE KEY", private)
	return []string{"--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem")}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

// startTLSManager runs a manager with HTTPS.
func startTLSManager(t *testing.T, args ...string) *manager {
	t.Helper()
	m := &manager{process: start(t, append([]string{"manager", "--port", "0", "--exit-when-done"}, args...)...)}
	m.url = m.await(t, `^League \S+ at (https://\S+/mcp) waits`)[1]
	return m
}

func TestLeagueOverTLS(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	secrets := slices.Clip(append(ca.writeCertificate(t, t.TempDir(), 2), "--tls-ca", ca.file))
	data := t.TempDir()
	m := startTLSManager(t, append(secrets, "--players", "2")...)
	agents := []*process{m.join(t, "referee", append(secrets, "--data", data)...), m.join(t, "player", secrets...), m.join(t, "player", secrets...)}
	for _, p := range append(agents, m.process) {
		assert.Zero(t, p.awaitExit(t), p.name)
	}
	for _, p := range agents {
		p.await(t, `"endpoint":"https://localhost:\d+/mcp"`)
	}
	assert.Contains(t, m.stdout.String(), "Champion: ")

	p := m.join(t, "player", secrets...) // the manager is gone, but this one listens
	endpoint := p.await(t, `"endpoint":"(https://localhost:\d+/mcp)"`)[1]
	again := []string{"replay", "R1M1", "--data", data, "--against", endpoint}
	assert.Contains(t, output(t, again...), "signed by unknown authority")
	assert.NotContains(t, output(t, append(again, "--tls-ca", ca.file)...), "E009")
}

// An untrusted certificate and a wrong scheme are reported differently from a missing
// server.
func TestTLSErrorsNameTheCause(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	m := startTLSManager(t, ca.writeCertificate(t, t.TempDir(), 2)...)
	plain := "http" + m.url[len("https"):]
	tests := []struct {
		name, url, want string
		args            []string
	}{
		{"no authority", m.url, `certificate signed by unknown authority.*; --tls-ca names one to trust`, nil},
		{"another authority", m.url, `certificate signed by unknown authority.*; --tls-ca names one`, []string{"--tls-ca", other.file}},
		{"no TLS", plain, `the server needs HTTPS: call it by https://`, []string{"--tls-ca", ca.file}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, append([]string{"player", "--port", "0", "--manager", tt.url}, tt.args...)...)
			p.await(t, tt.want)
			p.interrupt(t)
			assert.Equal(t, 130, p.awaitExit(t))
		})
	}
	t.Run("a certificate with the key of another", func(t *testing.T) {
		first, second := ca.writeCertificate(t, t.TempDir(), 3), ca.writeCertificate(t, t.TempDir(), 4)
		p := start(t, append([]string{"player", "--port", "0"}, append(first[:2], second[2:]...)...)...)
		assert.Equal(t, 1, p.awaitExit(t))
		assert.Contains(t, p.stderr.String(), "tls: private key does not match public key")
	})
}

// A league may outlive its certificate.
func TestReplacedCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	m := startTLSManager(t, ca.writeCertificate(t, dir, 2)...)
	at, err := url.Parse(m.url)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.caCertificate(t))
	shown := func() int64 {
		c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool}}).DialContext(t.Context(), "tcp", at.Host)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	later := func(file string, by time.Duration) {
		when := time.Now().Add(by)
		require.NoError(t, os.Chtimes(filepath.Join(dir, file), when, when))
	}
	require.EqualValues(t, 2, shown())
	ca.writeCertificate(t, dir, 3)
	later("cert.pem", time.Minute)
	require.EqualValues(t, 3, shown())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), nil, 0o600))
	later("key.pem", 2*time.Minute)
	require.EqualValues(t, 3, shown(), "a key that is half written changes nothing")
}

// caCertificate returns the certificate of the authority in PEM.
func (a *authority) caCertificate(t *testing.T) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(a.file)
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	cert, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	return cert
}
