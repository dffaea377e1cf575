// Package protocol is the language every agent of a league speaks: league.v2,
// version 2.1.0 (spec 003 chapters 2–4 and 8, 002, 004).
//
// It holds the envelope, the messages, the table of methods, the error
// catalogue, timestamps, identifiers, tokens and the commitments of a draw,
// and the strict judgement of requests. It declares the two small interfaces
// it needs to be carried, Caller and Mux, and refuses to know what carries it:
// no network, no agent, no game.
//
// Messages are values. Once sent they are immutable: a carrier may hand the
// very same pointer to the other side.
package protocol

import "slices"

// Name and versions of the protocol (spec 003 §2.10.2).
const (
	Name           = "league.v2"
	Version        = "2.1.0"
	minimumVersion = "2.0.0"
)

// SupportedVersion tells whether a protocol version can take part: 2.0.0 to
// 2.1.0; "" stands for the current one (spec 003 §2.10.2).
func SupportedVersion(v string) bool {
	return v == "" || versionForm.valid(v) && compareVersions(v, minimumVersion) >= 0 && compareVersions(v, Version) <= 0
}

// compareVersions orders well-formed versions by their three numbers.
func compareVersions(a, b string) int {
	as, bs := versionNumbers(a), versionNumbers(b)
	return slices.Compare(as[:], bs[:])
}
