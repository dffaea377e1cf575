// Package decide makes the decisions of a league manager: whether an applicant is
// admitted, which referee gets a match, which agents are suspended, whether a
// report is credible, and how a query is answered.
//
// Each decision is a function of values, above all of a journal.State. It returns
// an event for the journal, an answer, or an error of the protocol, and changes no
// state. Callers apply the event. The package must not use a clock, a lock, the
// network, files, random numbers or a log: the manager does, and passes values.
package decide
