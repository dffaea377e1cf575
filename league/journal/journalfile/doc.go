// Package journalfile reads and writes the file of a league's journal: one event a
// line, appended, and durable before anybody is told of it. The events and their
// fold are in package journal.
package journalfile
