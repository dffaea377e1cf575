package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/league/words"
)

// tokenVariable is the environment variable with the token of an agent.
const tokenVariable = "EVENODD_TOKEN"

// agentToken is the token of an agent in the environment; "" for none.
func agentToken() string { return strings.TrimSpace(os.Getenv(tokenVariable)) }

// An agentAccess says as which agent a command asks a manager.
type agentAccess struct {
	manager  string // URL
	data     string // the folder with the identity of the agent; "" for none
	id       string // of the agent, or its name; "" for the only one of the folder
	leagueID string // "" for the league of the agent
	ofFolder bool   // the token is in the folder, also if the environment has one
}

// client finds the token of the agent. caller calls the manager.
func (a *agentAccess) client(caller protocol.Caller, files *config.Loader) (*leagueClient, error) {
	if err := completeManager(&a.manager); err != nil {
		return nil, err
	}
	// the manager knows the agent by its token
	role, id := protocol.RolePlayer, "unknown"
	c := &leagueClient{caller: caller, url: a.manager, leagueID: a.leagueID, token: agentToken()}
	if c.token == "" || a.ofFolder {
		identity, err := a.identity()
		if err != nil {
			return nil, err
		}
		role, id, c.token = identity.Role, identity.AgentID, identity.AuthToken
		c.leagueID = cmp.Or(c.leagueID, identity.LeagueID)
	}
	if c.leagueID == "" {
		system, _ := files.System() // the flags needed it already
		c.leagueID = system.DefaultLeagueID
	}
	c.sender = role + ":" + id
	return c, nil
}

// answer asks the manager, and returns the data of the response without tokens.
func (a *agentAccess) answer(ctx context.Context, caller protocol.Caller, files *config.Loader, about subject,
	params protocol.QueryParams) (*leagueClient, jsontext.Value, error) {
	c, err := a.client(caller, files)
	if err != nil {
		return nil, nil, err
	}
	data, err := c.answer(ctx, about, params)
	return c, withoutToken(data, c.token), err
}

// hasIdentity tells whether the folder has the identity of an agent, of any manager.
func (a *agentAccess) hasIdentity() bool {
	folder := store.In(a.data)
	return a.data != "" && len(folder.Identities(protocol.RolePlayer))+len(folder.Identities(protocol.RoleReferee)) > 0
}

// identity returns the agent in the data folder whose token to use. A token is sent only
// to the manager that issued it: the name of the identity file contains the manager's
// address.
func (a *agentAccess) identity() (*store.Identity, error) {
	folder, found := store.In(a.data), map[string]*store.Identity{}
	if a.data == "" {
		return nil, errors.New("no token: set EVENODD_TOKEN to the token of a registered agent, or --data to its folder")
	}
	for _, role := range []string{protocol.RolePlayer, protocol.RoleReferee} {
		for _, path := range folder.Identities(role) {
			identity, err := store.Read[store.Identity](disk.Real{}, path)
			if err != nil || identity.AuthToken == "" || identity.Role != role {
				continue // not an identity, or damaged
			}
			name := identity.DisplayName + " at " + a.manager
			if path == folder.Identity(role, name) && (a.leagueID == "" || a.leagueID == identity.LeagueID) {
				found[identity.AgentID] = identity
			}
		}
	}
	ids := slices.SortedFunc(maps.Keys(found), league.CompareIDs)
	refs := lists.Map(ids, func(id string) league.Ref {
		return league.Ref{ID: id, Name: found[id].DisplayName, Role: found[id].Role}
	})
	private := filepath.Join(a.data, "private")
	switch {
	case len(ids) == 0:
		of := ""
		if a.leagueID != "" {
			of = " of league " + strconv.Quote(a.leagueID)
		}
		return nil, fmt.Errorf("no token: %s has no agent%s that registered with the manager at %s: set --manager to its "+
			"URL, --data to the folder of an agent, or EVENODD_TOKEN", private, of, a.manager)
	case a.id == "" && len(ids) > 1:
		return nil, usage("%s has the tokens of %s: choose one with --id", private,
			words.And(lists.Map(refs, league.Ref.String)))
	case a.id == "":
		return found[ids[0]], nil
	}
	one, err := league.FindAgent(a.id, refs)
	if err != nil {
		return nil, usage("--id: %s has %w", private, err)
	}
	return found[one.ID], nil
}
