package cmd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/config"
	"evenodd/league/protocol"
)

func TestNameOnNATSFollowsFromTheDisplayName(t *testing.T) {
	for displayName, want := range map[string]string{
		"Anna": "anna", "Ben B": "ben-b", "c_3-PO": "c_3-po", "Zoë": "zo_c3_ab", "Zoe\u0308": "zo_c3_ab", "a.b>*": "a_2eb_3e_2a",
	} {
		name, err := natsName(displayName)
		assert.NoError(t, err)
		assert.Equal(t, want, name)
	}
	for displayName, problem := range map[string]string{
		"Manager": "belongs to the manager", "journal": "belongs to the manager",
		strings.Repeat("é", 20): "would have 120 characters on NATS, at most 64",
	} {
		_, err := natsName(displayName)
		assert.ErrorContains(t, err, problem)
	}
	twice := []config.RosterEntry{{Name: "Ben B", Role: protocol.RolePlayer}, {Name: "ben-b", Role: protocol.RoleReferee}}
	_, err := serverUsers("L", twice)
	assert.ErrorContains(t, err, `the names "Ben B" and "ben-b" are the same on NATS`)
}

func TestEndpointsThatAProcessCallsOnNATS(t *testing.T) {
	with := &natsOptions{urls: []string{"nats://localhost"}}
	for role, calls := range map[string]string{
		protocol.RolePlayer:  "evenodd.L.manager.anna",
		protocol.RoleReferee: "evenodd.L.manager.anna evenodd.L.agent.anna evenodd.L.agent.ben",
	} {
		o := agentOptions{nats: *with}
		o.Name, o.Leagues = "Anna", []string{"L"}
		u, err := o.useNATS(role)
		assert.NoError(t, err)
		assert.Equal(t, "nats://evenodd.L.agent.anna nats://evenodd.L.manager.anna", o.Endpoint+" "+o.Manager)
		for _, subject := range strings.Fields("evenodd.L.manager.anna evenodd.L.manager.ben evenodd.L.agent.anna evenodd.L.agent.ben " +
			"evenodd.L.agent.* evenodd.M.agent.ben evenodd.L.journal.1 $JS.API.STREAM.PURGE.x $KV.evenodd.L _INBOX_ben.x") {
			assert.Equal(t, strings.Contains(calls+" ", subject+" "), u.allow(subject), "%s calls %s", role, subject)
		}
	}
	none, user := &natsUser{natsOptions: &natsOptions{}}, &natsUser{natsOptions: with}
	assert.NoError(t, none.checkPlayer("L", "http://localhost:8101/mcp"))
	assert.ErrorContains(t, none.checkPlayer("L", "nats://evenodd.L.agent.ben"), "start it with --nats")
	assert.NoError(t, user.checkPlayer("L", "nats://evenodd.L.agent.ben"))
	assert.ErrorContains(t, user.checkPlayer("L", "nats://evenodd.L.journal.1"), "is not the endpoint of an agent of league L")
}

func TestFlagsOfNATSFitEachOther(t *testing.T) {
	urls := []string{"nats://localhost:4222", "tls://nats.example.org"}
	for _, tt := range []struct {
		o              natsOptions
		league, reason string
	}{
		{natsOptions{}, "a.b", ""},
		{natsOptions{urls: urls, noHTTP: true}, "L", ""},
		{natsOptions{noHTTP: true}, "L", "need --nats"},
		{natsOptions{creds: "x"}, "L", "need --nats"},
		{natsOptions{urls: []string{"localhost:4222"}}, "L", "must be URLs"},
		{natsOptions{urls: []string{"http://localhost"}}, "L", "must be URLs"},
		{natsOptions{urls: urls}, "a.b", "letters, digits, dashes and underscores"},
	} {
		if err := tt.o.check(tt.league); tt.reason == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, tt.reason)
		}
	}
}
