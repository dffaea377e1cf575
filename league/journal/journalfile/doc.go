// Package journalfile reads and writes the file of a league's journal: one event a
// line, append-only, and durable before the manager tells any agent of the event.
// Package journal defines the events and folds them. The package must not decide what
// an event means.
package journalfile
