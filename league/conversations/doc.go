// Package conversations holds the tests of whole conversations: a manager,
// referees and players talk to each other over each of three carriers, and
// every timeout and every retry passes in virtual time. The tests live apart
// from the roles, because no role knows another, nor what carries its calls.
package conversations
