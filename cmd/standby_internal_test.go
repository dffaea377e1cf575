package cmd

import (
	"crypto/tls"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/protocol"
)

// A standby with another file of the operator differs in this file, and in no other: see "Where a new leader has each
// thing from" in docs/operators.md.
func TestEachFileOfTheOperatorHasItsDigest(t *testing.T) {
	certificate := func(der string) *tls.Config {
		shown := &tls.Certificate{Certificate: [][]byte{[]byte(der)}}
		get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown, nil }
		return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get}
	}
	digests := func(change func(p *managerProcess, j *sharedJournal)) map[string]string {
		p := &managerProcess{managerOptions: &managerOptions{}, calls: newGuard(localhost, nil)}
		p.LeagueID, p.Players = "class", 4
		p.address.tls = certificate("first")
		p.admission.listed = []config.RosterEntry{{Name: "Anna", Code: "a-code", Role: protocol.RolePlayer}}
		j := &sharedJournal{master: protocol.MasterSecret("a secret of the operator")}
		change(p, j)
		files, err := p.operatorFiles(j)
		require.NoError(t, err)
		return files()
	}
	ca := writeFile(t, "an authority", t.TempDir(), "ca.pem")
	first := digests(func(*managerProcess, *sharedJournal) {})
	for _, setting := range []string{"legs", "participants"} {
		assert.Regexp(t, `(^| )`+setting+`=[0-9a-f]{16}( |$)`, first["configuration"])
	}
	for file, changes := range map[string][]func(p *managerProcess, j *sharedJournal){
		"roster": {
			func(p *managerProcess, _ *sharedJournal) { p.admission.listed[0].Name = "Anne" },
			func(p *managerProcess, _ *sharedJournal) { p.admission.listed[0].Code = "another" },
			func(p *managerProcess, _ *sharedJournal) { p.admission.listed = nil },
		},
		"configuration": {
			func(p *managerProcess, _ *sharedJournal) { p.Players = 5 },
			func(p *managerProcess, _ *sharedJournal) { p.Legs = 2 },
		},
		"allowed endpoints": {
			func(p *managerProcess, _ *sharedJournal) { p.calls = newGuard(localhost, []string{"192.0.2.0/24"}) },
			func(p *managerProcess, _ *sharedJournal) { p.calls = newGuard("0.0.0.0", nil) },
		},
		"certificates": {
			func(p *managerProcess, _ *sharedJournal) { p.address.tls = certificate("second") },
			func(p *managerProcess, _ *sharedJournal) { p.address.tls = nil },
			func(p *managerProcess, _ *sharedJournal) { p.ca = ca },
		},
	} {
		for i, change := range changes {
			other := digests(change)
			assert.Equal(t, slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(other)))
			for name, digest := range first {
				assert.Equal(t, name != file, digest == other[name], "%s %d: %s", file, i, name)
			}
		}
	}
	otherSecret := digests(func(_ *managerProcess, j *sharedJournal) { j.master = protocol.MasterSecret("another") })
	for name, digest := range first {
		assert.NotEqual(t, digest, otherSecret[name], "%s: without the secret nobody can try out codes", name)
	}
}
