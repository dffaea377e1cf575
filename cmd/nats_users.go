package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"evenodd/config"
	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/transport/nats"
)

// A serverUser is a user of NATS servers, and what it may do.
type serverUser struct {
	name, about        string
	subscribe, publish []string
}

// serverUsers are the users of a league: the manager's two, and one for each agent of a roster. What these users may
// not do keeps agents from reading, answering and sending in the name of others.
func serverUsers(leagueID string, roster []config.RosterEntry) ([]serverUser, error) {
	users := []serverUser{
		{protocol.NATSManagerName, "the manager's, which calls agents", []string{protocol.ManagerSubject(leagueID, "*")},
			[]string{protocol.AgentSubject(leagueID, "*")}},
		{protocol.NATSJournalName, "the manager's, which writes the journal and leads the league", nil,
			[]string{"evenodd." + leagueID + ".journal.*", "$JS.API.>", "$JS.ACK.>", "$KV.evenodd.>"}},
	}
	owners := map[string]string{}
	for _, e := range roster {
		name := natsName(e.Name)
		if err := checkNATSName(e.Name); err != nil {
			return nil, err
		}
		if other, taken := owners[name]; taken {
			return nil, fmt.Errorf("the names %q and %q are the same on NATS: %s; choose another", other, e.Name, name)
		}
		owners[name] = e.Name
		u := serverUser{name, e.Role + " " + e.Name, []string{protocol.AgentSubject(leagueID, name)},
			[]string{protocol.ManagerSubject(leagueID, name)}}
		if e.Role == protocol.RoleReferee {
			u.publish = append(u.publish, protocol.AgentSubject(leagueID, "*"))
		}
		users = append(users, u)
	}
	return users, nil
}

// config returns the user as the configuration of a server has it.
func (u *serverUser) config(key string) string {
	quoted := func(subjects []string) string { return `"` + strings.Join(subjects, `", "`) + `"` }
	responses := ""
	if len(u.subscribe) > 0 { // to each request that it gets, once
		responses = `, allow_responses: { max: 1, expires: "2m" }`
	}
	return fmt.Sprintf("  # %s\n  { nkey: %s, permissions: {\n    subscribe: [%s]\n    publish: [%s]%s } }\n",
		u.about, key, quoted(append(u.subscribe, nats.InboxOf(u.name)+".>")), quoted(u.publish), responses)
}

// usersFile is the name of the file of users in the folder of 'league codes --nats'.
const usersFile = "users.conf"

// writeServerUsers writes a file of users for the configuration of NATS servers into a folder, and beside it the secret
// key of each user. It keeps the keys that are there, so that a longer roster changes nothing for the other agents.
func writeServerUsers(folder, leagueID string, roster []config.RosterEntry) error {
	users, err := serverUsers(leagueID, roster)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return err
	}
	var text strings.Builder
	text.WriteString("# The users of league " + leagueID + ". Include this file in the block authorization or in an " +
		"account of each NATS server.\nusers = [\n")
	for i := range users {
		key, err := keyOf(filepath.Join(folder, users[i].name+natsKeyExtension))
		if err != nil {
			return err
		}
		text.WriteString(users[i].config(key))
	}
	text.WriteString("]\n")
	return userfile.Write(filepath.Join(folder, usersFile), []byte(text.String()), 0o644)
}

// keyOf returns the public key of the secret one in a file, which it makes if there is none.
func keyOf(path string) (public string, err error) {
	seed, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if seed, err = nats.NewKey(); err == nil {
			err = userfile.Write(path, append(seed, '\n'), 0o600)
		}
	}
	if err == nil {
		public, err = nats.PublicKey(seed)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return public, nil
}
