// Package journal is the record of a league: an append-only file with one event
// a line, each carrying the hash of the line before, and the pure fold that
// turns events into the league's state. What is not in the journal has not
// happened; all other files of a league follow from it.
//
// A line is a JSON object: seq (from 1), at (RFC 3339 in UTC), prev (hex
// SHA-256 of the line before without its line feed, zeros in the first), type,
// and data. Tokens and secrets never stand in it.
package journal
