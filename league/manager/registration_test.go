package manager_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules/evenodd"
)

func TestIDsAreAssignedInOrderOfRegistration(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		for i := 1; i <= 3; i++ {
			p := w.Player(fmt.Sprintf("Somebody%d", i), leaguetest.WithoutID)
			assert.Equal(t, protocol.PlayerID(i), p.Player.ID())
			assert.Equal(t, protocol.PlayerSender(p.Player.ID()), p.Player.Stamp().Sender())
			r := w.Referee(fmt.Sprintf("Whistle%d", i), leaguetest.WithoutID)
			assert.Equal(t, protocol.RefereeID(i), r.Referee.ID())
		}
		assert.Equal(t, 3, w.Manager.Status().Players)
		assert.Equal(t, 3, w.Manager.Status().Referees)
	})
}

func TestAcceptedRegistrationHasIDAndToken(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		r, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
		assert.Equal(t, "P01", *r.PlayerID)
		assert.Equal(t, leaguetest.LeagueID, r.LeagueID)
		assert.Equal(t, w.Token("P01"), r.AuthToken)
		assert.Equal(t, protocol.ManagerAuthBearer, r.ManagerAuth)
		assert.Nil(t, r.Reason)
		assert.Empty(t, r.ErrorCode)
		assert.Equal(t, q.ConversationID, r.ConversationID)
		assert.Equal(t, protocol.ManagerSender, r.Sender)

		w.PingOnly("whistle")
		ref, err := w.ApplyReferee(w.RefereeApplication("Whistle"))
		require.NoError(t, err)
		assert.Equal(t, "REF01", *ref.RefereeID)
		assert.Equal(t, w.Token("REF01"), ref.AuthToken)
	})
}

func TestRequestedIDIsGrantedIfFree(t *testing.T) {
	for _, test := range []struct{ name, wanted, got string }{
		{"a free id is granted", "P07", "P07"},
		{"ids beyond 100 are granted", "P100", "P100"},
		{"a taken id is not granted", "P02", "P01"},
		{"an id with too few digits is not granted", "P7", "P01"},
		{"an id with too many digits is not granted", "P007", "P01"},
		{"zero is not granted", "P00", "P01"},
		{"a referee id is not granted", "REF07", "P01"},
		{"an id in lower case is not granted", "p07", "P01"},
		{"a name is not granted", "alpha", "P01"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				w.Player("P02")
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				q.Sender = "player:" + test.wanted
				r, err := w.Apply(q)
				require.NoError(t, err)
				require.Equal(t, protocol.StatusAccepted, r.Status)
				assert.Equal(t, test.got, *r.PlayerID)
			})
		})
	}
}

func TestInvalidRegistrationIsRejected(t *testing.T) {
	version := func(v string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ProtocolVersion = v }
	}
	contact := func(url string) func(*protocol.PlayerMeta) {
		return func(m *protocol.PlayerMeta) { m.ContactEndpoint = url }
	}
	for _, test := range []struct {
		name   string
		before func(*leaguetest.World)
		change func(*protocol.PlayerMeta)
		code   protocol.Code // "" for accepted
	}{
		{name: "valid: accepted"},
		{name: "version 1.9.9", change: version("1.9.9"), code: protocol.ErrProtocolVersion},
		{name: "version 2.2.0", change: version("2.2.0"), code: protocol.ErrProtocolVersion},
		{name: "version 3.0.0", change: version("3.0.0"), code: protocol.ErrProtocolVersion},
		{name: "version 2.0.0: accepted", change: version("2.0.0")},
		{name: "version 2.0.9: accepted", change: version("2.0.9")},
		{name: "no version: accepted", change: version("")},
		{name: "another game", change: func(m *protocol.PlayerMeta) { m.GameTypes = []string{"chess", "go"} }, code: protocol.ErrUnsupportedGame},
		{name: "more games: accepted", change: func(m *protocol.PlayerMeta) { m.GameTypes = []string{"chess", evenodd.Type} }},
		{name: "a taken name", change: func(m *protocol.PlayerMeta) { m.DisplayName = "Agent P01" }, code: protocol.ErrDuplicateName},
		{
			name: "too late, while the league runs", code: protocol.ErrLateRegistration,
			before: func(w *leaguetest.World) {
				w.Referee("REF01")
				evenPlayers(w, 2)
				w.StartLeague()
			},
		},
		{
			name: "too late, when the league is over", code: protocol.ErrLateRegistration,
			before: func(w *leaguetest.World) {
				w.Referee("REF01")
				w.Players(2)
				w.StartLeague()
			},
		},
		{name: "a full league", before: func(w *leaguetest.World) { w.Players(4) }, code: protocol.ErrLeagueFull},
		{name: "an endpoint that does not listen yet: accepted", change: contact(leaguetest.EndpointOf("nowhere"))},
		{name: "a taken endpoint", change: contact("HTTP://P01:8000/mcp/?x=1"), code: protocol.ErrInvalidEndpoint},
		{name: "no URL", change: contact("alpha"), code: protocol.ErrInvalidEndpoint},
		{name: "no scheme", change: contact("//alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "no host", change: contact("http:///mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "no scheme and no path", change: contact("localhost:8101"), code: protocol.ErrInvalidEndpoint},
		{name: "no host but a port", change: contact("http://:8101/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "an IPv6 zone", change: contact("http://[fe80::1%25eth0]/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "port 0", change: contact("http://localhost:0/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "port 65536", change: contact("http://localhost:65536/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "another scheme", change: contact("ftp://alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{name: "a password", change: contact("http://me:secret@alpha:8000/mcp"), code: protocol.ErrInvalidEndpoint},
		{
			name: "an endpoint without ping: accepted",
			before: func(w *leaguetest.World) {
				a := leaguetest.NewAgent("other", []leaguetest.Option{leaguetest.On("something_else", leaguetest.Silent)})
				w.Open(a, w.ScriptMux(a.Script))
			},
			change: contact(leaguetest.EndpointOf("other")),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1, func(o *league.Options) { o.MaxPlayers = 4 })
				if test.before != nil {
					test.before(w)
				} else {
					w.Player("P01")
				}
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				if test.change != nil {
					test.change(&q.PlayerMeta)
				}
				before := w.Manager.Status().Players
				r, err := w.Apply(q)
				require.NoError(t, err)
				assert.Zero(t, w.Now().Round(leaguetest.Second), "without a delay")
				if test.code == "" {
					assert.Equal(t, protocol.StatusAccepted, r.Status)
					return
				}
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Nil(t, r.PlayerID)
				assert.Empty(t, r.AuthToken)
				assert.Empty(t, r.ManagerAuth)
				require.NotNil(t, r.Reason)
				assert.NotEmpty(t, *r.Reason)
				assert.Equal(t, string(test.code), r.ErrorCode)
				assert.Equal(t, test.code.Name(), r.ErrorName)
				assert.Equal(t, before, w.Manager.Status().Players)
				calls := w.Calls(protocol.RegisterPlayer.Name)
				assert.Contains(t, string(calls[len(calls)-1].Answer), `"player_id":null`)
			})
		})
	}
}

func TestInvalidRefereeRegistrationIsRejected(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.RefereeRegisterRequest)
		code   protocol.Code
	}{
		{"version", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.ProtocolVersion = "1.0.0" }, protocol.ErrProtocolVersion},
		{"game", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.GameTypes = []string{"chess"} }, protocol.ErrUnsupportedGame},
		{"endpoint", func(q *protocol.RefereeRegisterRequest) { q.RefereeMeta.ContactEndpoint = "nowhere" }, protocol.ErrInvalidEndpoint},
		{"full", nil, protocol.ErrLeagueFull},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				most := 2
				if test.change == nil {
					most = 1
				}
				w.StartManager(0, 1, func(o *league.Options) { o.MaxReferees = most })
				w.Referee("REF01")
				w.PingOnly("whistle")
				q := w.RefereeApplication("Whistle")
				if test.change != nil {
					test.change(q)
				}
				r, err := w.ApplyReferee(q)
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Nil(t, r.RefereeID)
				assert.Empty(t, r.AuthToken)
				assert.Equal(t, string(test.code), r.ErrorCode)
				assert.Equal(t, 1, w.Manager.Status().Referees)
			})
		})
	}
}

func TestEqualNamesAreAcceptedWithSameNames(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1, func(o *league.Options) { o.SameNames = true })
		w.Referee("REF01", leaguetest.WithName("Twin"))
		w.Player("P01", leaguetest.WithName("Twin"))
		w.Player("P02", leaguetest.WithName("Twin"))
		assert.Equal(t, "Twin", w.Finish().Champion.DisplayName)
	})
}

func TestMalformedRegistrationIsAnError(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*protocol.LeagueRegisterRequest)
		code   protocol.Code
		rpc    int
		field  string
	}{
		{"another protocol", func(q *protocol.LeagueRegisterRequest) { q.Protocol = "league.v1" }, protocol.ErrProtocolVersion, 18, "protocol"},
		{"no name", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "" }, protocol.ErrMissingField, -32602, "player_meta.display_name"},
		{"no conversation", func(q *protocol.LeagueRegisterRequest) { q.ConversationID = "" }, protocol.ErrMissingField, -32602, "conversation_id"},
		{"no games", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.GameTypes = nil }, protocol.ErrMissingField, -32602, "player_meta.game_types"},
		{"a local time", func(q *protocol.LeagueRegisterRequest) { q.Timestamp = "2000-01-01T00:00:00" }, protocol.ErrInvalidTimestamp, 21, "timestamp"},
		{"a name of 51 characters", func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = strings.Repeat("é", 51) }, protocol.ErrInvalidFieldType, -32602, "player_meta.display_name"},
		{"a sender without a role", func(q *protocol.LeagueRegisterRequest) { q.Sender = "alpha" }, protocol.ErrInvalidFieldType, -32602, "sender"},
		{"wrong protocol and missing field: wrong protocol", func(q *protocol.LeagueRegisterRequest) {
			q.Protocol, q.ConversationID = "league.v1", ""
		}, protocol.ErrProtocolVersion, 18, "conversation_id"},
		{"missing field and invalid time: missing field", func(q *protocol.LeagueRegisterRequest) {
			q.Timestamp, q.ConversationID = "now", ""
		}, protocol.ErrMissingField, -32602, "timestamp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				test.change(q)
				_, err := w.Apply(q)
				leaguetest.AssertRefused(t, err, test.code, test.rpc)
				assert.Contains(t, fmt.Sprint(protocol.AsError(err).Context["fields"]), test.field, "the error lists all defective fields")
				assert.Zero(t, w.Manager.Status().Players)
			})
		})
	}
}

func TestRefereeCapacityIsAtMostTen(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.PingOnly("whistle")
		q := w.RefereeApplication("Whistle")
		q.RefereeMeta.MaxConcurrentMatches = 11
		_, err := w.ApplyReferee(q)
		leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
		q.RefereeMeta.MaxConcurrentMatches = 10
		r, err := w.ApplyReferee(q)
		require.NoError(t, err)
		assert.Equal(t, protocol.StatusAccepted, r.Status)
	})
}

// A display name is printed on terminals, so it must not contain control characters, and readers
// must see all of it.
func TestDisplayNameWithControlCharactersIsRejected(t *testing.T) {
	for _, name := range []string{"a\nb", "a\x1b[31mb", "a\u202eb", "a\x7fb", "a\u0085b", "a\u200bb", "a\ufeffb", "a\u00adb", "a\U000e0041b", "\u3164", " "} {
		t.Run(strconv.Quote(name), func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(0, 1)
				w.PingOnly("alpha")
				q := w.Application("Alpha")
				q.PlayerMeta.DisplayName = name
				_, err := w.Apply(q)
				leaguetest.AssertRefused(t, err, protocol.ErrInvalidFieldType, -32602)
			})
		})
	}
}

// A name that readers may take for one that is registered is refused, and the response says why.
func TestDisplayNameThatLooksLikeAnotherIsRefused(t *testing.T) {
	for _, name := range []string{"agent p01", "ＡＧＥＮＴ Ｐ０１", "Agent\u00a0P01", "𝐀gent P01"} {
		t.Run(name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(3, 1)
				w.Player("P01")
				synctest.Wait() // the player has answered the manager's ping
				q := w.Application("Beta")
				q.PlayerMeta.DisplayName = name
				w.PingOnly("beta")
				r, err := w.Apply(q)
				require.NoError(t, err)
				assert.Equal(t, protocol.StatusRejected, r.Status)
				assert.Equal(t, string(protocol.ErrDuplicateName), r.ErrorCode)
				assert.Contains(t, *r.Reason, `looks like "Agent P01", which is taken: choose another`)
				for _, other := range []string{"Agent P01!", "Ägent P01", "می\u200cخواهم", "\U0001F469\u200d\U0001F4BB", "<b>P01</b>", "=1+1"} {
					q.PlayerMeta.DisplayName = other
					q.ConversationID = "conv-" + strconv.Itoa(len(other))
					if r, err = w.Apply(q); assert.NoError(t, err, other) && r.Status != protocol.StatusAccepted {
						assert.NotEqual(t, string(protocol.ErrDuplicateName), r.ErrorCode, other)
						assert.NotContains(t, *r.Reason, "display_name", other)
					}
				}
			})
		})
	}
}

var prevOf = regexp.MustCompile(`^(\{"seq":\d+,"at":"[^"]*"),"prev":"[0-9a-f]{64}"`)

// rechained returns the lines of a journal with a valid hash chain.
func rechained(text []byte) []byte {
	var all []byte
	prev := journal.Origin
	for line := range bytes.Lines(text) {
		line = prevOf.ReplaceAll(line, []byte(`$1,"prev":"`+prev+`"`))
		prev = journal.Hash(bytes.TrimSuffix(line, []byte("\n")))
		all = append(all, line...)
	}
	return all
}

// The journal of an earlier version may have names that this version refuses. The league is resumed
// with them.
func TestLeagueWithNamesThatAreNowRefusedIsResumed(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 3, 1)
		w.Player("P01")
		w.Player("P02")
		synctest.Wait()
		x.Kill()
		path := folder.Journal(leaguetest.LeagueID)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		text = bytes.ReplaceAll(text, []byte("Agent P01"), []byte("Ag\u200bent\u202e P02")) // it looks like P02
		require.NoError(t, os.WriteFile(path, rechained(text), 0o600))
		x = w.StartManagerIn(folder, 3, 1)
		assert.Equal(t, 2, x.Manager.Status().Players)
	})
}
