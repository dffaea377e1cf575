package membership

import (
	crand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The roles of an identity.
const (
	RolePlayer  = "player"
	RoleReferee = "referee"
)

// A Keep is where an agent keeps who it is: its id, its token, and the secret
// it derives its own randomness from. The zero value keeps nothing beyond the
// life of the process. Safe for concurrent use.
type Keep struct {
	path       string // of the identity; "" for nowhere
	applying   string // of the application
	role, name string

	mu       sync.Mutex
	identity *store.Identity
	secret   [32]byte
	made     bool // secret is there
	saved    bool // the file says what identity and secret do

	conversation string // of the registration that has no answer yet
}

// NewKeep is the keep of an agent at a manager, in a folder, or nowhere when
// that is "". The identity that is there is read. One that is damaged, or made by
// a newer program, is an error that names the file and what to do: to take a new
// place in silence could cost the agent the one it has.
//
// A token is shown to no other manager than the one it is from, which could use
// it. If the manager has moved, the league's name says so: an agent that is told
// to join one of leagues, and knows it from another address, is who it was there.
func NewKeep(folder store.Folder, role, name, manager string, leagues []string) (*Keep, error) {
	k := &Keep{role: role, name: name}
	if folder == "" {
		return k, nil
	}
	place := name + " at " + manager
	k.path, k.applying = folder.Identity(role, place), folder.Application(role, place)
	if sent, err := store.Read[store.Application](k.applying); err == nil && sent.DisplayName == name {
		k.conversation = sent.ConversationID // one that cannot be read is no loss: it is sent anew
	}
	identity, err := store.Read[store.Identity](k.path)
	if errors.Is(err, fs.ErrNotExist) {
		k.adopt(folder, leagues)
		return k, nil
	}
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread):
		return nil, fmt.Errorf("the identity of %s cannot be read: %w", name, err)
	case err == nil:
		err = k.recall(identity)
	}
	if err != nil {
		return nil, fmt.Errorf("the identity of %s is of no use: %w; restore it, or delete it to register anew", name, err)
	}
	return k, nil
}

// adopt takes the identity that the agent has in one of leagues under another
// address of the manager.
func (k *Keep) adopt(folder store.Folder, leagues []string) {
	for _, path := range folder.Identities(k.role) {
		identity, err := store.Read[store.Identity](path)
		if err == nil && identity.DisplayName == k.name && slices.Contains(leagues, identity.LeagueID) && k.recall(identity) == nil {
			k.saved = false // not under this address
			return
		}
	}
}

// recall takes in an identity that was read.
func (k *Keep) recall(i *store.Identity) error {
	n, err := hex.Decode(k.secret[:], []byte(i.Secret[:min(len(i.Secret), 2*len(k.secret))]))
	problem := ""
	switch {
	case err != nil || n != len(k.secret) || len(i.Secret) != 2*n:
		problem = "secret: must be 64 hexadecimal digits"
	case i.AgentID == "":
		problem = "agent_id: is missing"
	case i.AuthToken == "":
		problem = "auth_token: is missing"
	case i.LeagueID == "":
		problem = "league_id: is missing"
	case i.Role != k.role || i.DisplayName != k.name:
		problem = fmt.Sprintf("it is that of the %.40s %.60q", i.Role, i.DisplayName)
	}
	if problem != "" {
		return fmt.Errorf("%s: %s", k.path, problem)
	}
	k.identity, k.made, k.saved = i, true, true
	return nil
}

// Recalled is who the agent is, nil when it has not been registered. It must
// not be changed.
func (k *Keep) Recalled() *store.Identity {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.identity
}

// Secret is the agent's own: that of its identity, else a random one that
// Remember will keep.
func (k *Keep) Secret() [32]byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ownSecret()
}

func (k *Keep) ownSecret() [32]byte {
	if !k.made {
		_, _ = crand.Read(k.secret[:]) // never fails
		k.made = true
	}
	return k.secret
}

// Conversation is that of the agent's registration, the same until it is
// answered: an agent that dies between the manager's answer and its own writing
// it down asks for that answer again, and is not taken for somebody else who
// wants its name.
func (k *Keep) Conversation(now string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.conversation != "" {
		return k.conversation, nil
	}
	k.conversation = Conversation(k.role, k.name)
	if k.path == "" {
		return k.conversation, nil
	}
	return k.conversation, store.WritePrivate(k.applying, &store.Application{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, Role: k.role, DisplayName: k.name, ConversationID: k.conversation,
	})
}

// Remember keeps the place that a registration gave, for the owner's eyes only,
// and the secret with it. After an error it is remembered as long as the
// process lives.
func (k *Keep) Remember(m *Membership, r *protocol.Registration, now string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.identity; k.saved && known.LeagueID == m.LeagueID && known.AgentID == m.AgentID &&
		known.AuthToken == m.Token && known.ManagerAuth == r.ManagerAuth {
		return nil
	}
	identity := &store.Identity{
		SchemaVersion: store.SchemaVersion, LastUpdated: now, Role: k.role, DisplayName: k.name,
		LeagueID: m.LeagueID, AgentID: m.AgentID, AuthToken: m.Token, ManagerAuth: r.ManagerAuth,
	}
	k.identity, k.saved = identity, k.path == ""
	if k.saved {
		return nil
	}
	secret := k.ownSecret()
	identity.Secret = hex.EncodeToString(secret[:])
	err := store.WritePrivate(k.path, identity)
	k.saved = err == nil
	if k.saved {
		k.conversation = ""
		if err := os.Remove(k.applying); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// Forget makes the next registration a new one, with a new secret: the manager
// does not know the token. The file stays until another identity takes its
// place, in case it was the wrong manager that was asked.
func (k *Keep) Forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.identity, k.secret, k.made, k.saved, k.conversation = nil, [32]byte{}, false, false, ""
}
