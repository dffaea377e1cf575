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

// An answer is the answer of a manager to a registration.
type answer func() (*membership.Answer, error)

// scriptedManager answers registrations with the given responses in order.
type scriptedManager struct {
	answers  []answer
	prepared []string // tokens of the prepared registrations
	talks    []string // their conversations
	calls    []string // tokens of the calls
}

func (d *scriptedManager) apply(e protocol.Envelope, _ string) func(context.Context) (*membership.Answer, error) {
	shown := "none"
	if e.AuthToken != "" {
		shown = protocol.AgentOf(e.Sender) + " " + e.AuthToken
	}
	d.prepared = append(d.prepared, shown)
	d.talks = append(d.talks, e.ConversationID)
	return func(context.Context) (*membership.Answer, error) {
		n := len(d.calls)
		d.calls = append(d.calls, shown)
		return d.answers[n]()
	}
}

func acceptedAs(id, token, leagueID string, own bool) answer {
	return func() (*membership.Answer, error) {
		r := &protocol.Registration{Status: protocol.StatusAccepted, LeagueID: leagueID}
		if own {
			r.ManagerAuth = protocol.ManagerAuthBearer
		}
		return &membership.Answer{AgentID: &id, Token: token, Registration: r}, nil
	}
}

// asP01 is how our manager admits a new agent.
var asP01 = acceptedAs("P01", "tok-1", leagueID, true)

// rejected rejects a registration, which may be repeated after some seconds; 0 for never.
func rejected(code protocol.Code, seconds int) answer {
	return func() (*membership.Answer, error) {
		reason := "so decided"
		return &membership.Answer{Registration: &protocol.Registration{
			Status: protocol.StatusRejected, Reason: &reason,
			ErrorCode: string(code), ErrorName: code.Name(), RetryAfterSec: seconds,
		}}, nil
	}
}

// quiet returns options without a log.
func quiet() membership.Options {
	return membership.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()}
}

func fails(err error) answer {
	return func() (*membership.Answer, error) { return nil, err }
}

func TestRegisterReusesAValidIdentity(t *testing.T) {
	const known, none = "P07 tok-P07", "none"
	unreached, unknownToken := fails(unreachable{}), fails(remote(protocol.ErrTokenInvalid))
	asP07 := acceptedAs("P07", "tok-P07", leagueID, true)
	for _, tt := range []struct {
		name     string
		known    bool // P07 with tok-P07 is stored
		leagues  []string
		answers  []answer
		prepared []string
		id       string // "" if rejected
		back     bool   // as P07, with the secret that is stored
		file     string // token in the file at the end, "" for none
	}{
		{name: "new", answers: []answer{asP01}, prepared: []string{none}, id: "P01", file: "tok-1"},
		{name: "new, after retries", answers: []answer{unreached, fails(errInternal), asP01},
			prepared: []string{none}, id: "P01", file: "tok-1"},
		{name: "returns", known: true, answers: []answer{asP07},
			prepared: []string{known}, id: "P07", back: true, file: "tok-P07"},
		{name: "returns, with another token", known: true,
			answers:  []answer{acceptedAs("P07", "tok-new", leagueID, true)},
			prepared: []string{known}, id: "P07", back: true, file: "tok-new"},
		{name: "a third-party manager that ignores tokens", known: true,
			answers:  []answer{acceptedAs("P07", "tok-new", leagueID, false)},
			prepared: []string{known}, id: "P07", file: "tok-new"},
		{name: "granted another id", known: true, answers: []answer{asP01},
			prepared: []string{known}, id: "P01", file: "tok-1"},
		{name: "the token is unknown", known: true, answers: []answer{unknownToken, asP01},
			prepared: []string{known, none}, id: "P01", file: "tok-1"},
		{name: "the token is unknown, and a new registration is too late", known: true,
			answers:  []answer{unreached, unknownToken, unreached, rejected(protocol.ErrLateRegistration, 0)},
			prepared: []string{known, none}, file: "tok-P07"},
		{name: "a new agent is told that its token is unknown", answers: []answer{unknownToken},
			prepared: []string{none}},
		{name: "rejected", known: true, answers: []answer{rejected(protocol.ErrInvalidEndpoint, 0)},
			prepared: []string{known}, file: "tok-P07"},
		{name: "one of its leagues", leagues: []string{"another", leagueID}, answers: []answer{asP01},
			prepared: []string{none}, id: "P01", file: "tok-1"},
		{name: "none of its leagues", leagues: []string{"another", "a third"}, answers: []answer{asP01},
			prepared: []string{none}},
		{name: "its token is not sent to another league", known: true, leagues: []string{"another"},
			answers:  []answer{acceptedAs("P01", "tok-1", "another", true)},
			prepared: []string{none}, id: "P01", file: "tok-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				folder := store.In(t.TempDir())
				identities := storeOf(t, folder, protocol.RolePlayer, "Alpha")
				if tt.known {
					identities = stored(t, folder, protocol.RolePlayer, "Alpha", "P07")
				}
				secret := identities.Secret()
				var joined []bool
				d := &scriptedManager{answers: tt.answers}
				current := membership.AgentWith(identities, membership.Options{Leagues: tt.leagues, Clock: protocol.SystemClock()})
				err := current.Register(t.Context(), d.apply, func(m *membership.Membership, back bool) {
					assert.Nil(t, current.Membership(), "called before the membership is set")
					assert.Equal(t, tt.id, m.AgentID)
					joined = append(joined, back)
				})
				assert.Equal(t, tt.prepared, d.prepared, "one message for all calls of a registration")
				assert.Len(t, d.calls, len(tt.answers))
				if tt.id == "" {
					require.Error(t, err)
					assert.Nil(t, current.Membership())
					assert.Empty(t, joined)
				} else {
					require.NoError(t, err)
					assert.Equal(t, tt.id, current.Membership().AgentID)
					assert.Equal(t, []bool{tt.back}, joined)
				}
				again := storeOf(t, folder, protocol.RolePlayer, "Alpha")
				file := ""
				if i := again.Identity(); i != nil {
					file = i.AuthToken
				}
				assert.Equal(t, tt.file, file)
				if tt.known && tt.file != "" && tt.id != "" {
					assert.Equal(t, tt.back, secret == again.Secret())
				}
			})
		})
	}
}

// Calls to a returning agent wait, because an error could cost a match. A new agent plays no
// match.
func TestCallsToAReturningAgentWaitForTheManager(t *testing.T) {
	for _, known := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			identities := &membership.IdentityStore{}
			if known {
				identities = stored(t, store.Folder{}, protocol.RolePlayer, "Alpha", "P07")
			}
			unreached := fails(unreachable{})
			d := &scriptedManager{answers: []answer{unreached, unreached, acceptedAs("P07", "tok-P07", leagueID, true)}}
			current := membership.AgentWith(identities, quiet())
			began := time.Now()
			var answered *membership.Membership
			var took time.Duration
			time.AfterFunc(time.Second, func() {
				answered, took = current.Await(t.Context()), time.Since(began)
			})
			require.NoError(t, current.Register(t.Context(), d.apply, nil))
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

func TestRepeatedRegisterSendsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedManager{answers: []answer{asP01, asP01}}
		var backs []bool
		e := membership.AgentWith(&membership.IdentityStore{}, quiet())
		joined := func(_ *membership.Membership, back bool) { backs = append(backs, back) }
		require.NoError(t, e.Register(t.Context(), d.apply, joined))
		require.NoError(t, e.Register(t.Context(), d.apply, joined))
		assert.Equal(t, []string{"none", "P01 tok-1"}, d.calls, "it uses the token in memory")
		assert.Equal(t, []bool{false, true}, backs)
	})
}

func TestAgentWithoutWritableFolderDoesNotRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := store.In(t.TempDir())
		identities := storeOf(t, folder, protocol.RolePlayer, "Alpha")
		require.NoError(t, os.WriteFile(filepath.Join(folder.Path, "private"), nil, 0o600)) // in place of the folder
		d := &scriptedManager{}
		e := membership.AgentWith(identities, quiet())
		err := e.Register(t.Context(), d.apply, nil)
		require.ErrorContains(t, err, "cannot write the identity of this agent")
		require.ErrorContains(t, err, "make the folder writable, or use another")
		assert.Empty(t, d.calls, "no call to the manager")
	})
}

func TestRegistrationIsIdempotentAfterALostResponse(t *testing.T) {
	folder := store.In(t.TempDir())
	register := func(how answer) (string, error) {
		d := &scriptedManager{answers: []answer{how}}
		e := membership.AgentWith(storeOf(t, folder, protocol.RoleReferee, "Alpha"), quiet())
		err := e.Register(t.Context(), d.apply, nil)
		require.Len(t, d.talks, 1)
		return d.talks[0], err
	}
	died := protocol.Fault(protocol.ErrInvalidFieldType, "the answer is not read")
	first, err := register(fails(died))
	require.ErrorIs(t, err, died)
	second, err := register(acceptedAs("REF01", "tok-1", leagueID, true))
	require.NoError(t, err)
	assert.Equal(t, first, second, "the next process repeats the same conversation")
	assert.NoFileExists(t, folder.Application(protocol.RoleReferee, "Alpha at "+managerURL))
	third, err := register(acceptedAs("REF01", "tok-1", leagueID, true))
	require.NoError(t, err)
	assert.NotEqual(t, second, third, "a returning agent sends its token")
}

// A manager may start the league before the agent has received the response to its
// registration. Its calls wait until a repeated registration brings the response.
func TestCallsWaitWhileARegistrationMayHaveArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedManager{answers: []answer{fails(errNever), asP01}}
		current := membership.AgentWith(&membership.IdentityStore{}, quiet())
		invited := make(chan *membership.Membership, 1)
		time.AfterFunc(time.Second, func() { invited <- current.Await(t.Context()) }) // between the two calls
		require.NoError(t, current.Register(t.Context(), d.apply, nil))
		m := <-invited
		require.NotNil(t, m, "the call was answered before the registration")
		assert.Equal(t, "P01", m.AgentID)
	})
}

func taken(seconds int) answer { return rejected(protocol.ErrDuplicateName, seconds) }

func TestRefusalWithRetryAfterIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		d := &scriptedManager{answers: []answer{taken(30), taken(30), taken(1), asP01}}
		var told []error
		current := membership.AgentWith(&membership.IdentityStore{}, membership.Options{
			Clock: protocol.SystemClock(), Log: zerolog.New(&lines), Waiting: func(err error) bool { told = append(told, err); return false },
		})
		began := time.Now()
		waited := make(chan time.Duration, 1)
		time.AfterFunc(10*time.Second, func() { // between the first two attempts
			before := time.Now()
			assert.Nil(t, current.Await(t.Context()), "the agent is not registered")
			waited <- time.Since(before)
		})
		require.NoError(t, current.Register(t.Context(), d.apply, nil))
		assert.Zero(t, <-waited, "no call waits for a rejected registration")
		took := time.Since(began)
		assert.GreaterOrEqual(t, took, 30*time.Second+30*time.Second+8*time.Second, "the requested delay, but at least the usual pause")
		assert.Less(t, took, 75*time.Second, "with 10% jitter")
		assert.Len(t, d.calls, 4)
		assert.Len(t, d.talks, 1, "the same registration each time")
		assert.Len(t, told, 1, "the agent is told of the first failure only")
		assert.Equal(t, 1, strings.Count(lines.String(), `"level":"warn"`), "a reason is a warning once")
		assert.Equal(t, 3, strings.Count(lines.String(), "cannot register yet, trying again"))
		assert.Contains(t, lines.String(), "so decided (E024 DUPLICATE_NAME)")
	})
}

func TestRefusalWithoutRetryAfterIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &scriptedManager{answers: []answer{taken(30), taken(0)}}
		e := membership.AgentWith(&membership.IdentityStore{}, quiet())
		var refused *membership.RefusedError
		require.ErrorAs(t, e.Register(t.Context(), d.apply, nil), &refused)
		assert.Equal(t, string(protocol.ErrDuplicateName), refused.Code)
		assert.Len(t, d.calls, 2)
	})
}

// The key of the first registration counts, because heads that are signed with it are proofs
// against the manager.
func TestManagerCannotChangeItsKey(t *testing.T) {
	folder := store.In(t.TempDir())
	first, other := protocol.NewSigningKey([32]byte{1}).Public(), protocol.NewSigningKey([32]byte{2}).Public()
	register := func(key string) (pinned string, log string) {
		var lines bytes.Buffer
		o := quiet()
		o.Log = zerolog.New(&lines)
		d := &scriptedManager{answers: []answer{func() (*membership.Answer, error) {
			admitted, err := asP01()
			admitted.ManagerKey = key
			return admitted, err
		}}}
		a := membership.AgentWith(storeOf(t, folder, protocol.RolePlayer, "Alpha"), o)
		require.NoError(t, a.Register(t.Context(), d.apply, nil))
		return a.Membership().ManagerKey, lines.String()
	}
	for _, key := range []string{first, first, other, "", other} {
		pinned, log := register(key)
		assert.Equal(t, first, pinned)
		assert.Equal(t, key != first, strings.Contains(log, "MANAGER_KEY_CHANGED"), key)
	}
}
