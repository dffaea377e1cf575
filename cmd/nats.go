package cmd

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/text/unicode/norm"

	"evenodd/config"
	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/league/store/disk"
	"evenodd/transport"
	"evenodd/transport/nats"
)

// natsOptions say how a process takes part in a league through NATS servers.
type natsOptions struct {
	urls   []string // none: it does not
	creds  string   // path of a file, or of a folder with a file for each name; "" for none
	ca     string
	noHTTP bool
}

// flags defines the flags.
func (o *natsOptions) flags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.urls, "nats", nil, "`URL` of a NATS server through which agents call each other, such as "+
		"nats://192.0.2.7:4222; may be repeated for the servers of a cluster (docs/operators.md)")
	f.StringVar(&o.creds, "nats-creds", "", "`file` with the key or the credentials of the user on the NATS servers, or "+
		"the folder of 'league codes --nats', which has one for each name")
	f.StringVar(&o.ca, "nats-ca", "", "PEM `file` of certificate authorities to trust for NATS servers besides those of "+
		"the system; the connection then always uses TLS")
	f.BoolVar(&o.noHTTP, "no-http", false, "with --nats: open no port; there is no page, no health check and no MCP "+
		"server")
}

// on tells whether the process uses NATS.
func (o *natsOptions) on() bool { return len(o.urls) > 0 }

// check returns an error for flags that do not fit each other or the league.
func (o *natsOptions) check(leagueID string) error {
	if !o.on() {
		if o.creds != "" || o.ca != "" || o.noHTTP {
			return usage("--nats-creds, --nats-ca and --no-http need --nats")
		}
		return nil
	}
	for _, text := range o.urls {
		if u, err := url.Parse(text); err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" {
			return usage("--nats: must be URLs such as nats://192.0.2.7:4222 or tls://nats.example.org:4222")
		}
	}
	if !protocol.ValidSubjectToken(leagueID) {
		return usage("--league-id %q: with --nats it must be 1 to 64 letters, digits, dashes and underscores", leagueID)
	}
	return nil
}

// A natsUser is the user of a process on NATS servers, and what it calls.
type natsUser struct {
	*natsOptions
	name  string
	allow func(subject string) bool
}

// connect connects the user.
func (u *natsUser) connect(o *nodeOptions, slow func()) (*nats.Conn, error) {
	options := nats.Options{URLs: u.urls, Name: u.name, Slow: slow, Log: o.log}
	var err error
	if options.Roots, err = roots("nats-ca", u.ca); err != nil {
		return nil, err
	}
	path := u.creds
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, u.name+natsKeyExtension)
	}
	if path != "" {
		if options.Creds, err = userfile.Read(path, maxPEM); err != nil {
			return nil, usage("--nats-creds: %s: %w", path, err)
		}
	}
	conn, err := nats.Connect(options)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to NATS as %s, with %s: %w", u.name,
			cmp.Or(path, "no credentials (--nats-creds)"), err)
	}
	return conn, nil
}

// natsKeyExtension is that of a file with the key of a user.
const natsKeyExtension = ".nk"

// natsName is the name of an agent on NATS servers: the display name in lower case, with dashes for spaces, and with
// the hexadecimal code of each byte that a subject must not have. It returns an error if that
// is too long, or a name of the manager.
func natsName(displayName string) (string, error) {
	var text strings.Builder
	for _, b := range []byte(norm.NFC.String(displayName)) {
		switch letter := strings.ToLower(string(rune(b))); {
		case b == ' ':
			text.WriteByte('-')
		case protocol.ValidSubjectToken(letter):
			text.WriteString(letter)
		default:
			text.WriteString("_" + hex.EncodeToString([]byte{b}))
		}
	}
	switch name := text.String(); {
	case protocol.ValidNATSName(name):
		return name, nil
	case len(name) > 64:
		return "", fmt.Errorf("the name %q would have %d characters on NATS, at most 64 are possible: choose a "+
			"shorter one, or one with fewer special characters", displayName, len(name))
	}
	return "", fmt.Errorf("the name %q belongs to the manager on NATS: choose another", displayName)
}

// carriers makes each call by the carrier of the scheme of its endpoint.
type carriers struct{ http, nats transport.Caller }

func (c *carriers) Call(ctx context.Context, q transport.Request) (any, *transport.Timing, error) {
	switch {
	case !strings.HasPrefix(q.Endpoint, nats.Scheme):
		return c.http.Call(ctx, q)
	case c.nats == nil:
		return nil, nil, &transport.CallError{Kind: transport.Local, Err: errNoNATS}
	}
	return c.nats.Call(ctx, q)
}

var errNoNATS = errors.New("this process has no connection to NATS: start it with --nats")

// checkEndpoint refuses an endpoint that the caller of a manager may not register.
func (g *guard) checkEndpoint(ctx context.Context, leagueID, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	if u.Scheme != protocol.NATS {
		return g.checkHost(ctx, protocol.HostPort(u))
	}
	name, from := protocol.NATSNameOf(leagueID, endpoint), nats.CallerOf(ctx)
	switch {
	case name == "":
		return fmt.Errorf("an endpoint on NATS is exactly %s, with a name of letters, digits, dashes and underscores",
			protocol.NATSEndpoint(protocol.AgentSubject(leagueID, "NAME")))
	case from.Name == "":
		return errors.New("an agent on NATS registers through NATS: only this shows that the endpoint is its own")
	case from.Name != name:
		return fmt.Errorf("it is the endpoint of another agent than the caller, %s", from.Name)
	}
	return nil
}

// checkPlayer refuses the endpoint of a player that this process does not call.
func (u *natsUser) checkPlayer(leagueID, endpoint string) error {
	switch {
	case !strings.HasPrefix(endpoint, protocol.NATSEndpoint("")):
		return nil
	case !u.on():
		return errNoNATS
	case protocol.NATSNameOf(leagueID, endpoint) == "":
		return fmt.Errorf("%.100q is not the endpoint of an agent of league %s", endpoint, leagueID)
	}
	return nil
}

// useNATS gives an agent its endpoint and that of its manager on NATS, and returns its user.
func (o *agentOptions) useNATS(role string) (natsUser, error) {
	u := natsUser{natsOptions: &o.nats}
	if !o.nats.on() {
		return u, nil
	}
	leagueID := o.leagueID()
	if u.name = protocol.NATSNameOf(leagueID, o.natsEndpoint); u.name == "" {
		var err error
		if u.name, err = natsName(o.Name); err != nil {
			return u, usage("--name: %w", err)
		}
	}
	manager := protocol.ManagerSubject(leagueID, u.name)
	o.Endpoint, o.Manager = protocol.NATSEndpoint(protocol.AgentSubject(leagueID, u.name)), protocol.NATSEndpoint(manager)
	u.allow = func(subject string) bool {
		return subject == manager || role == protocol.RoleReferee &&
			protocol.NATSNameOf(leagueID, protocol.NATSEndpoint(subject)) != ""
	}
	return u, nil
}

// leagueID is the league whose subjects an agent uses.
func (o *agentOptions) leagueID() string {
	if len(o.Leagues) == 0 {
		return defaultLeague
	}
	return o.Leagues[0]
}

// prepareNATS checks the flags of an agent that uses NATS. Its HTTP server, if there is one, is for this computer.
func (o *agentOptions) prepareNATS() error {
	if err := o.nats.check(o.leagueID()); err != nil || !o.nats.on() {
		return err
	}
	switch {
	case len(o.Leagues) > 1:
		return usage("--league-id: with --nats an agent takes part in one league")
	case o.given["manager"]:
		return usage("--manager %s: with --nats an agent calls the manager through the NATS servers; leave it out", o.Manager)
	case o.nats.noHTTP && o.Name == "":
		return usage("--no-http: set --name, because there is no port to make a name of")
	case o.given["endpoint"] && protocol.NATSNameOf(o.leagueID(), o.address.endpoint) == "":
		return usage("--endpoint %.100q: with --nats it must be one such as %s", o.address.endpoint,
			protocol.NATSEndpoint(protocol.AgentSubject(o.leagueID(), "NAME")))
	}
	o.natsEndpoint, o.address.endpoint, o.address.local = o.address.endpoint, "", true
	return nil
}

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
		name, err := natsName(e.Name)
		if err != nil {
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
	seed, err := disk.Read(disk.Real{}, path, maxPEM)
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
