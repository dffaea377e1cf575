package leaguetest_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// chapterFour has the paths of the members of each message that chapter 4 of the specification shows, by type.
func chapterFour(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../../testdata/messages/003-4.*.json")
	require.NoError(t, err)
	shown := map[string][]string{}
	for _, path := range files {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		head := leaguetest.Decode[protocol.Envelope](raw)
		if strings.Contains(head.MessageType, "REGISTER") {
			continue // registrations stay as they are
		}
		// chapter 2 demands the envelope of each message
		envelope := []string{"protocol", "message_type", "sender", "timestamp", "conversation_id"}
		paths := append(envelope, pathsOf(t, "", raw)...)
		slices.Sort(paths)
		shown[head.MessageType] = slices.Compact(paths)
	}
	require.Len(t, shown, 14)
	return shown
}

// pathsOf are the paths of the members of a value, sorted. Ids of players are *, and data that depend on the query
// or the error have no members.
func pathsOf(t *testing.T, at string, raw jsontext.Value) []string {
	t.Helper()
	paths := map[string]bool{}
	switch raw.Kind() {
	case '{':
		for _, m := range protocol.ParseObject(raw) {
			name := m.Name
			if strings.HasPrefix(name, "P0") {
				name = "*"
			}
			path := strings.TrimPrefix(at+"."+name, ".")
			paths[path] = true
			if path != "data" && path != "query_params" && path != "context" || strings.Contains(string(m.Value), "opponent_id") &&
				path == "context" {
				for _, inner := range pathsOf(t, path, m.Value) {
					paths[inner] = true
				}
			}
		}
	case '[':
		var items []jsontext.Value
		require.NoError(t, json.Unmarshal(raw, &items))
		for _, item := range items {
			for _, inner := range pathsOf(t, at+"[]", item) {
				paths[inner] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

func TestPlainMessagesHaveTheMembersOfChapterFourAlone(t *testing.T) {
	shown := chapterFour(t)
	authenticate := map[string]string{
		"auth_token": "", "matches[].referee_auth": protocol.TypeRoundAnnouncement,
	}
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1, func(o *manager.Options) {
			o.Members, o.Signatures = protocol.MembersPlain, journal.SignaturesOptional
		})
		w.Referee("REF01")
		wrong := leaguetest.FirstN(1, leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally)
		for _, id := range []string{"P01", "P02", "P03", "P04"} {
			w.Player(id, leaguetest.On(protocol.ChooseParity.Name, wrong))
		}
		w.StartLeague()
		end := w.Finish()
		require.Equal(t, 6, end.TotalMatches)
		query := &protocol.LeagueQuery{
			Envelope: protocol.NewStamp(protocol.PlayerSender("P01"), w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-1"),
			LeagueID: leaguetest.LeagueID, QueryType: protocol.QueryStandings,
		}
		query.AuthToken = w.Token("P01")
		r, err := protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), query)
		require.NoError(t, err)
		assert.NotNil(t, r.Data)
		query.AuthToken = "tok-p01-guessed"
		_, err = protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), query)
		require.Error(t, err)

		seen := map[string][]string{}
		check := func(raw jsontext.Value) {
			name := leaguetest.Decode[protocol.Envelope](raw).MessageType
			if shown[name] == nil {
				return
			}
			got := slices.DeleteFunc(pathsOf(t, "", raw), func(path string) bool {
				of, is := authenticate[path]
				return is && (of == "" || of == name)
			})
			for _, path := range got {
				assert.Contains(t, shown[name], path, "%s: %s", name, raw)
			}
			seen[name] = append(seen[name], got...)
		}
		for _, e := range w.Recorder.All(func(*leaguetest.Exchange) bool { return true }) {
			check(e.Message)
			if e.Err != nil {
				if remote, encoded := errors.AsType[*transport.Error](e.Err); encoded {
					check(leaguetest.Encode(remote.Data))
				} else if _, _, data := e.ProtocolError().RPCError(); data != nil { // of the memory
					check(leaguetest.Encode(data))
				}
				continue
			}
			check(e.Answer)
		}
		for name, paths := range shown {
			for _, path := range paths {
				if path != "query_params" && path != "auth_token" { // of a query that needs none; of the sender
					assert.Contains(t, seen[name], path, name)
				}
			}
		}
	})
}

func TestPlainLeagueKeepsAttemptsInConversationsAlone(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, func(o *manager.Options) { o.Members = protocol.MembersPlain })
		busy := leaguetest.FirstN(1, leaguetest.RefuseWith(protocol.ErrInvalidMatchState), leaguetest.Normally)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, busy))
		w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, busy))
		w.Player("P01")
		w.Player("P02")
		w.Finish()
		for _, host := range []string{"p01", "p02"} {
			invited := w.Calls(protocol.Invite.Name, host)
			require.NotEmpty(t, invited)
			last := leaguetest.Decode[protocol.GameInvitation](invited[len(invited)-1].Message)
			assert.Positive(t, protocol.ConversationAttempt(last.MatchID, last.ConversationID))
			assert.Zero(t, last.Attempt)
			assert.Equal(t, last.ConversationID, leaguetest.Decode[protocol.GameJoinAck](invited[len(invited)-1].Answer).ConversationID)
		}
		results := leaguetest.Results(w.Manager)
		require.Len(t, results, 1)
		assert.NotEmpty(t, results[0].Status)
	})
}
