package cmd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync/atomic"

	"github.com/spf13/pflag"

	"evenodd/config/userfile"
)

// tlsCAFlag defines the flag of the commands that call agents.
func tlsCAFlag(f *pflag.FlagSet, ca *string) {
	f.StringVar(ca, "tls-ca", "", "PEM `file` of certificate authorities to trust besides those of the system")
}

// maxPEM is the largest size of a file of certificates or keys in bytes.
const maxPEM = 16 << 20

// roots returns the trusted authorities: those of the system and those in a file. nil
// means those of the system.
func roots(ctx context.Context, ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil //nolint:nilnil // nil means the system's
	}
	bundle, err := userfile.Read(ctx, ca, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("--tls-ca: %s: %w", ca, err)
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
func (k keyPair) tlsConfig(ctx context.Context) (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil //nolint:nilnil // plain HTTP
	case k.cert == "" || k.key == "":
		return nil, usage("--tls-cert and --tls-key must be given together")
	}
	first, err := k.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", k.cert, k.key, err)
	}
	current := &currentPair{keyPair: k}
	current.loaded.Store(first)
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
func (k *currentPair) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if pair, err := k.read(hello.Context()); err == nil {
		k.loaded.Store(pair)
	}
	return k.loaded.Load(), nil
}

// read reads the pair.
func (k *keyPair) read(ctx context.Context) (*tls.Certificate, error) {
	var pem [2][]byte
	for i, path := range []string{k.cert, k.key} {
		var err error
		if pem[i], err = userfile.Read(ctx, path, maxPEM); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	pair, err := tls.X509KeyPair(pem[0], pem[1])
	return &pair, err
}
