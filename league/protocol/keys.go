package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
)

// The domains of the keys that derive from the manager's secret. Each use of the secret has
// its own domain, so that no output of one use is an output of another.
const (
	DomainToken            = "evenodd-token-v2" //nolint:gosec // a name, no credential
	DomainRegistration     = "evenodd-registration-v2"
	DomainManagerSignature = "evenodd-manager-signature-v1"
	DomainAdmin            = "evenodd-admin-v1"
)

// DeriveKey derives the key for one use of a secret: HMAC-SHA256 with the secret as key and
// the domain as message. A domain contains no slash: each message for which earlier versions
// keyed an HMAC with the secret itself contains one, so the outputs differ.
func DeriveKey(secret [32]byte, domain string) [32]byte {
	mac := hmac.New(sha256.New, secret[:])
	_, _ = mac.Write([]byte(domain)) // never fails
	return [32]byte(mac.Sum(nil))
}

// KeyDerivation is the way in which new leagues derive the keys of a Manager. Leagues that
// earlier versions began have none: their tokens derive from the secret itself, with the
// same formulas.
const KeyDerivation = 2

// ManagerKeys are the keys of a league's manager.
type ManagerKeys struct {
	Token        [32]byte // of the agents' tokens, see DeriveToken
	Registration [32]byte // of the fingerprints of registrations
	Signature    [32]byte // the seed of the manager's Ed25519 key
	Admin        [32]byte // of the admin token, see AdminToken
}

// ManagerKeysOf derives the keys of a league from its secret. The first event of the league
// has the derivation: KeyDerivation, or 0 for a league of an earlier version.
func ManagerKeysOf(secret [32]byte, derivation int) ManagerKeys {
	keys := ManagerKeys{
		Token: secret, Registration: secret,
		Signature: DeriveKey(secret, DomainManagerSignature), Admin: DeriveKey(secret, DomainAdmin),
	}
	if derivation != 0 {
		keys.Token, keys.Registration = DeriveKey(secret, DomainToken), DeriveKey(secret, DomainRegistration)
	}
	return keys
}
