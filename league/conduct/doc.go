// Package conduct is the conversation of a match as a value: what its referee asks next, and what each answer is
// worth. It has no clock, lock, goroutine, file or caller. Times are arguments, and so is what only a network or a
// process can know.
//
// First the referee makes a Match from an assignment. Then Next says which sides are to be asked: both of them for the
// invitation, then those that are to move, turn by turn. For each of these sides Step says what is to be done now: ask
// a question, tell the side that it has failed, or pause; and, in the end, nothing more. When a call has ended, Judge
// says what the attempt was worth, and Take makes that count: the answer counts, or the side is asked again, or it has
// lost. When nothing is to be done for any side, Next goes on with the next turn. When it names no side, the match is
// decided, and Result, Draw and Evidence are what the referee reports.
//
// The referee does these steps in time. An audit repeats them from the transcript of a match file: it compares each
// exchange with Step and Judge, and has Take make count what the file says. So a rule about retries, windows or void
// attempts is written here alone.
package conduct
