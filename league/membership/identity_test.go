package membership_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

const moment = "2025-01-15T10:00:00Z"

// managerURL is the endpoint of the manager.
const managerURL = "http://manager/mcp"

func storeOf(t *testing.T, folder store.Folder, role, name string) *membership.IdentityStore {
	t.Helper()
	k, err := membership.NewIdentityStore(folder, role, name, managerURL, nil)
	require.NoError(t, err)
	return k
}

// save stores the identity that an agent has in a league, with the token "tok-" and its id.
func save(k *membership.IdentityStore, id, leagueID string) error {
	r := &protocol.Registration{LeagueID: leagueID, ManagerAuth: protocol.ManagerAuthBearer}
	return k.Save(membership.New(id, "tok-"+id, r), r, moment)
}

// stored returns a store with the identity of an agent.
func stored(t *testing.T, folder store.Folder, role, name, id string) *membership.IdentityStore {
	t.Helper()
	k := storeOf(t, folder, role, name)
	require.NoError(t, save(k, id, leagueID))
	return k
}

func TestIdentityIsRestoredFromItsFile(t *testing.T) {
	folder := store.In(t.TempDir())
	k := storeOf(t, folder, protocol.RolePlayer, "Agent Alpha")
	assert.Nil(t, k.Identity())
	secret := k.Secret()
	assert.NotEqual(t, [32]byte{}, secret)
	assert.Equal(t, secret, k.Secret(), "the secret is created once")
	_, err := os.Stat(folder.Identity(protocol.RolePlayer, "Agent Alpha"+" at "+managerURL))
	require.ErrorIs(t, err, os.ErrNotExist, "no file before the registration")

	k = stored(t, folder, protocol.RolePlayer, "Agent Alpha", "P07")
	secret = k.Secret()
	again := storeOf(t, folder, protocol.RolePlayer, "Agent Alpha")
	assert.Equal(t, secret, again.Secret())
	assert.Equal(t, &store.Identity{
		Header: store.NewHeader(moment), Role: "player", DisplayName: "Agent Alpha", LeagueID: leagueID,
		AgentID: "P07", AuthToken: "tok-P07", ManagerAuth: "bearer", Secret: hex.EncodeToString(secret[:]),
	}, again.Identity())
}

func TestIdentityFileIsPrivate(t *testing.T) {
	folder := store.In(t.TempDir())
	stored(t, folder, protocol.RoleReferee, "Referee Alpha", "REF01")
	path := folder.Identity(protocol.RoleReferee, "Referee Alpha"+" at "+managerURL)
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode().Perm(), name)
	}
}

func TestSimilarNamesAreDifferentAgents(t *testing.T) {
	folder := store.In(t.TempDir())
	names := []string{"Agent Ü", "Agent Ö", "agent ü", "Agent-Ü", "Agent  ", "Agent", strings.Repeat("a", 49), strings.Repeat("a", 50), "../..", "a/b", "a\\b"}
	for i, name := range names {
		stored(t, folder, protocol.RolePlayer, name, league.PlayerID(i+1))
		stored(t, folder, protocol.RoleReferee, name, league.RefereeID(i+1))
	}
	secrets := map[[32]byte]bool{}
	for i, name := range names {
		p, r := storeOf(t, folder, protocol.RolePlayer, name), storeOf(t, folder, protocol.RoleReferee, name)
		assert.Equal(t, league.PlayerID(i+1), p.Identity().AgentID, name)
		assert.Equal(t, league.RefereeID(i+1), r.Identity().AgentID, name)
		secrets[p.Secret()], secrets[r.Secret()] = true, true
	}
	assert.Len(t, secrets, 2*len(names))
	entries, err := os.ReadDir(filepath.Dir(folder.Identity(protocol.RolePlayer, "Agent"+" at "+managerURL)))
	require.NoError(t, err)
	assert.Len(t, entries, 2*len(names), "all files are in one folder")
}

func TestDamagedIdentityIsAnError(t *testing.T) {
	good := store.Identity{
		Header: store.NewHeader(""), Role: "player", DisplayName: "Alpha", LeagueID: leagueID, AgentID: "P01",
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
		text     string // replaces the identity
		want     string
	}{
		{"cut off", nil, `{"schema_version": "1.0.0", "agent_id": "P0`, "not a whole JSON document"},
		{"made by a newer program", with(func(i *store.Identity) { i.SchemaVersion = "2.0.0" }), "", "made by a newer evenodd"},
		{"without an id", with(func(i *store.Identity) { i.AgentID = "" }), "", "is missing"},
		{"with a secret that is not hexadecimal", with(func(i *store.Identity) { i.Secret = strings.Repeat("xy", 32) }), "", "64 hexadecimal digits"},
		{"of another agent", with(func(i *store.Identity) { i.DisplayName = "Beta" }), "", `belongs to the player "Beta"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := store.In(t.TempDir())
			path := folder.Identity(protocol.RolePlayer, "Alpha"+" at "+managerURL)
			if tt.identity != nil {
				require.NoError(t, store.WritePrivate(disk.Real{}, path, tt.identity))
			} else {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			}
			_, err := membership.NewIdentityStore(folder, protocol.RolePlayer, "Alpha", managerURL, nil)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path, "the error names the file")
			require.ErrorContains(t, err, "delete it to register as a new agent", "the error tells what to do")
			assert.NotContains(t, err.Error(), token)
			assert.NotContains(t, err.Error(), "abab")
		})
	}
	t.Run("unreadable file", func(t *testing.T) {
		folder := store.In(t.TempDir())
		path := folder.Identity(protocol.RolePlayer, "Alpha"+" at "+managerURL)
		require.NoError(t, os.MkdirAll(path, 0o700)) // even root cannot read a folder as a file
		_, err := membership.NewIdentityStore(folder, protocol.RolePlayer, "Alpha", managerURL, nil)
		require.ErrorContains(t, err, path)
		assert.NotContains(t, err.Error(), "delete", "the file may be good")
	})
}

// The manager may have registered the agent: with another application it would be a second one.
func TestDamagedRegistrationWithoutAnAnswerIsAnError(t *testing.T) {
	folder := store.In(t.TempDir())
	_, err := storeOf(t, folder, protocol.RolePlayer, "Alpha").Conversation(moment)
	require.NoError(t, err)
	path := folder.Application(protocol.RolePlayer, "Alpha"+" at "+managerURL)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)/2], 0o600))
	_, err = membership.NewIdentityStore(folder, protocol.RolePlayer, "Alpha", managerURL, nil)
	require.ErrorContains(t, err, path, "the error names the file")
	require.ErrorContains(t, err, "restore the file, or delete it to register as a new agent", "the error tells what to do")
}

func TestDiscardedIdentityStaysInItsFile(t *testing.T) {
	folder := store.In(t.TempDir())
	k := stored(t, folder, protocol.RolePlayer, "Alpha", "P07")
	secret := k.Secret()
	k.Discard()
	assert.Nil(t, k.Identity())
	assert.NotEqual(t, secret, k.Secret(), "a new identity has a new secret")
	assert.Equal(t, "P07", storeOf(t, folder, protocol.RolePlayer, "Alpha").Identity().AgentID,
		"the file stays until another identity replaces it")

	require.NoError(t, save(k, "P01", "another"))
	again := storeOf(t, folder, protocol.RolePlayer, "Alpha")
	assert.Equal(t, []string{"P01", "another"}, []string{again.Identity().AgentID, again.Identity().LeagueID})
	assert.Equal(t, k.Secret(), again.Secret())
}

func TestStoreWithoutFolderKeepsTheIdentityInMemory(t *testing.T) {
	var zero membership.IdentityStore
	for name, k := range map[string]*membership.IdentityStore{"zero": &zero, "made": storeOf(t, store.Folder{}, protocol.RolePlayer, "Alpha")} {
		t.Run(name, func(t *testing.T) {
			assert.Nil(t, k.Identity())
			secret := k.Secret()
			assert.Equal(t, secret, k.Secret())
			require.NoError(t, save(k, "P01", leagueID))
			assert.Equal(t, "tok-P01", k.Identity().AuthToken, "the identity is kept in memory")
		})
	}
}

func TestUnwritableIdentityIsKeptInMemory(t *testing.T) {
	folder := store.In(t.TempDir())
	k := storeOf(t, folder, protocol.RolePlayer, "Alpha")
	require.NoError(t, os.WriteFile(filepath.Join(folder.Path, "private"), nil, 0o600)) // in place of the folder
	require.Error(t, save(k, "P01", leagueID))
	assert.Equal(t, "P01", k.Identity().AgentID)
	require.NoError(t, os.Remove(filepath.Join(folder.Path, "private")))
	require.NoError(t, save(k, "P01", leagueID), "a later write succeeds")
	assert.Equal(t, k.Secret(), storeOf(t, folder, protocol.RolePlayer, "Alpha").Secret())
}

// An agent sends its token only to the manager that issued it. To another manager it is a
// new agent with a second identity. A manager at a new address is recognized by the league
// that the agent may join.
func TestIdentityBelongsToOneManager(t *testing.T) {
	folder := store.In(t.TempDir())
	stored(t, folder, protocol.RolePlayer, "Alpha", "P07")
	at := func(manager string, leagues ...string) *store.Identity {
		k, err := membership.NewIdentityStore(folder, protocol.RolePlayer, "Alpha", manager, leagues)
		require.NoError(t, err)
		return k.Identity()
	}
	assert.Equal(t, "P07", at(managerURL).AgentID)
	assert.Nil(t, at("http://another/mcp"))
	assert.Nil(t, at("http://another/mcp", "another league"))
	assert.Equal(t, "P07", at("http://another/mcp", "another league", leagueID).AgentID)

	other, err := membership.NewIdentityStore(folder, protocol.RolePlayer, "Alpha", "http://another/mcp", nil)
	require.NoError(t, err)
	require.NoError(t, save(other, "P01", "L2"))
	assert.Equal(t, "P01", at("http://another/mcp").AgentID)
	assert.Equal(t, "P07", at(managerURL).AgentID, "the first identity is unchanged")
}

// The registration shows the public key, so a repeated one needs the same secret.
func TestSigningKeySurvivesACrashBeforeTheResponse(t *testing.T) {
	folder := store.In(t.TempDir())
	k := storeOf(t, folder, protocol.RolePlayer, "Alpha")
	conversation, err := k.Conversation(moment)
	require.NoError(t, err)
	key := k.SigningKey().Public()
	info, err := os.Stat(folder.Application(protocol.RolePlayer, "Alpha at "+managerURL))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	again := storeOf(t, folder, protocol.RolePlayer, "Alpha")
	repeated, err := again.Conversation(moment)
	require.NoError(t, err)
	assert.Equal(t, conversation, repeated)
	assert.Equal(t, key, again.SigningKey().Public())
	require.NoError(t, save(again, "P01", leagueID))
	assert.Equal(t, key, storeOf(t, folder, protocol.RolePlayer, "Alpha").SigningKey().Public())
	again.Discard()
	assert.NotEqual(t, key, again.SigningKey().Public(), "a new agent has a new key")
}
