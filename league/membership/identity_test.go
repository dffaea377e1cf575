package membership_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

const moment = "2025-01-15T10:00:00Z"

// boss is the endpoint of the manager in these tests.
const boss = "http://boss/mcp"

func storeOf(t *testing.T, folder store.Folder, role, name string) *membership.IdentityStore {
	t.Helper()
	k, err := membership.NewIdentityStore(folder, role, name, boss, nil)
	require.NoError(t, err)
	return k
}

// stored returns a store that has the identity of an agent.
func stored(t *testing.T, folder store.Folder, role, name, id string) *membership.IdentityStore {
	t.Helper()
	k := storeOf(t, folder, role, name)
	r := &protocol.Registration{LeagueID: league, ManagerAuth: protocol.ManagerAuthBearer}
	require.NoError(t, k.Save(membership.New(id, "tok-"+id, r), r, moment))
	return k
}

func TestIdentityIsReadAgain(t *testing.T) {
	folder := store.Folder(t.TempDir())
	k := storeOf(t, folder, membership.RolePlayer, "Agent Alpha")
	assert.Nil(t, k.Identity())
	secret := k.Secret()
	assert.NotEqual(t, [32]byte{}, secret)
	assert.Equal(t, secret, k.Secret(), "it is made once")
	_, err := os.Stat(folder.Identity(membership.RolePlayer, "Agent Alpha"+" at "+boss))
	require.ErrorIs(t, err, os.ErrNotExist, "nothing is written before the registration")

	k = stored(t, folder, membership.RolePlayer, "Agent Alpha", "P07")
	secret = k.Secret()
	again := storeOf(t, folder, membership.RolePlayer, "Agent Alpha")
	assert.Equal(t, secret, again.Secret())
	assert.Equal(t, &store.Identity{
		SchemaVersion: "1.0.0", LastUpdated: moment, Role: "player", DisplayName: "Agent Alpha", LeagueID: league,
		AgentID: "P07", AuthToken: "tok-P07", ManagerAuth: "bearer", Secret: hex.EncodeToString(secret[:]),
	}, again.Identity())
}

func TestIdentityFileIsPrivate(t *testing.T) {
	folder := store.Folder(t.TempDir())
	stored(t, folder, membership.RoleReferee, "Referee Alpha", "REF01")
	path := folder.Identity(membership.RoleReferee, "Referee Alpha"+" at "+boss)
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
}

func TestNewTokenDoesNotChangeTheSecret(t *testing.T) {
	folder := store.Folder(t.TempDir())
	k := stored(t, folder, membership.RolePlayer, "Alpha", "P01")
	secret := k.Secret()
	r := &protocol.Registration{LeagueID: league}
	require.NoError(t, k.Save(membership.New("P01", "tok-new", r), r, moment))
	again := storeOf(t, folder, membership.RolePlayer, "Alpha")
	assert.Equal(t, "tok-new", again.Identity().AuthToken)
	assert.Equal(t, secret, again.Secret())
}

func TestSimilarNamesAreDifferentAgents(t *testing.T) {
	folder := store.Folder(t.TempDir())
	names := []string{"Agent Ü", "Agent Ö", "agent ü", "Agent-Ü", "Agent  ", "Agent", strings.Repeat("a", 49), strings.Repeat("a", 50), "../..", "a/b", "a\\b"}
	for i, name := range names {
		stored(t, folder, membership.RolePlayer, name, protocol.PlayerID(i+1))
		stored(t, folder, membership.RoleReferee, name, protocol.RefereeID(i+1))
	}
	secrets := map[[32]byte]bool{}
	for i, name := range names {
		p, r := storeOf(t, folder, membership.RolePlayer, name), storeOf(t, folder, membership.RoleReferee, name)
		assert.Equal(t, protocol.PlayerID(i+1), p.Identity().AgentID, name)
		assert.Equal(t, protocol.RefereeID(i+1), r.Identity().AgentID, name)
		secrets[p.Secret()], secrets[r.Secret()] = true, true
	}
	assert.Len(t, secrets, 2*len(names))
	entries, err := os.ReadDir(filepath.Dir(folder.Identity(membership.RolePlayer, "Agent"+" at "+boss)))
	require.NoError(t, err)
	assert.Len(t, entries, 2*len(names), "all in one folder")
}

func TestDamagedIdentityIsAnError(t *testing.T) {
	good := store.Identity{
		SchemaVersion: "1.0.0", Role: "player", DisplayName: "Alpha", LeagueID: league, AgentID: "P01",
		AuthToken: token, Secret: strings.Repeat("ab", 32),
	}
	with := func(change func(*store.Identity)) *store.Identity {
		i := good
		change(&i)
		return &i
	}
	for _, tt := range []struct {
		name     string
		identity *store.Identity
		text     string // in place of it
		want     string
	}{
		{"cut off", nil, `{"schema_version": "1.0.0", "agent_id": "P0`, "not a whole JSON document"},
		{"empty", nil, "", "not a whole JSON document"},
		{"made by a newer program", with(func(i *store.Identity) { i.SchemaVersion = "2.0.0" }), "", "made by a newer evenodd"},
		{"of no version", with(func(i *store.Identity) { i.SchemaVersion = "" }), "", "schema_version"},
		{"without an id", with(func(i *store.Identity) { i.AgentID = "" }), "", "agent_id: is missing"},
		{"without a token", with(func(i *store.Identity) { i.AuthToken = "" }), "", "auth_token: is missing"},
		{"without a league", with(func(i *store.Identity) { i.LeagueID = "" }), "", "league_id: is missing"},
		{"without a secret", with(func(i *store.Identity) { i.Secret = "" }), "", "64 hexadecimal digits"},
		{"with half a secret", with(func(i *store.Identity) { i.Secret = i.Secret[:32] }), "", "64 hexadecimal digits"},
		{"with too long a secret", with(func(i *store.Identity) { i.Secret += "ab" }), "", "64 hexadecimal digits"},
		{"with a secret that is none", with(func(i *store.Identity) { i.Secret = strings.Repeat("xy", 32) }), "", "64 hexadecimal digits"},
		{"of somebody else", with(func(i *store.Identity) { i.DisplayName = "Beta" }), "", `belongs to the player "Beta"`},
		{"of a referee", with(func(i *store.Identity) { i.Role = "referee" }), "", "belongs to the referee"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := store.Folder(t.TempDir())
			path := folder.Identity(membership.RolePlayer, "Alpha"+" at "+boss)
			if tt.identity != nil {
				require.NoError(t, store.WritePrivate(path, tt.identity))
			} else {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			}
			_, err := membership.NewIdentityStore(folder, membership.RolePlayer, "Alpha", boss, nil)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path, "which file")
			require.ErrorContains(t, err, "delete it to register as a new agent", "and what to do")
			assert.NotContains(t, err.Error(), token)
			assert.NotContains(t, err.Error(), "abab")
		})
	}
	t.Run("that cannot be read", func(t *testing.T) {
		folder := store.Folder(t.TempDir())
		path := folder.Identity(membership.RolePlayer, "Alpha"+" at "+boss)
		require.NoError(t, os.MkdirAll(path, 0o700)) // not even root reads a folder as a file
		_, err := membership.NewIdentityStore(folder, membership.RolePlayer, "Alpha", boss, nil)
		require.ErrorContains(t, err, path)
		assert.NotContains(t, err.Error(), "delete", "it may be a good one")
	})
}

func TestDiscardedIdentityStaysInItsFile(t *testing.T) {
	folder := store.Folder(t.TempDir())
	k := stored(t, folder, membership.RolePlayer, "Alpha", "P07")
	secret := k.Secret()
	k.Discard()
	assert.Nil(t, k.Identity())
	assert.NotEqual(t, secret, k.Secret(), "a new one has a new secret")
	assert.Equal(t, "P07", storeOf(t, folder, membership.RolePlayer, "Alpha").Identity().AgentID,
		"the file stays until another takes its place")

	r := &protocol.Registration{LeagueID: "another"}
	require.NoError(t, k.Save(membership.New("P01", "tok-P01", r), r, moment))
	again := storeOf(t, folder, membership.RolePlayer, "Alpha")
	assert.Equal(t, []string{"P01", "another"}, []string{again.Identity().AgentID, again.Identity().LeagueID})
	assert.Equal(t, k.Secret(), again.Secret())
}

func TestStoreWithoutFolder(t *testing.T) {
	var zero membership.IdentityStore
	for name, k := range map[string]*membership.IdentityStore{"zero": &zero, "made": storeOf(t, "", membership.RolePlayer, "Alpha")} {
		t.Run(name, func(t *testing.T) {
			assert.Nil(t, k.Identity())
			secret := k.Secret()
			assert.Equal(t, secret, k.Secret())
			r := &protocol.Registration{LeagueID: league}
			require.NoError(t, k.Save(membership.New("P01", token, r), r, moment))
			assert.Equal(t, token, k.Identity().AuthToken, "as long as the process lives")
		})
	}
}

func TestIdentityThatCannotBeWrittenLastsAsLongAsTheProcess(t *testing.T) {
	folder := store.Folder(t.TempDir())
	k := storeOf(t, folder, membership.RolePlayer, "Alpha")
	require.NoError(t, os.WriteFile(filepath.Join(string(folder), "private"), nil, 0o600)) // where the folder would be
	r := &protocol.Registration{LeagueID: league}
	m := membership.New("P01", token, r)
	require.Error(t, k.Save(m, r, moment))
	assert.Equal(t, "P01", k.Identity().AgentID)
	require.NoError(t, os.Remove(filepath.Join(string(folder), "private")))
	require.NoError(t, k.Save(m, r, moment), "it tries again")
	assert.Equal(t, k.Secret(), storeOf(t, folder, membership.RolePlayer, "Alpha").Secret())
}

// An agent shows its token only to the manager that issued it. To another manager it is
// a new agent, with a second identity. A manager at a new address is recognized by the
// league that the agent may join.
func TestIdentityBelongsToOneManager(t *testing.T) {
	folder := store.Folder(t.TempDir())
	stored(t, folder, membership.RolePlayer, "Alpha", "P07")
	at := func(manager string, leagues ...string) *store.Identity {
		k, err := membership.NewIdentityStore(folder, membership.RolePlayer, "Alpha", manager, leagues)
		require.NoError(t, err)
		return k.Identity()
	}
	assert.Equal(t, "P07", at(boss).AgentID)
	assert.Nil(t, at("http://another/mcp"))
	assert.Nil(t, at("http://another/mcp", "another league"))
	assert.Equal(t, "P07", at("http://another/mcp", "another league", league).AgentID)

	other, err := membership.NewIdentityStore(folder, membership.RolePlayer, "Alpha", "http://another/mcp", nil)
	require.NoError(t, err)
	r := &protocol.Registration{Status: protocol.StatusAccepted, LeagueID: "L2"}
	require.NoError(t, other.Save(membership.New("P01", "tok-2", r), r, "2026-01-01T00:00:00Z"))
	assert.Equal(t, "P01", at("http://another/mcp").AgentID)
	assert.Equal(t, "P07", at(boss).AgentID, "the first place is still there")
}
