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
	awaitSuccess(t, append(agents, m.process)...)
	for _, p := range agents {
		p.await(t, `"endpoint":"https://localhost:\d+/mcp"`)
	}
	assert.Contains(t, m.stdout.String(), "Champion: ")

	p := m.join(t, "player", secrets...) // the manager is gone, but this one listens
	health := []string{"health", p.await(t, `"endpoint":"(https://localhost:\d+/mcp)"`)[1]}
	untrusted := start(t, health...)
	assert.Equal(t, 1, untrusted.awaitExit(t))
	assert.Contains(t, untrusted.stderr.String(), "signed by unknown authority")
	assert.Contains(t, mustRun(t, append(health, "--tls-ca", ca.file)...), `"status": "ok"`)
}

// A league may outlive its certificate.
func TestReplacedCertificatesAreReloaded(t *testing.T) {
	t.Parallel()
	ca, dir := newAuthority(t), t.TempDir()
	m := startTLSManager(t, ca.writeCertificate(t, dir, 2)...)
	at, err := url.Parse(m.url)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM([]byte(readText(t, ca.file))))
	shown := func() int64 {
		c, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool}}).DialContext(t.Context(), "tcp", at.Host)
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		return c.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	require.EqualValues(t, 2, shown())
	ca.writeCertificate(t, dir, 3)
	require.EqualValues(t, 3, shown())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), nil, 0o600))
	require.EqualValues(t, 3, shown(), "a key that is half written changes nothing")
}
