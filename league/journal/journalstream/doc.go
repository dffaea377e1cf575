// Package journalstream has what several managers of one league share in JetStream: the lease, by which one
// of them leads the league. It must not decide what an event means.
package journalstream
