package audit_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules/evenodd"
)

// events are the beginning of a journal of a league with two players, who meet in
// every round, and two referees. Only the audit checks them.
type events []journal.Data

func begun(suspend, shutdown int) events {
	created := newCreated()
	created.Legs, created.SuspendAfter, created.ShutdownAfter = 9, suspend, shutdown
	s := events{created, registered("P01"), registered("P02"), registered("REF01"), registered("REF02")}
	return append(s, &journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01", "REF02"}})
}

// newCreated is the first event of a league of one leg.
func newCreated() *journal.Created {
	return &journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
		Configuration: journal.Configuration{Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy()},
	}
}

func registered(id string) *journal.AgentRegistered {
	role := protocol.RolePlayer
	if _, ok := league.ParseRefereeID(id); ok {
		role = protocol.RoleReferee
	}
	return &journal.AgentRegistered{
		AgentID: id, Role: role, DisplayName: "Player " + id, Endpoint: "http://" + id + "/mcp", Generation: 1,
	}
}

func attempt(round, number int) league.Attempt {
	return league.Attempt{MatchID: matchID(round), Number: number}
}

func assigned(round, number int, referee string) journal.Data {
	return &journal.MatchAssigned{Attempt: attempt(round, number), RefereeID: referee}
}

// reported is the report of REF01 that P02 lost by a fault.
func reported(round, number int, fault string) journal.Data {
	return &journal.MatchReported{
		Attempt: attempt(round, number), RefereeID: "REF01",
		Result: lossOf("P02", "P01", fault), Score: league.Both("P01", 3, "P02", 0),
	}
}

func (s events) and(events ...journal.Data) events { return append(s[:len(s):len(s)], events...) }

func (s events) announced(round int) events {
	return s.and(&journal.RoundAnnounced{RoundID: round, Referees: []string{"REF01"}})
}

func (s events) completed(round int) events {
	return s.and(&journal.RoundCompleted{RoundID: round, Summary: protocol.RoundSummary{TotalMatches: 1, TechnicalLosses: 1}})
}

func lossOf(id, winner, fault string) league.Result {
	return league.Result{
		Status: league.StatusTechnicalLoss, WinnerPlayerID: &winner, Choices: league.Both("P01", (*string)(nil), "P02", (*string)(nil)),
		Reason: "as it is", Faults: league.PerPlayer[string]{{Name: id, Value: fault}},
	}
}

// played is a match that P02 loses by a fault.
func (s events) played(round int, fault string) events {
	accepted := &journal.MatchAccepted{Attempt: attempt(round, 1), RefereeID: "REF01"}
	return s.and(assigned(round, 1, "REF01"), accepted, reported(round, 1, fault))
}

// lost is a whole round of that.
func (s events) lost(round int, fault string) events {
	return s.announced(round).played(round, fault).completed(round)
}

func (s events) forfeited(round int) events {
	return s.and(&journal.MatchForfeited{
		MatchID: matchID(round), Players: []string{"P02"},
		Result: lossOf("P02", "P01", "E001"), Score: league.Both("P01", 3, "P02", 0),
	})
}

func (s events) suspended(id string) events {
	return s.and(&journal.AgentSuspended{AgentID: id, Reason: "failed"})
}
func (s events) shutdown(id string) events {
	return s.and(&journal.AgentShutdown{AgentID: id, Reason: "failed"})
}
func (s events) returned(id string) events {
	return s.and(&journal.AgentReturned{AgentID: id, Endpoint: "http://" + id + "/mcp", Generation: 1})
}

// failed is a round in which REF02 fails, and REF01 plays its match.
func (s events) failed(round int) events {
	away := &journal.AgentFailed{AgentID: "REF02", Attempt: attempt(round, 1), Reason: "away"}
	return s.announced(round).and(assigned(round, 1, "REF02"), away).again(round, 2).completed(round)
}

type auditedEvents struct {
	name   string
	events events
	want   string // the rule, or "rule: detail", of the only finding, which is about the last event; "" for none
}

func auditEvents(t *testing.T, cases []auditedEvents) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := tt.events.written(t)
			findings := w.audit().Findings
			if tt.want == "" {
				assert.Empty(t, listed(findings))
				return
			}
			require.Len(t, findings, 1, listed(findings))
			f := findings[0]
			assert.Contains(t, []string{f.Rule, f.Rule + ": " + f.Detail}, tt.want)
			assert.Equal(t, []any{journalFile, len(tt.events)}, []any{f.File, f.Line}, f)
		})
	}
}

func TestSuspensionsFollowFromFailures(t *testing.T) {
	twice := begun(2, 4).lost(1, "E001").lost(2, "E009")
	gone := twice.suspended("P02").announced(3).forfeited(3).completed(3).announced(4).forfeited(4).completed(4)
	swapped := &journal.MatchForfeited{
		MatchID: matchID(3), Players: []string{"P02"},
		Result: lossOf("P02", "P02", "E001"), Score: league.Both("P01", 0, "P02", 3),
	}
	auditEvents(t, []auditedEvents{
		{"a player is suspended, forfeits, and is shut down", gone.shutdown("P02").announced(5).forfeited(5).completed(5), ""},
		{"a player comes back, and fails once more", twice.suspended("P02").returned("P02").lost(3, "E001").suspended("P02"), ""},
		{"a referee is suspended after a round", begun(1, 2).failed(1).suspended("REF02").announced(2), ""},
		{"a referee is shut down", begun(1, 2).failed(1).suspended("REF02").returned("REF02").failed(2).shutdown("REF02").announced(3), ""},

		{"a player is suspended that has failed once", begun(2, 4).lost(1, "E001").suspended("P02"), audit.RuleLifecycle},
		{"a player is suspended that answered wrongly", begun(2, 4).lost(1, "E004").lost(2, "E004").suspended("P02"), audit.RuleLifecycle},
		{"a player is suspended that won", twice.suspended("P01"), audit.RuleLifecycle},
		{"a player is suspended in a league that suspends nobody", begun(-1, 4).lost(1, "E001").lost(2, "E001").suspended("P02"), audit.RuleLifecycle},
		{"a player is suspended again that has come back", twice.suspended("P02").returned("P02").suspended("P02"), audit.RuleLifecycle},
		{"a player is suspended in a round", twice.suspended("P02").returned("P02").announced(3).played(3, "E001").suspended("P02"), audit.RuleLifecycle},
		{"a player is not suspended", twice.announced(3), audit.RuleLifecycle},
		{"a player is shut down too early", twice.shutdown("P02"), audit.RuleLifecycle},
		{"a player is not shut down", gone.announced(5), audit.RuleLifecycle},
		{"a player comes back that was shut down", gone.shutdown("P02").returned("P02"), audit.RuleLifecycle},
		{"a match is forfeited by a player that is there", begun(2, 4).announced(1).forfeited(1), audit.RuleLifecycle},
		{"a match is forfeited by a player that has come back", twice.suspended("P02").returned("P02").announced(3).forfeited(3), audit.RuleLifecycle},
		{"a player that is suspended plays all the same", twice.suspended("P02").announced(3).played(3, "E001"), audit.RuleLifecycle},
		{"a forfeit is won by the player that forfeits it",
			twice.suspended("P02").announced(3).and(swapped), audit.RuleLifecycle},
		{"a match is forfeited twice", twice.suspended("P02").announced(3).forfeited(3).forfeited(3), audit.RuleOneResult},
		{"a forfeited match was assigned",
			twice.suspended("P02").announced(3).and(assigned(3, 1, "REF01")).forfeited(3), audit.RuleLifecycle},
		{"a referee is suspended that has reported", begun(1, 2).lost(1, "E001").suspended("P02").suspended("REF01"), audit.RuleLifecycle},
		{"a round is given to a suspended referee", begun(1, 2).failed(1).suspended("REF02").and(&journal.RoundAnnounced{RoundID: 2, Referees: []string{"REF02"}}), audit.RuleLifecycle},
		{"a referee fails with a match that it was not assigned", begun(1, 2).announced(1).and(
			&journal.AgentFailed{AgentID: "REF02", Attempt: attempt(1, 1), Reason: "away"}), audit.RuleEvent},
	})
}

func (s events) written(t *testing.T) *savedLeague {
	t.Helper()
	w := &savedLeague{t: t, dir: store.In(t.TempDir())}
	j, _, _, err := journalfile.Open(w.dir.Disk, w.dir.Journal(leagueID), nil, "")
	require.NoError(t, err)
	for _, d := range s {
		w.minute++
		require.NoError(t, j.Append(w.now(), d))
	}
	require.NoError(t, j.Close())
	return w
}

func TestMatchFileOfAForfeitIsTheManagers(t *testing.T) {
	w := begun(2, 4).lost(1, "E001").lost(2, "E009").suspended("P02").announced(3).forfeited(3).written(t)
	doc := managersDocument(matchID(3), "P01", "P02")
	doc.Result = &protocol.MatchResult{Result: lossOf("P02", "P01", "E001"), Score: league.Both("P01", 3, "P02", 0)}
	require.NoError(t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, "R3M1"), doc))
	assert.Empty(t, listed(w.audit().Findings), "the manager may")
	doc.WrittenBy = store.WrittenByReferee
	require.NoError(t, store.WriteDerived(w.dir.Disk, w.dir.Match(leagueID, "R3M1"), doc))
	findings := w.audit().Findings
	require.Len(t, findings, 1, listed(findings))
	assert.Equal(t, audit.RuleMatchFile, findings[0].Rule)
}

// The events of a journal are a minute apart.
func TestDroppedRegistrationsAreAudited(t *testing.T) {
	const end = "; the league is judged only up to this line"
	created, awaited := newCreated(), registered("P01")
	created.RegistrationGrace, awaited.AwaitsAnswer = 90, true
	begun := events{created, awaited}
	minute := &journal.AgentConfirmed{AgentID: "P01", Generation: 1}
	answered := &journal.AgentAnswered{AgentID: "P01"}
	drop := func(reason string) *journal.RegistrationDropped {
		return &journal.RegistrationDropped{AgentID: "P01", Reason: reason}
	}
	auditEvents(t, []auditedEvents{
		{"after the grace period", begun.and(minute, drop(journal.DroppedSilent)), ""},
		{"before it", begun.and(drop(journal.DroppedSilent)),
			audit.RuleRegistration + ": the registration of P01 was dropped after 1m0s; " +
				"the league gives it 1m30s to answer"},
		{"at once, for its endpoint", begun.and(drop(journal.DroppedForbidden)), ""},
		{"although it had answered", begun.and(answered, drop(journal.DroppedSilent)),
			audit.RuleRegistration + ": the registration of P01 is dropped, but it has answered" + end},
		{"and its id granted again", begun.and(minute, drop(journal.DroppedSilent), awaited),
			audit.RuleRegistration + ": agent P01 is registered under the id of a dropped registration" + end},
		{"an answer is recorded twice", begun.and(answered, answered),
			audit.RuleRegistration + ": P01 has answered before" + end},
		{"an agent takes part that has not answered", begun.and(
			registered("P02"), registered("REF01"),
			&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}},
		), audit.RuleSchedule + ": P01 takes part, but has not answered" + end},
	})
}

// The pairings of an announcement follow from the results before it.
func TestAnnouncedPairingsAreRecomputed(t *testing.T) {
	t.Parallel()
	created := newCreated()
	created.Tournament = &journal.Tournament{Algorithm: pairing.Knockout, Seeding: []string{"Player P02"}}
	begun := events{created, registered("REF01")}
	for _, id := range playerIDs {
		begun = begun.and(registered(id))
	}
	begun = begun.and(&journal.Started{Players: playerIDs, Referees: []string{"REF01"}})
	announced := func(pairings ...[2]string) events {
		referees := slices.Repeat([]string{"REF01"}, len(pairings))
		return begun.and(&journal.RoundAnnounced{RoundID: 1, Pairings: pairings, Referees: referees})
	}
	auditEvents(t, []auditedEvents{
		{"as the seeding says", announced([2]string{"P02", "P04"}, [2]string{"P01", "P03"}), ""},
		{"other opponents", announced([2]string{"P02", "P03"}, [2]string{"P01", "P04"}),
			audit.RuleSchedule + ": match 1 of round 1 is P02 against P03; " +
				"by the results before it is P02 against P04"},
		{"swapped sides", announced([2]string{"P02", "P04"}, [2]string{"P03", "P01"}),
			audit.RuleSchedule + ": match 2 of round 1 is P03 against P01; " +
				"by the results before it is P01 against P03"},
		{"a missing match", announced([2]string{"P02", "P04"}),
			audit.RuleSchedule + ": match 2 of round 1 is not played; by the results before it is P01 against P03"},
	})
}
