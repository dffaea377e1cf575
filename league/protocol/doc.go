// Package protocol defines the messages of league.v2, version 2.1.0 (spec 003 chapters
// 2–4 and 8, 002, 004).
//
// It holds the envelope, the messages, the table of methods, the error
// catalogue, timestamps, identifiers, tokens and the commitments of a draw,
// and the validation of requests. It declares the two small interfaces
// that it needs of a carrier, Caller and Mux. It must not depend on a carrier, an
// agent, a game or anything else of the module.
//
// Messages are values. They are immutable once sent, because a carrier may pass the same
// pointer to the other side.
package protocol

import "slices"

// Name and versions of the protocol (spec 003 §2.10.2).
const (
	Name           = "league.v2"
	Version        = "2.1.0"
	minimumVersion = "2.0.0"
)

// SupportedVersion tells whether an agent with a protocol version may take part: 2.0.0 to
// 2.1.0; "" stands for the current version (spec 003 §2.10.2).
func SupportedVersion(v string) bool {
	return v == "" || versionForm.valid(v) && compareVersions(v, minimumVersion) >= 0 && compareVersions(v, Version) <= 0
}

// compareVersions orders well-formed versions by their three numbers.
func compareVersions(a, b string) int {
	as, bs := versionNumbers(a), versionNumbers(b)
	return slices.Compare(as[:], bs[:])
}
