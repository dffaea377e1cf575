// Package audit rechecks a league from its files alone: the journal, the
// documents of the manager, the match files of the referees and the histories
// of the players. It trusts none of them. Whatever follows from something else
// is computed again and compared: the chain of hashes, the schedule, the draws,
// the verdicts, the points, the table, the rounds, the players' own counts.
//
// It only reads, and never what is private, logged or archived. It may run
// while the league does: what is still to come is no finding.
//
// What it cannot see: a referee that tells a player what the other one chose,
// or what number its nonce will make.
package audit
