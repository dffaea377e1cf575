package thirdparty

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// An entrant is a player of a capture, at its port.
type entrant struct {
	capture string
	port    int
}

// The leagues of captured players: one of each capture, and a mixed one.
func leaguesOfThirdParties(t *testing.T) map[string][]entrant {
	t.Helper()
	leagues := map[string][]entrant{"all of them and ours": {
		{"maker-a", 8101}, {"maker-b", 8102}, {"maker-c", 8103}, {"maker-d", 8104}, {"maker-e", 8100}, {"", 8105},
	}}
	for name := range captures {
		for _, e := range captured(t, name) {
			if port := portOf(contact(e.Request)); port >= 8100 {
				leagues[name] = append(leagues[name], entrant{name, port})
			}
		}
	}
	return leagues
}

// A league with our manager and our referee completes with captured players. It has no
// technical losses, and the audit of its files has no findings.
func TestLeagueOfThirdPartyPlayersHasNoTechnicalLosses(t *testing.T) {
	for name, entrants := range leaguesOfThirdParties(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := store.Folder(t.TempDir())
			inAWorld(t, func(w *world) {
				w.folder = folder
				w.playThirdParty(entrants)
			})
			audited(t, folder)
		})
	}
}

// audited checks that the audit of a league has no findings.
func audited(t *testing.T, folder store.Folder) {
	t.Helper()
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(evenodd.Game{})})
	require.NoError(t, err)
	require.Len(t, report.Leagues, 1)
	assert.Empty(t, report.Leagues[0].Findings)
}

func (w *world) playThirdParty(entrants []entrant) {
	w.t.Helper()
	m := w.manager(len(entrants), 1)
	require.NoError(w.t, w.referee(refereePort).Register(w.life))
	thirdParties := map[string]*replay{} // by id
	for _, s := range entrants {
		if s.capture == "" {
			require.NoError(w.t, w.player(s.port).Register(w.life))
			continue
		}
		r := w.replay(s.capture, captured(w.t, s.capture), s.port)
		thirdParties[w.register(s)] = r
	}
	await(w, m.over)
	require.NoError(w.t, m.failed)
	for _, row := range m.Standings() {
		assert.Equal(w.t, len(entrants)-1, row.Played, "%s", row.PlayerID)
		assert.Zero(w.t, row.TechnicalLosses, "%s of %d", row.PlayerID, row.Played)
	}
	for id, r := range thirdParties {
		// The tries until it is understood come once for each question and notice,
		// not in every match. It may reject four notices of the manager in all forms.
		by, all := r.asked()
		assert.LessOrEqual(w.t, all, 4*mostForms+20+5*(len(entrants)-1), "%s was asked %v", id, by)
		assert.Equal(w.t, len(entrants)-1, by["choose_parity"], "%s was asked %v", id, by)
	}
}

// register sends the captured registration of a player, and returns the assigned id.
func (w *world) register(s entrant) string {
	w.t.Helper()
	all := captured(w.t, s.capture)
	e := all[slices.IndexFunc(all, func(e *exchange) bool { return portOf(contact(e.Request)) == s.port })]
	_, answer := w.post(w.life, at(managerPort), e.Request)
	require.Equal(w.t, protocol.StatusAccepted, text(answer, "result", "status"), "%s: %s", e, written(answer))
	return text(answer, "result", "player_id")
}
