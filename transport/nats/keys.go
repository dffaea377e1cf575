package nats

import "github.com/nats-io/nkeys"

// NewKey makes the key of a user: its seed, which is secret.
func NewKey() (seed []byte, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	return pair.Seed()
}

// PublicKey is the public key of a seed, by which a server knows the user. The text may have more lines.
func PublicKey(seed []byte) (string, error) {
	pair, err := nkeys.ParseDecoratedUserNKey(seed)
	if err != nil {
		return "", errSeed
	}
	return pair.PublicKey()
}
