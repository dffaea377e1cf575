package membership_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A desk is a manager that answers registrations with the given answers, in order.
type desk struct {
	answers  []func() (*membership.Answer, error)
	prepared []string // the tokens of the registrations that were prepared
	talks    []string // and their conversations
	calls    []string // and of the calls that were made
}

func (d *desk) apply(kept *store.Identity, conversation string) func(context.Context) (*membership.Answer, error) {
	shown := "none"
	if kept != nil {
		shown = kept.AgentID + " " + kept.AuthToken
	}
	d.prepared = append(d.prepared, shown)
	d.talks = append(d.talks, conversation)
	return func(context.Context) (*membership.Answer, error) {
		n := len(d.calls)
		d.calls = append(d.calls, shown)
		return d.answers[n]()
	}
}

func place(id, token, leagueID string, ours bool) func() (*membership.Answer, error) {
	return func() (*membership.Answer, error) {
		r := &protocol.Registration{Status: protocol.StatusAccepted, LeagueID: leagueID}
		if ours {
			r.ManagerAuth = protocol.ManagerAuthBearer
		}
		return &membership.Answer{AgentID: &id, Token: token, Registration: r}, nil
	}
}

func fails(err error) func() (*membership.Answer, error) {
	return func() (*membership.Answer, error) { return nil, err }
}

func TestRegister(t *testing.T) {
	rejected := func(code protocol.Code) func() (*membership.Answer, error) {
		return func() (*membership.Answer, error) {
			reason := "no"
			return &membership.Answer{Registration: &protocol.Registration{
				Status: protocol.StatusRejected, Reason: &reason, ErrorCode: string(code), ErrorName: code.Name(),
			}}, nil
		}
	}
	type answers = []func() (*membership.Answer, error)
	const kept, none = "P07 tok-P07", "none"
	tests := []struct {
		name     string
		known    bool // P07 with tok-P07 in league, of before
		leagues  []string
		answers  answers
		prepared []string
		calls    int
		id       string // "" when it is refused
		back     bool
		file     string // the token in the file at the end, "" for none
		secret   bool   // the secret is that of before
	}{
		{name: "new", answers: answers{place("P01", "tok-1", league, true)}, prepared: []string{none}, calls: 1, id: "P01", file: "tok-1"},
		{name: "new, at a third-party manager", answers: answers{place("P01", "tok-1", league, false)},
			prepared: []string{none}, calls: 1, id: "P01", file: "tok-1"},
		{name: "new, after some time", answers: answers{fails(unreachable{}), fails(errInternal), place("P01", "tok-1", league, true)},
			prepared: []string{none}, calls: 3, id: "P01", file: "tok-1"},
		{name: "back", known: true, answers: answers{place("P07", "tok-P07", league, true)},
			prepared: []string{kept}, calls: 1, id: "P07", back: true, file: "tok-P07", secret: true},
		{name: "back, after some time", known: true, answers: answers{fails(unreachable{}), fails(errNever), place("P07", "tok-P07", league, true)},
			prepared: []string{kept}, calls: 3, id: "P07", back: true, file: "tok-P07", secret: true},
		{name: "back, with another token", known: true, answers: answers{place("P07", "tok-new", league, true)},
			prepared: []string{kept}, calls: 1, id: "P07", back: true, file: "tok-new", secret: true},
		{name: "back, at a third-party manager that knows it", known: true, answers: answers{place("P07", "tok-P07", league, false)},
			prepared: []string{kept}, calls: 1, id: "P07", back: true, file: "tok-P07", secret: true},
		{name: "a third-party manager that ignores tokens", known: true, answers: answers{place("P07", "tok-new", league, false)},
			prepared: []string{kept}, calls: 1, id: "P07", file: "tok-new"},
		{name: "granted another id", known: true, answers: answers{place("P01", "tok-1", league, true)},
			prepared: []string{kept}, calls: 1, id: "P01", file: "tok-1"},
		{name: "in another league", known: true, answers: answers{place("P07", "tok-1", "another", true)},
			prepared: []string{kept}, calls: 1, id: "P07", file: "tok-1"},
		{name: "the token is unknown", known: true, answers: answers{fails(remote(protocol.ErrTokenInvalid)), place("P01", "tok-1", league, true)},
			prepared: []string{kept, none}, calls: 2, id: "P01", file: "tok-1"},
		{name: "the token is rejected", known: true, answers: answers{rejected(protocol.ErrTokenInvalid), place("P01", "tok-1", league, true)},
			prepared: []string{kept, none}, calls: 2, id: "P01", file: "tok-1"},
		{name: "the token is unknown, and it is too late for a new one", known: true,
			answers:  answers{fails(unreachable{}), fails(remote(protocol.ErrTokenInvalid)), fails(unreachable{}), rejected(protocol.ErrLateRegistration)},
			prepared: []string{kept, none}, calls: 4, file: "tok-P07"},
		{name: "a new one is told that its token is unknown", answers: answers{fails(remote(protocol.ErrTokenInvalid))}, prepared: []string{none}, calls: 1},
		{name: "refused", known: true, answers: answers{rejected(protocol.ErrInvalidEndpoint)}, prepared: []string{kept}, calls: 1, file: "tok-P07", secret: true},
		{name: "one of its leagues", leagues: []string{"another", league}, answers: answers{place("P01", "tok-1", league, true)},
			prepared: []string{none}, calls: 1, id: "P01", file: "tok-1"},
		{name: "none of its leagues", leagues: []string{"another", "a third"}, answers: answers{place("P01", "tok-1", league, true)},
			prepared: []string{none}, calls: 1},
		{name: "its token is not shown to another league", known: true, leagues: []string{"another"}, answers: answers{place("P01", "tok-1", "another", true)},
			prepared: []string{none}, calls: 1, id: "P01", file: "tok-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder := store.Folder(t.TempDir())
				identities := storeOf(t, folder, membership.RolePlayer, "Alpha")
				if tt.known {
					identities = stored(t, folder, membership.RolePlayer, "Alpha", "P07")
				}
				secret := identities.Secret()
				var current membership.Current
				var joined []bool
				d := &desk{answers: tt.answers}
				e := membership.Registration{
					Identities: identities, Current: &current, Leagues: tt.leagues, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply,
					Joined: func(m *membership.Membership, back bool) {
						assert.Nil(t, current.Get(), "before anybody goes on")
						assert.Equal(t, tt.id, m.AgentID)
						joined = append(joined, back)
					},
				}
				err := e.Register(t.Context())
				assert.Equal(t, tt.prepared, d.prepared, "one message for all calls of a registration")
				assert.Len(t, d.calls, tt.calls)
				if tt.id == "" {
					require.Error(t, err)
					assert.Nil(t, current.Get())
					assert.Empty(t, joined)
				} else {
					require.NoError(t, err)
					assert.Equal(t, tt.id, current.Get().AgentID)
					assert.Equal(t, []bool{tt.back}, joined)
				}
				again := storeOf(t, folder, membership.RolePlayer, "Alpha")
				file := ""
				if i := again.Identity(); i != nil {
					file = i.AuthToken
				}
				assert.Equal(t, tt.file, file)
				if tt.known && tt.file != "" && tt.id != "" {
					assert.Equal(t, tt.secret, secret == again.Secret())
				}
			})
		})
	}
}

// TestCallsWaitForAnAbsentManager: an error would cost a returning agent the match that
// it is in. A new agent is in no match.
func TestCallsWaitForAnAbsentManager(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			identities := &membership.IdentityStore{}
			if known {
				identities = stored(t, "", membership.RolePlayer, "Alpha", "P07")
			}
			var current membership.Current
			d := &desk{answers: []func() (*membership.Answer, error){fails(unreachable{}), fails(unreachable{}), place("P07", "tok-P07", league, true)}}
			e := membership.Registration{
				Identities: identities, Current: &current, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply,
			}
			began := time.Now()
			var answered *membership.Membership
			var took time.Duration
			time.AfterFunc(time.Second, func() {
				answered, took = current.Await(t.Context()), time.Since(began)
			})
			require.NoError(t, e.Register(t.Context()))
			synctest.Wait()
			if known {
				require.NotNil(t, answered)
				assert.Greater(t, took, 6*time.Second)
			} else {
				assert.Nil(t, answered)
				assert.Equal(t, time.Second, took)
			}
		})
	}
}

func TestProcessRegistersAgainWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{answers: []func() (*membership.Answer, error){place("P01", "tok-1", league, true), place("P01", "tok-1", league, true)}}
		var backs []bool
		e := membership.Registration{
			Identities: &membership.IdentityStore{}, Current: &membership.Current{}, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply,
			Joined: func(_ *membership.Membership, back bool) { backs = append(backs, back) },
		}
		require.NoError(t, e.Register(t.Context()))
		require.NoError(t, e.Register(t.Context()))
		assert.Equal(t, []string{"none", "P01 tok-1"}, d.calls, "it shows what it was given, though nothing is on disk")
		assert.Equal(t, []bool{false, true}, backs)
	})
}

func TestAgentWithoutWritableFolderDoesNotRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := store.Folder(t.TempDir())
		identities := storeOf(t, folder, membership.RolePlayer, "Alpha")
		require.NoError(t, os.WriteFile(filepath.Join(string(folder), "private"), nil, 0o600)) // where the folder would be
		d := &desk{}
		e := membership.Registration{Identities: identities, Current: &membership.Current{}, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply}
		err := e.Register(t.Context())
		require.ErrorContains(t, err, "cannot write the identity of this agent")
		require.ErrorContains(t, err, "make the folder writable, or use another")
		assert.Empty(t, d.calls, "nobody was asked for a place that would be lost")
	})
}

func TestRegistrationIsIdempotentAfterALostResponse(t *testing.T) {
	folder := store.Folder(t.TempDir())
	register := func(answer func() (*membership.Answer, error)) (string, error) {
		d := &desk{answers: []func() (*membership.Answer, error){answer}}
		e := membership.Registration{
			Identities: storeOf(t, folder, membership.RoleReferee, "Alpha"), Current: &membership.Current{},
			Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply,
		}
		err := e.Register(t.Context())
		require.Len(t, d.talks, 1)
		return d.talks[0], err
	}
	died := protocol.Fault(protocol.ErrInvalidFieldType, "the answer is not read")
	first, err := register(fails(died))
	require.ErrorIs(t, err, died)
	second, err := register(place("REF01", "tok-1", league, true))
	require.NoError(t, err)
	assert.Equal(t, first, second, "the next life asks in the same conversation")
	assert.NoFileExists(t, folder.Application(membership.RoleReferee, "Alpha at "+boss))
	third, err := register(place("REF01", "tok-1", league, true))
	require.NoError(t, err)
	assert.NotEqual(t, second, third, "one that comes back shows its token")
}

// A manager that has registered an agent may begin the league before the agent receives
// the response. Its calls wait until a repeated registration brings the response.
func TestCallsWaitWhileARegistrationMayHaveArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{answers: []func() (*membership.Answer, error){fails(errNever), place("P01", "tok-1", league, true)}}
		var current membership.Current
		e := membership.Registration{Identities: &membership.IdentityStore{}, Current: &current, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply}
		invited := make(chan *membership.Membership, 1)
		time.AfterFunc(time.Second, func() { invited <- current.Await(t.Context()) }) // between the two calls
		require.NoError(t, e.Register(t.Context()))
		m := <-invited
		require.NotNil(t, m, "the call was answered before the agent was let in")
		assert.Equal(t, "P01", m.AgentID)
	})
}

// refusedFor returns a refusal that asks to retry after so many seconds.
func refusedFor(seconds int) func() (*membership.Answer, error) {
	return func() (*membership.Answer, error) {
		reason := "the name is taken by an agent that has not answered yet"
		return &membership.Answer{Registration: &protocol.Registration{
			Status: protocol.StatusRejected, Reason: &reason, ErrorCode: "E024", ErrorName: "DUPLICATE_NAME", RetryAfterSec: seconds,
		}}, nil
	}
}

func TestRefusalWithRetryAfterIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		d := &desk{answers: []func() (*membership.Answer, error){refusedFor(30), refusedFor(30), refusedFor(1), place("P01", "tok-1", league, true)}}
		var current membership.Current
		e := membership.Registration{Identities: &membership.IdentityStore{}, Current: &current, Clock: protocol.SystemClock(), Log: zerolog.New(&lines), Apply: d.apply}
		began := time.Now()
		waited := make(chan time.Duration, 1)
		time.AfterFunc(10*time.Second, func() { // between the first two
			before := time.Now()
			assert.Nil(t, current.Await(t.Context()), "the manager has not let it in")
			waited <- time.Since(before)
		})
		require.NoError(t, e.Register(t.Context()))
		assert.Zero(t, <-waited, "no call waits for a registration that was refused")
		took := time.Since(began)
		assert.GreaterOrEqual(t, took, 30*time.Second+30*time.Second+8*time.Second, "the hint, and at least the usual pause")
		assert.Less(t, took, 75*time.Second, "with a tenth of jitter")
		assert.Len(t, d.calls, 4)
		assert.Len(t, d.talks, 1, "the same registration each time")
		assert.Equal(t, 3, strings.Count(lines.String(), "cannot register yet, trying again"))
		assert.Contains(t, lines.String(), "the name is taken by an agent that has not answered yet (E024 DUPLICATE_NAME)")
	})
}

func TestRefusalWithoutRetryAfterIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{answers: []func() (*membership.Answer, error){refusedFor(30), refusedFor(0)}}
		e := membership.Registration{Identities: &membership.IdentityStore{}, Current: &membership.Current{}, Clock: protocol.SystemClock(), Log: zerolog.Nop(), Apply: d.apply}
		var refused *membership.RefusedError
		require.ErrorAs(t, e.Register(t.Context()), &refused)
		assert.Equal(t, string(protocol.ErrDuplicateName), refused.Code)
		assert.Len(t, d.calls, 2)
	})
}
