// Package page serves the pages of one league: a live view of its journal, rendered on the
// server. It reads a second fold of the journal, so that a page never takes a lock of the
// manager. It must not import the manager, an agent or a carrier: package cmd gives it a
// Source and serves its routes.
//
// Pages are read-only and public. They never contain endpoints, tokens, registration codes,
// or the choices of a match without a recorded result.
package page
