// Package audit checks a league again from its files alone: the journal, the
// documents of the manager, the match files with the write-ahead logs of the referees, and the
// histories of the players. It trusts none of them. It computes again everything that follows
// from something else, and compares: the chain of hashes, the schedule, the
// draws, the verdicts, the points, the standings, the rounds, the players' own
// counts. The rules in rules.go name what it checks.
//
// An audit only reads files, and no private, logged or archived ones. It may run
// while the league does: a result or file that is still to come is no finding.
//
// It folds the journal up to the first event that cannot be read or cannot have
// happened. That event is a finding, and the audit judges only the part of the
// league before it; the chain of hashes is checked to the end.
//
// After a crash, an attempt can be in the log of its referee and not in a match file: the audit
// reads the log as the referee would.
//
// It verifies the signatures of players and manager by the keys in the journal. Whether these
// are the true keys, only somebody who knows them can tell: see Options.
//
// It repeats the conversation of each match by package conduct, and so rebuilds what each side was shown. For a game
// that is a program it asks the program about each position with Options.Views, and about the whole history of a match
// without. If the program is not given, it takes the positions from the questions and the boards in the match file, and
// checks all but the rules.
//
// An audit cannot see that a referee tells one player the choice or the cards of the other, or
// the number and the draws that its nonce will make.
//
// It judges results as the manager does, by package decide. The package imports no role, no carrier
// and no configuration.
package audit
