package membership

import (
	crand "crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

// An identityStore holds the identity of an agent: its id, its token, and the secret
// from which it derives its random values. A store without a folder lasts as long as
// the process. Safe for concurrent use.
type identityStore struct {
	disk       disk.Disk
	path       string // of the identity; "" for no folder
	applying   string // of the application
	role, name string

	mu       sync.Mutex
	identity *store.Identity
	secret   protocol.Secret      // zero before it is made
	signing  *protocol.SigningKey // derived from the secret; nil until it is needed
	saved    bool                 // the file holds identity and secret

	conversation string // of the registration that has no response yet
}

// newIdentityStore opens the store of an agent for a manager, and reads the identity
// in it, if there is a folder. A damaged identity, or one of a newer program, is
// an error that names the file and the remedy: a new registration in its place could
// cost the agent its slot in the league.
//
// An agent shows its token only to the manager that issued it, because another one
// could use it. If the manager has a new address, the agent finds its identity by the
// names of the leagues that it may join.
func newIdentityStore(folder store.Folder, role, name, manager string, leagues []string) (*identityStore, error) {
	s := &identityStore{role: role, name: name}
	if folder.IsZero() {
		return s, nil
	}
	key := name + " at " + manager
	s.disk, s.path, s.applying = folder.Disk, folder.Identity(role, key), folder.Application(role, key)
	switch sent, err := store.Read[store.Application](s.disk, s.applying); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil: // without it the agent would apply again, and the manager may have registered it
		return nil, fmt.Errorf("the registration of %s, which has no answer yet, cannot be read: %w; restore the file, "+
			"or delete it to register as a new agent", name, err)
	case sent.DisplayName == name:
		s.conversation = sent.ConversationID
		s.secret, _ = protocol.ParseSecret(sent.Secret)
	}
	identity, err := store.Read[store.Identity](s.disk, s.path)
	if errors.Is(err, fs.ErrNotExist) {
		s.adopt(folder, leagues)
		return s, nil
	}
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return nil, fmt.Errorf("the identity of %s cannot be read: %w", name, err)
	}
	if err == nil {
		err = s.load(identity)
	}
	if err != nil {
		return nil, fmt.Errorf(
			"the identity of %s cannot be used: %w; restore the file, or delete it to register as a new agent", name, err)
	}
	return s, nil
}

// adopt loads the identity that the agent has in one of the leagues, stored under
// another address of the manager.
func (s *identityStore) adopt(folder store.Folder, leagues []string) {
	for _, path := range folder.Identities(s.role) {
		identity, err := store.Read[store.Identity](folder.Disk, path)
		if err == nil && identity.DisplayName == s.name && slices.Contains(leagues, identity.LeagueID) &&
			s.load(identity) == nil {
			s.saved = false // for this address
			return
		}
	}
}

// load checks an identity that was read, and uses it.
func (s *identityStore) load(i *store.Identity) error {
	secret, ok := protocol.ParseSecret(i.Secret)
	switch {
	case !ok || i.AgentID == "" || i.AuthToken == "" || i.LeagueID == "":
		return fmt.Errorf("%s: agent_id, auth_token or league_id is missing, or secret is not 64 hexadecimal digits", s.path)
	case i.Role != s.role || i.DisplayName != s.name:
		return fmt.Errorf("%s: belongs to the %.40s %.60q", s.path, i.Role, i.DisplayName)
	}
	s.identity, s.secret, s.saved, s.signing = i, secret, true, nil
	return nil
}

// Identity returns the identity of the agent, which must not be changed; nil if the
// agent has not been registered.
func (s *identityStore) Identity() *store.Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identity
}

// Secret returns the secret of the identity, or a random one that Save will store.
func (s *identityStore) Secret() protocol.Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ownSecret()
}

func (s *identityStore) ownSecret() protocol.Secret {
	if s.secret == (protocol.Secret{}) {
		_, _ = crand.Read(s.secret[:]) // never fails
	}
	return s.secret
}

// SigningKey returns the signing key that follows from the secret.
func (s *identityStore) SigningKey() *protocol.SigningKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signing == nil {
		s.signing = protocol.NewSigningKey(protocol.Derive(s.ownSecret(), "evenodd-signing-key-v1"))
	}
	return s.signing
}

// Conversation returns the conversation id of the agent's registration, the same until
// the registration is stored. An agent that dies before that repeats the request, and
// the manager repeats its response: registration is idempotent.
func (s *identityStore) Conversation(now string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conversation != "" {
		return s.conversation, nil
	}
	s.conversation = Conversation(s.role, s.name)
	if s.path == "" {
		return s.conversation, nil
	}
	return s.conversation, store.WritePrivate(s.disk, s.applying, &store.Application{
		Header: store.NewHeader(now), Role: s.role, DisplayName: s.name,
		ConversationID: s.conversation,
		Secret:         s.ownSecret().Hex(),
	})
}

// Save stores the identity that a registration granted, and the secret, in a file that
// only its owner can read. After an error both last as long as the process.
func (s *identityStore) Save(m *Membership, r *protocol.Registration, now string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.identity; s.saved && known.LeagueID == m.LeagueID && known.AgentID == m.AgentID &&
		known.AuthToken == m.Token && known.ManagerAuth == r.ManagerAuth && known.ManagerKey == m.ManagerKey {
		return nil
	}
	identity := &store.Identity{
		Header: store.NewHeader(now), Role: s.role, DisplayName: s.name,
		LeagueID: m.LeagueID, AgentID: m.AgentID, AuthToken: m.Token, ManagerAuth: r.ManagerAuth, ManagerKey: m.ManagerKey,
	}
	s.identity, s.saved = identity, s.path == ""
	if s.saved {
		return nil
	}
	identity.Secret = s.ownSecret().Hex()
	err := store.WritePrivate(s.disk, s.path, identity)
	s.saved = err == nil
	if s.saved {
		s.conversation = ""
		if err := s.disk.Remove(s.applying); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// Discard removes the identity and the secret from memory, because the manager does not
// know the token: the next registration is that of a new agent. The file remains until
// Save replaces it, because the agent may have called the wrong manager.
func (s *identityStore) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity, s.secret, s.saved, s.conversation, s.signing = nil, protocol.Secret{}, false, "", nil
}
