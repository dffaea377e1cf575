// Package protocol defines the messages of league.v2, version 2.1.0 (spec 003 chapters
// 2–4 and 8, 002, 004).
//
// It holds the envelope, the messages, the table of methods, the error
// catalogue, timestamps, identifiers, tokens and the commitments of a draw,
// and the validation of requests. It declares the interface Mux that it needs
// of a carrier; Caller is that of package transport. It must not depend on a carrier, an
// agent, a game or anything else of the module but the domain.
//
// The rules of a member are the words of its tag rule, its meaning is the comment above its field.
// Validation, JSON Schemas and docs/protocol.md follow from both.
//
// Messages are values. They are immutable once sent, because a carrier may pass the same
// pointer to the other side.
package protocol

import "evenodd/league/words"

// Name and version of the protocol (spec 003 §2.10.2).
const (
	Name    = "league.v2"
	Version = "2.1.0"
)

// SupportedVersion tells whether an agent with a protocol version may take part: 2.0.0 to
// 2.1.0; "" stands for the current version (spec 003 §2.10.2).
func SupportedVersion(v string) bool { return v == "" || supported().MatchString(v) }

var supported = words.Pattern(`^2\.(0\.(0|[1-9][0-9]*)|1\.0)([-+][0-9A-Za-z.+-]+)?$`)
