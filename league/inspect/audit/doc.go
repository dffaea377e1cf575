// Package audit checks a league again from its files alone: the journal, the
// documents of the manager, the results files of the referees, the match files and the
// histories of the players. It trusts none of them. It computes again everything that follows
// from something else, and compares: the chain of hashes, the schedule, the
// draws, the verdicts, the points, the standings, the rounds, the players' own
// counts. The table in checks.go lists all checks.
//
// An audit only reads files, and no private, logged or archived ones. It may run
// while the league does: a result or file that is still to come is no finding.
//
// It folds the journal up to the first event that cannot be read or cannot have
// happened. That event is a finding, and the audit judges only the part of the
// league before it; the chain of hashes is checked to the end.
//
// A match file whose transcript is in a results file is derived: the manager writes it
// again if it is missing or torn, which is no finding. If it contradicts its record or the
// journal, it is one. In files of earlier versions, the match file has the transcript.
//
// It verifies the signatures of players and manager by the keys in the journal. Whether these
// are the true keys, only somebody who knows them can tell: see Options.
//
// An audit cannot see that a referee tells one player the choice of the other, or
// the number that its nonce will make.
//
// The package imports no role, no carrier and no configuration, so that it
// decides independently of the programs that wrote the files.
package audit
