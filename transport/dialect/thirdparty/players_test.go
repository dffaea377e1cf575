package thirdparty

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/inspect/audit"
	league "evenodd/league/manager"
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

// The leagues of captured players: one of each capture, and a mixed one. A capture with two
// players replays each of them at two ports.
func leaguesOfThirdParties() map[string][]entrant {
	return map[string][]entrant{
		"maker-a": {{"maker-a", 8101}, {"maker-a", 8104}, {"maker-a", 8102}, {"maker-a", 8103}},
		"maker-b": {{"maker-b", 8101}, {"maker-b", 8102}, {"maker-b", 8103}, {"maker-b", 8104}},
		"maker-c": {{"maker-c", 8102}, {"maker-c", 8104}, {"maker-c", 8103}, {"maker-c", 8101}},
		"maker-d": {{"maker-d", 8103}, {"maker-d", 8101}, {"maker-d", 8102}, {"maker-d", 8104}},
		"maker-e": {{"maker-e", 8100}, {"maker-e", 8102}, {"maker-e", 8103}, {"maker-e", 8104}},
		"all of them and ours": {
			{"maker-a", 8101}, {"maker-b", 8102}, {"maker-c", 8103}, {"maker-d", 8104}, {"maker-e", 8100}, {"", 8105},
		},
	}
}

// A league with our manager and our referee completes with captured players. It has no
// technical losses, and the audit of its files has no findings.
func TestLeagueOfThirdPartyPlayersHasNoTechnicalLosses(t *testing.T) {
	for name, entrants := range leaguesOfThirdParties() {
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
	assert.True(t, report.OK)
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
		r := w.replay(s.capture, captured(w.t, s.capture), playedAt(w.t, s), s.port)
		thirdParties[w.register(s)] = r
	}
	await(w, m.over)
	require.NoError(w.t, m.failed)
	standings := m.Standings()
	require.Len(w.t, standings, len(entrants))
	for _, row := range standings {
		assert.Equal(w.t, len(entrants)-1, row.Played, "%s", row.PlayerID)
		assert.Zero(w.t, row.TechnicalLosses, "%s of %d", row.PlayerID, row.Played)
	}
	for id, r := range thirdParties {
		// The tries until it is understood come once for each question and notice,
		// not in every match. It may reject four notices of the manager in all forms.
		assert.LessOrEqual(w.t, r.asked(), 4*mostForms+20+5*(len(entrants)-1), "%s was asked %v", id, r.heard())
		assert.Equal(w.t, len(entrants)-1, r.asked("choose_parity"), "%s was asked %v", id, r.heard())
	}
}

// playedAt is the port of a player of the capture that played a match.
func playedAt(t *testing.T, s entrant) int {
	t.Helper()
	all := captured(t, s.capture)
	var others []int
	for _, e := range all {
		switch {
		case e.method() != "choose_parity":
		case e.Port == s.port:
			return s.port
		default:
			others = append(others, e.Port)
		}
	}
	require.NotEmpty(t, others)
	return others[s.port%len(others)]
}

// register sends the captured registration of a player, and returns the assigned id.
func (w *world) register(s entrant) string {
	w.t.Helper()
	for _, e := range captured(w.t, s.capture) {
		if portOf(contact(e.Request)) != s.port || e.method() != protocol.RegisterPlayer.Name {
			continue
		}
		_, answer := w.post(w.life, at(managerPort), e.Request)
		require.Equal(w.t, protocol.StatusAccepted, text(answer, "result", "status"), "%s: %s", e, written(answer))
		return text(answer, "result", "player_id")
	}
	require.FailNow(w.t, "no such player was captured", "%s at %d", s.capture, s.port)
	return ""
}

// Each captured reply to a question counts under the built-in settings, in the form that its
// program uses: the match has no GAME_ERROR. None of them counts with strict replies.
func TestEachCapturedReplyCountsUnderTheBuiltInSettings(t *testing.T) {
	builtIn, err := config.NewLoader("", config.Known{}).League(leagueID)
	require.NoError(t, err)
	questions := []string{"handle_game_invitation", "game_invitation", "choose_parity"}
	replies := 0
	for _, m := range captures {
		all := captured(t, m.name)
		for _, e := range all {
			if !slices.Contains(questions, e.method()) {
				continue
			}
			replies++
			for _, strict := range []bool{builtIn.Replies == config.RepliesStrict, true} {
				t.Run(fmt.Sprintf("%s strict %v", e, strict), func(t *testing.T) {
					inAWorld(t, func(w *world) { w.playReply(all, e, strict, builtIn.Auth == config.AuthLenient) })
				})
			}
		}
	}
	assert.Equal(t, 48, replies)
}

// playReply plays a match in which a captured player has only one reply to a question.
func (w *world) playReply(all []*exchange, e *exchange, strict, lenient bool) {
	w.t.Helper()
	only := slices.DeleteFunc(slices.Clone(all), func(x *exchange) bool { return x != e && x.method() == e.method() && x.Port == e.Port })
	m := w.manager(2, 1, func(o *league.Options) { o.StrictReplies, o.LenientAuth = strict, lenient })
	require.NoError(w.t, w.referee(refereePort).Register(w.life))
	require.NoError(w.t, w.player(8190).Register(w.life))
	s := entrant{e.capture, registeredAt(w.t, e)}
	r := w.replay(e.capture, only, e.Port, s.port)
	w.register(s)
	await(w, m.over)
	require.NoError(w.t, m.failed)
	lost := m.Results()[0].Status == protocol.StatusTechnicalLoss
	assert.Equal(w.t, strict, lost)
	assert.Equal(w.t, strict, r.asked(protocol.NotifyGameError.Name) > 0, "%v", r.heard())
}

// registeredAt is the port of a captured registration of a player: that of the exchange, or any.
func registeredAt(t *testing.T, e *exchange) (port int) {
	t.Helper()
	for _, x := range captured(t, e.capture) {
		if x.method() == protocol.RegisterPlayer.Name {
			if port = portOf(contact(x.Request)); port == e.Port {
				return port
			}
		}
	}
	require.NotZero(t, port)
	return port
}

// Some players register before they listen.
func TestPlayerMayRegisterBeforeItListens(t *testing.T) {
	inAWorld(t, func(w *world) {
		m := w.manager(2, 1)
		require.NoError(t, w.referee(refereePort).Register(w.life))
		require.NoError(t, w.player(8101).Register(w.life))
		s := entrant{"maker-d", 8102}
		w.running.Go(func() {
			time.Sleep(2 * time.Second)
			w.replay(s.capture, captured(t, s.capture), s.port, s.port)
		})
		began := time.Now()
		w.register(s)
		assert.Zero(t, time.Since(began), "the response comes at once")
		await(w, m.over)
		require.NoError(t, m.failed)
		for _, row := range m.Standings() {
			assert.Zero(t, row.TechnicalLosses, "%s", row.PlayerID)
		}
	})
}
