package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
)

// ManagerKeys are the keys of a league's manager, each derived from its secret by a domain of its own, so
// that no output of one use is an output of another.
type ManagerKeys struct {
	Token        [32]byte // of the agents' tokens, see DeriveToken
	Registration [32]byte // of the fingerprints of registrations
	Signature    [32]byte // the seed of the manager's Ed25519 key
	Admin        [32]byte // of the admin token, see AdminToken
}

// ManagerKeysOf derives the keys of a league from its secret: HMAC-SHA256 with the secret as key
// and the domain as message.
func ManagerKeysOf(secret [32]byte) ManagerKeys {
	derive := func(domain string) [32]byte {
		mac := hmac.New(sha256.New, secret[:])
		_, _ = mac.Write([]byte(domain)) // never fails
		return [32]byte(mac.Sum(nil))
	}
	return ManagerKeys{
		Token: derive("evenodd-token-v2"), Registration: derive("evenodd-registration-v2"),
		Signature: derive("evenodd-manager-signature-v1"), Admin: derive("evenodd-admin-v1"),
	}
}
