// Package journalstream has what several managers of one league share in JetStream: the journal as a stream of
// lines, and the lease by which one of them leads the league. It must not decide what an event means.
package journalstream
