package cmd

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// tlsCAFlag is the flag of the commands that call others.
func tlsCAFlag(f *pflag.FlagSet, ca *string) {
	f.StringVar(ca, "tls-ca", "", "PEM `file` of certificate authorities to believe, beside those of the system")
}

// roots are the authorities that are believed; nil for those of the system
// alone.
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
		pool = x509.NewCertPool() // a system without any
	}
	if !pool.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("--tls-ca: %s holds no certificate in PEM form", ca)
	}
	return pool, nil
}

// A keyPair is a certificate and its key, each in a file. They are read again
// when one of the files has changed, because a league may outlive them.
type keyPair struct {
	cert, key string

	mu     sync.Mutex
	loaded *tls.Certificate
	stamps [2]time.Time
}

// tlsConfig reads the files; nil when there are none.
func (k *keyPair) tlsConfig() (*tls.Config, error) {
	switch {
	case k.cert == "" && k.key == "":
		return nil, nil //nolint:nilnil // plain HTTP
	case k.cert == "" || k.key == "":
		return nil, usage("--tls-cert and --tls-key belong together: give both, or none")
	}
	if _, err := k.get(nil); err != nil {
		return nil, fmt.Errorf("the certificate %s and the key %s cannot be used: %w", k.cert, k.key, err)
	}
	return &tls.Config{GetCertificate: k.get, MinVersion: tls.VersionTLS12}, nil
}

// get is the pair as it is now. Files that cannot be used, perhaps because only
// one of them has been replaced so far, leave the old pair in use.
func (k *keyPair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var stamps [2]time.Time
	for i, name := range []string{k.cert, k.key} {
		if info, err := os.Stat(name); err == nil {
			stamps[i] = info.ModTime()
		}
	}
	if k.loaded != nil && stamps == k.stamps {
		return k.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err == nil {
		k.loaded, k.stamps = &pair, stamps
	} else if k.loaded == nil {
		return nil, err
	}
	return k.loaded, nil
}
