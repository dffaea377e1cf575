package cmd

import (
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
func roots(ca string) (*x509.CertPool, error) {
	if ca == "" {
		return nil, nil //nolint:nilnil // nil means the system's
	}
	bundle, err := userfile.Read(ca, maxPEM)
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
func (k keyPair) tlsConfig() (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil //nolint:nilnil // plain HTTP
	case k.cert == "" || k.key == "":
		return nil, usage("--tls-cert and --tls-key must be given together")
	}
	first, err := k.read()
	if err != nil {
		return nil, fmt.Errorf("cannot use the certificate %s with the key %s: %w", k.cert, k.key, err)
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&first)
	// A certificate may be replaced during a league. While the files cannot be used, perhaps because only
	// one of them has been replaced, the last pair stays.
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if pair, err := k.read(); err == nil {
			last.Store(&pair)
		}
		return last.Load(), nil
	}}, nil
}

func (k *keyPair) read() (pair tls.Certificate, err error) {
	var pem [2][]byte
	for i, path := range []string{k.cert, k.key} {
		if pem[i], err = userfile.Read(path, maxPEM); err != nil {
			return pair, fmt.Errorf("%s: %w", path, err)
		}
	}
	return tls.X509KeyPair(pem[0], pem[1])
}
