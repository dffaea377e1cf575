package audit_test

import (
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
	s := events{&journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 9,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"}, SuspendAfter: suspend, ShutdownAfter: shutdown,
	}}
	for _, id := range []string{"P01", "P02", "REF01", "REF02"} {
		role := protocol.RolePlayer
		if _, ok := league.ParseRefereeID(id); ok {
			role = protocol.RoleReferee
		}
		s = append(s, &journal.AgentRegistered{AgentID: id, Role: role, DisplayName: id, Endpoint: "http://" + id + "/mcp", Generation: 1})
	}
	return append(s, &journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01", "REF02"}})
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
	id := league.MatchID{Round: round, Number: 1}
	return s.and(&journal.MatchAssigned{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF01"},
		&journal.MatchAccepted{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF01"},
		&journal.MatchReported{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF01", Result: lossOf("P02", "P01", fault), Score: league.Both("P01", 3, "P02", 0)})
}

// lost is a whole round of that.
func (s events) lost(round int, fault string) events {
	return s.announced(round).played(round, fault).completed(round)
}

func (s events) forfeited(round int) events {
	return s.and(&journal.MatchForfeited{
		MatchID: league.MatchID{Round: round, Number: 1}, Players: []string{"P02"}, Result: lossOf("P02", "P01", "E001"), Score: league.Both("P01", 3, "P02", 0),
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
	id := league.MatchID{Round: round, Number: 1}
	return s.announced(round).and(&journal.MatchAssigned{Attempt: league.Attempt{MatchID: id, Number: 1}, RefereeID: "REF02"},
		&journal.AgentFailed{AgentID: "REF02", Attempt: league.Attempt{MatchID: id, Number: 1}, Reason: "away"},
		&journal.MatchAssigned{Attempt: league.Attempt{MatchID: id, Number: 2}, RefereeID: "REF01"},
		&journal.MatchReported{Attempt: league.Attempt{MatchID: id, Number: 2}, RefereeID: "REF01", Result: lossOf("P02", "P01", "E004"), Score: league.Both("P01", 3, "P02", 0)},
	).completed(round)
}

type auditedEvents struct {
	name   string
	events events
	rule   string // of the finding about the last event; "" for no finding
}

func auditEvents(t *testing.T, cases []auditedEvents) {
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := tt.events.written(t)
			findings := w.audit().Findings
			if tt.rule == "" {
				assert.Empty(t, listed(findings))
				return
			}
			require.Len(t, findings, 1, listed(findings))
			assert.Equal(t, []any{tt.rule, journalFile, len(tt.events)}, []any{findings[0].Rule, findings[0].File, findings[0].Line}, findings[0])
		})
	}
}

func TestSuspensionsFollowFromFailures(t *testing.T) {
	twice := begun(2, 4).lost(1, "E001").lost(2, "E009")
	gone := twice.suspended("P02").announced(3).forfeited(3).completed(3).announced(4).forfeited(4).completed(4)
	swapped := func() journal.Data {
		winner := "P02"
		f := &journal.MatchForfeited{MatchID: league.MatchID{Round: 3, Number: 1}, Players: []string{"P02"}, Result: lossOf("P02", winner, "E001"), Score: league.Both("P01", 0, "P02", 3)}
		return f
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
		{"a forfeit is won by the player that forfeits it", twice.suspended("P02").announced(3).and(swapped()), audit.RuleLifecycle},
		{"a match is forfeited twice", twice.suspended("P02").announced(3).forfeited(3).forfeited(3), audit.RuleOneResult},
		{"a forfeited match was assigned", twice.suspended("P02").announced(3).and(&journal.MatchAssigned{Attempt: league.Attempt{MatchID: league.MatchID{Round: 3, Number: 1}, Number: 1}, RefereeID: "REF01"}).forfeited(3), audit.RuleLifecycle},
		{"a referee is suspended that has reported", begun(1, 2).lost(1, "E001").suspended("P02").suspended("REF01"), audit.RuleLifecycle},
		{"a round is given to a suspended referee", begun(1, 2).failed(1).suspended("REF02").and(&journal.RoundAnnounced{RoundID: 2, Referees: []string{"REF02"}}), audit.RuleLifecycle},
		{"a referee fails with a match that it was not assigned", begun(1, 2).announced(1).and(&journal.AgentFailed{AgentID: "REF02", Attempt: league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}, Reason: "away"}), audit.RuleEvent},
	})
}

func (s events) written(t *testing.T) *savedLeague {
	t.Helper()
	w := &savedLeague{t: t, dir: store.Folder(t.TempDir())}
	j, _, _, err := journalfile.Open(w.dir.Journal(leagueID), nil)
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
	doc := &store.Match{
		Header: store.NewHeader("2026-01-01T00:00:00Z"), LeagueID: leagueID, RoundID: 3, MatchID: "R3M1", GameType: evenodd.Type,
		WrittenBy: store.WrittenByManager, PlayerA: store.MatchPlayer{PlayerID: "P01", DisplayName: "P01"}, PlayerB: store.MatchPlayer{PlayerID: "P02", DisplayName: "P02"},
		Lifecycle:  store.Lifecycle{State: store.StateAcknowledged, States: lifecycle(store.StateAcknowledged)},
		Transcript: []store.Exchange{}, Scoring: league.MatchPoints{Win: 3, Draw: 1},
		Result: &store.MatchResult{Result: lossOf("P02", "P01", "E001"), Score: league.Both("P01", 3, "P02", 0)},
	}
	require.NoError(t, store.WriteDerived(w.dir.Match(leagueID, "R3M1"), doc))
	assert.Empty(t, listed(w.audit().Findings), "the manager may")
	doc.WrittenBy = store.WrittenByReferee
	require.NoError(t, store.WriteDerived(w.dir.Match(leagueID, "R3M1"), doc))
	findings := w.audit().Findings
	require.Len(t, findings, 1, listed(findings))
	assert.Equal(t, audit.RuleMatchFile, findings[0].Rule)
}

// The events of a journal are a minute apart.
func TestDroppedRegistrationsAreAudited(t *testing.T) {
	registered := &journal.AgentRegistered{
		AgentID: "P01", Role: protocol.RolePlayer, DisplayName: "One", Endpoint: "http://one/mcp", Generation: 1, AwaitsAnswer: true,
	}
	begun := events{&journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"}, RegistrationGrace: 90,
	}, registered}
	minute := &journal.AgentConfirmed{AgentID: "P01", Generation: 1}
	answered := &journal.AgentAnswered{AgentID: "P01"}
	drop := func(reason string) *journal.RegistrationDropped {
		return &journal.RegistrationDropped{AgentID: "P01", Reason: reason}
	}
	for _, test := range []struct {
		name   string
		events events
		want   string // the detail of the only finding; "" for none
	}{
		{"after the grace period", begun.and(minute, drop(journal.DroppedSilent)), ""},
		{"before it", begun.and(drop(journal.DroppedSilent)), "the registration of P01 was dropped after 1m0s; the league gives it 1m30s to answer"},
		{"at once, for its endpoint", begun.and(drop(journal.DroppedForbidden)), ""},
		{"although it had answered", begun.and(answered, drop(journal.DroppedSilent)), "the registration of P01 is dropped, but it has answered"},
		{"and its id granted again", begun.and(minute, drop(journal.DroppedSilent), registered), "agent P01 is registered under the id of a dropped registration"},
		{"an answer is recorded twice", begun.and(answered, answered), "P01 has answered before"},
		{"an agent takes part that has not answered", begun.and(
			&journal.AgentRegistered{AgentID: "P02", Role: protocol.RolePlayer, DisplayName: "Two", Endpoint: "http://two/mcp", Generation: 1},
			&journal.AgentRegistered{AgentID: "REF01", Role: protocol.RoleReferee, DisplayName: "R", Endpoint: "http://r/mcp", Generation: 1},
			&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}},
		), "P01 takes part, but has not answered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			findings := test.events.written(t).audit().Findings
			if test.want == "" {
				assert.Empty(t, findings)
				return
			}
			if assert.Len(t, findings, 1) {
				assert.Contains(t, findings[0].Detail, test.want)
				assert.Contains(t, []string{audit.RuleRegistration, audit.RuleSchedule}, findings[0].Rule)
			}
		})
	}
}

// The pairings of an announcement follow from the results before it.
func TestAnnouncedPairingsAreRecomputed(t *testing.T) {
	t.Parallel()
	begun := events{&journal.Created{
		SchemaVersion: journal.SchemaVersion, LeagueID: leagueID, GameType: evenodd.Type, Legs: 1,
		Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
		Tournament: &journal.Tournament{Algorithm: pairing.Knockout, Seeding: []string{"P02"}},
	}}
	for _, id := range []string{"REF01", "P01", "P02", "P03", "P04"} {
		role := protocol.RolePlayer
		if id == "REF01" {
			role = protocol.RoleReferee
		}
		begun = begun.and(&journal.AgentRegistered{AgentID: id, Role: role, DisplayName: id, Endpoint: "http://" + id + "/mcp", Generation: 1})
	}
	begun = begun.and(&journal.Started{Players: []string{"P01", "P02", "P03", "P04"}, Referees: []string{"REF01"}})
	announced := func(pairings ...[2]string) *journal.RoundAnnounced {
		return &journal.RoundAnnounced{RoundID: 1, Pairings: pairings, Referees: []string{"REF01", "REF01"}[:len(pairings)]}
	}
	for _, tt := range []struct {
		name  string
		round *journal.RoundAnnounced
		want  string // in the finding; "" for none
	}{
		{"as the seeding says", announced([2]string{"P02", "P04"}, [2]string{"P01", "P03"}), ""},
		{"other opponents", announced([2]string{"P02", "P03"}, [2]string{"P01", "P04"}), "match 1 of round 1 is P02 against P03; by the results before it is P02 against P04"},
		{"swapped sides", announced([2]string{"P02", "P04"}, [2]string{"P03", "P01"}), "match 2 of round 1 is P03 against P01; by the results before it is P01 against P03"},
		{"a missing match", announced([2]string{"P02", "P04"}), "match 2 of round 1 is not played; by the results before it is P01 against P03"},
	} {
		findings := begun.and(tt.round).written(t).audit().Findings
		if tt.want == "" {
			assert.Empty(t, listed(findings), tt.name)
			continue
		}
		require.Len(t, findings, 1, "%s: %s", tt.name, listed(findings))
		assert.Equal(t, []any{audit.RuleSchedule, len(begun) + 1, tt.want}, []any{findings[0].Rule, findings[0].Line, findings[0].Detail}, tt.name)
	}
}
