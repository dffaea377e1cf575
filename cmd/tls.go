package cmd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/spf13/pflag"
)

// tlsCAFlag defines the flag of the commands that call agents.
func tlsCAFlag(f *pflag.FlagSet, ca *string) {
	f.StringVar(ca, "tls-ca", "", "PEM `file` of certificate authorities to trust besides those of the system")
}

// roots returns the trusted authorities: those of the system and those in a file. nil
// means those of the system.
func roots(ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil //nolint:nilnil // nil means the system's
	}
	bundle, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--tls-ca: %s contains no certificate in PEM format", ca)
	}
	return pool, nil
}

// A keyPair is a certificate and its key, each in a file.
type keyPair struct{ cert, key string }

// tlsConfig reads the files; it returns nil without files.
func (k keyPair) tlsConfig() (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil //nolint:nilnil // plain HTTP
	case k.cert == "" || k.key == "":
		return nil, usage("--tls-cert and --tls-key must be given together")
	}
	current := &currentPair{keyPair: k}
	if _, err := current.get(nil); err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", k.cert, k.key, err)
	}
	return &tls.Config{GetCertificate: current.get, MinVersion: tls.VersionTLS12}, nil
}

// A currentPair reads the files for each connection, because a certificate may expire
// during a league.
type currentPair struct {
	keyPair

	loaded atomic.Pointer[tls.Certificate]
}

// get returns the current pair. While the files cannot be used, perhaps because only
// one of them has been replaced, it returns the old pair.
func (k *currentPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err == nil {
		k.loaded.Store(&pair)
	}
	if loaded := k.loaded.Load(); loaded != nil {
		return loaded, nil
	}
	return nil, err
}
