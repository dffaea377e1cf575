// Package journal defines the events of a league and folds them into its state
// (event sourcing): the state follows from the events alone, and an event that is
// not in the journal has not happened. All other files of a league follow from the
// state.
//
// An event is a line of JSON: seq (from 1), at (RFC 3339 in UTC), prev (hex SHA-256
// of the line before without its line feed, zeros in the first), type, and data. It
// never contains a token or a secret.
//
// The package is pure: it must not use a clock, files, the network, locks or a log.
// Package journalfile reads and writes the events.
package journal
