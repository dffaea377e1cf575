package manager_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/rules"
)

// class are the players that a roster lists in most tests.
var class = []string{"Alice", "Bob", "Carol"}

// withRoster is the option of a league that signs, with a roster of players. Each has the code "code-of-" and its name.
func withRoster(names ...string) func(*manager.Options) {
	roster := decide.NewRoster()
	for _, name := range names {
		roster.Add(true, name, "code-of-"+name)
	}
	return func(o *manager.Options) { o.Roster, o.Signatures = roster, journal.SignaturesOptional }
}

// applyWithCode applies as a player from the endpoint of a host, which answers pings.
func applyWithCode(w *leaguetest.World, name, host, code string) *protocol.LeagueRegisterResponse {
	w.T.Helper()
	q := w.Application(name)
	q.ConversationID = "conv-" + name + "-" + host
	q.PlayerMeta.ContactEndpoint, q.RegistrationCode = leaguetest.EndpointOf(host), code
	return mustApply(w, q)
}

func TestRosterRefusesAgentsWithoutTheirCode(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		w.StartManager(0, 1, withRoster(class...))
		w.PingOnly("laptop")
		w.PingOnly("other")
		for _, tt := range []struct {
			about, name, code string
			want              protocol.Code
			says              string
		}{
			{"no code", "Alice", "", protocol.ErrMissingField, "registration_code is missing"},
			{"a wrong code", "Alice", "code-of-malice", protocol.ErrNotAuthorized, "registration_code is not that of"},
			{"the right code", "Alice", "code-of-Alice", "", ""},
		} {
			r := applyWithCode(w, tt.name, "laptop", tt.code)
			assert.Equal(t, string(tt.want), r.ErrorCode, tt.about)
			if tt.want != "" {
				assert.Contains(t, *r.Reason, tt.says, tt.about)
				assert.Zero(t, r.RetryAfterSec, tt.about)
			}
		}
		synctest.Wait() // the agent has answered the manager's ping
		r := applyWithCode(w, "Alice", "other", "code-of-Alice")
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode, "Alice still answers elsewhere: the name is registered already")
		assert.Contains(t, *r.Reason, "an agent still answers at the endpoint registered before")
		w.Referee("REF01") // a roster without referees admits any
		assert.Equal(t, 1, w.Manager.Status().Players)
		assert.Equal(t, &journal.Roster{Players: 3}, w.Manager.Status().Roster)
		for _, code := range []string{"code-of-Alice", "code-of-Bob", "code-of-malice"} {
			assert.NotContains(t, log.Text(), code)
		}
	})
}

func TestManagerLimitsGuessesAtACode(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		from := "192.0.2.1"
		w.StartManager(0, 1, withRoster(class...), func(o *manager.Options) {
			o.CallerAddress = func(context.Context) string { return from }
		})
		w.PingOnly("laptop")
		apply := func(code string) error {
			q := w.Application("Alice")
			q.PlayerMeta.ContactEndpoint, q.RegistrationCode = leaguetest.EndpointOf("laptop"), code
			r, err := w.Apply(q)
			if err == nil && r.Status != protocol.StatusAccepted {
				assert.Equal(t, string(protocol.ErrNotAuthorized), r.ErrorCode)
			}
			return err
		}
		for range 5 {
			require.NoError(t, apply("code-of-Bob"))
		}
		err := apply("code-of-Alice")
		assert.Equal(t, protocol.ErrRateLimited, protocol.AsError(err).Code)
		from = "192.0.2.2"
		require.NoError(t, apply("code-of-Alice"))
		assert.Equal(t, 1, w.Manager.Status().Players)
	})
}

// playerWithCode registers one of our players with the code of its name, and with its own
// data folder.
func playerWithCode(w *leaguetest.World, host, name string, traits ...leaguetest.Option) *leaguetest.Agent {
	w.T.Helper()
	code := func(o *player.Options) { o.RegistrationCode = "code-of-" + name }
	traits = append(traits, leaguetest.WithName(name), leaguetest.WithoutID)
	a := w.NewPlayerIn(host, leaguetest.TempFolder(w.T), code, traits...)
	require.NoError(w.T, a.Player.Register(w.Context))
	return a
}

// An agent that lost its data folder has neither its token nor its key.
func TestAgentThatLostItsTokenReturnsWithItsCode(t *testing.T) {
	for name, started := range map[string]bool{"before the start": false, "after the start": true} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			options := func(o *manager.Options) { o.Pace = 60 }
			x := w.StartManagerIn(folder, 0, 1, withRoster(class...), options)
			w.RefereeWithFiles("REF01", folder)
			alice := playerWithCode(w, "laptop", "Alice")
			playerWithCode(w, "bobs", "Bob")
			playerWithCode(w, "carols", "Carol")
			if started {
				w.StartLeague()
				w.WaitUntil(90 * leaguetest.Second) // the first round is over
			}
			ask(w, "P01", protocol.QueryStatus) // a token that was never used stays
			alice.Stop()
			back := playerWithCode(w, "phone", "Alice")
			assert.Equal(t, "P01", back.Player.ID())
			assert.Equal(t, w.TokenOf("P01", 2), back.Player.Token(), "the lost token is of no use")
			if !started {
				w.StartLeague()
			}
			state := finish(x)
			assert.Len(t, state.Agents["P01"].Keys(), 2)
			assert.Empty(t, state.Agents["P01"].SuspendReason)
			marked := 0
			for _, m := range state.Matches() {
				marked += len(state.KeyMarks(m, "P01"))
			}
			agents, err := store.Read[store.Agents](folder.Disk, folder.Agents(leaguetest.LeagueID))
			require.NoError(t, err)
			first := map[string]string{"P01": alice.Player.PublicKey()}
			report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game), Keys: first})
			require.NoError(t, err)
			require.NotEmpty(t, report.Leagues[0].Findings, "of an auditor that knows the first key")
			assert.Equal(t, audit.RuleKeys, report.Leagues[0].Findings[0].Rule)
			assert.True(t, slices.ContainsFunc(report.Leagues[0].Notes, func(f audit.Finding) bool {
				return f.Rule == audit.RuleKeys && strings.Contains(f.Detail, "with its registration code and another key: ")
			}))
			if started {
				assert.Equal(t, 2, marked, "it had a bye in the first round")
				assert.Contains(t, agents.Players[0].StateReason, "has had another key since event ")
			} else {
				assert.Zero(t, marked)
				assert.NotContains(t, agents.Players[0].StateReason, "another key")
			}
			for _, m := range state.Matches() {
				assert.NotEqual(t, league.StatusTechnicalLoss, m.Report.Status, m.Report.MatchID)
			}
		})
	}
}

func TestAgentWithAnotherKeyWaitsUntilItsMatchIsOver(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 0, 1, withRoster(class...))
		w.RefereeWithFiles("REF01", x.Folder)
		silent := playerWithCode(w, "laptop", "Alice", leaguetest.On(protocol.Invite.Name, leaguetest.Silent))
		playerWithCode(w, "bobs", "Bob")
		w.StartLeague()
		w.WaitUntil(w.Now() + leaguetest.Second)
		silent.Stop()
		w.PingOnly("phone")
		q := w.Application("Alice")
		q.PlayerMeta.ContactEndpoint, q.RegistrationCode = leaguetest.EndpointOf("phone"), "code-of-Alice"
		q.ConversationID = "conv-another-key"
		q.PlayerMeta.PublicKey = protocol.NewSigningKey(leaguetest.SecretOf("another key")).Public()
		r := mustApply(w, q)
		assert.Equal(t, string(protocol.ErrInvalidMatchState), r.ErrorCode)
		assert.Positive(t, r.RetryAfterSec)
		finish(x)
	})
}

func TestRegistrationsWithARosterSurviveARestartWithAnotherRoster(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 3, 1, withRoster(class...))
		w.RefereeWithFiles("REF01", folder)
		playerWithCode(w, "laptop", "Alice")
		synctest.Wait()
		x.Kill()
		x = w.StartManagerIn(folder, 3, 1, withRoster("Bob", "Dana"))
		playerWithCode(w, "bobs", "Bob")
		playerWithCode(w, "danas", "Dana")
		state := finish(x)
		assert.Len(t, state.Started.Players, 3, "Alice is still there")
		assert.Equal(t, &journal.Roster{Players: 2}, state.Configuration.Roster)
		for _, secret := range []string{"code-of-", "Dana's"} {
			assert.NotContains(t, string(leaguetest.ReadJournal(w, folder)), secret)
			assert.NotContains(t, log.Text(), secret)
		}
	})
}
