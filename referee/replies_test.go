package referee_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/rules/tictactoe"
)

// A deviation is one change to a reply of a player. A nil value removes the member.
type deviation struct {
	method, member string
	value          any
}

func (d deviation) String() string {
	value := "missing"
	if d.value != nil {
		value = string(leaguetest.Encode(d.value))
	}
	return fmt.Sprintf("%s %s %s", d.method, d.member, value)
}

// replyMethods are the questions of a referee, with the message type of their replies.
var replyMethods = map[string]string{
	protocol.Invite.Name: protocol.TypeGameJoinAck, protocol.ChooseParity.Name: protocol.TypeChooseParityResponse,
	protocol.MakeMove.Name: protocol.TypeGameMoveResponse,
}

// inEachReply changes a member in the replies to all questions.
func inEachReply(member string, values ...any) (list []deviation) {
	for method := range replyMethods {
		list = append(list, in(method, member, values...)...)
	}
	return list
}

func in(method, member string, values ...any) (list []deviation) {
	for _, value := range values {
		list = append(list, deviation{method, member, value})
	}
	return list
}

// missing removes a member of each reply, and sets it to null.
func missing(members ...string) (list []deviation) {
	for _, member := range members {
		list = append(list, inEachReply(member, nil, leaguetest.Null())...)
	}
	return list
}

const otherToken = "uLdPMl1ABGYeNG6r40vp7imDtxaeXLuYWTcV5wfGvOQ"

// deviationsOf are the changes that the rows of the table in docs/protocol.md are about.
func deviationsOf() map[string][]deviation {
	join, parity, move := protocol.Invite.Name, protocol.ChooseParity.Name, protocol.MakeMove.Name
	marked := func(choice any) map[string]any {
		return map[string]any{"move_type": tictactoe.MoveType, "choice": choice}
	}
	return map[string][]deviation{
		`a member of the envelope, or one that is required "in strict", is missing or null`: slices.Concat(
			missing("protocol", "message_type", "sender", "timestamp", "conversation_id", "match_id", "player_id"),
			in(join, "arrival_timestamp", nil, leaguetest.Null()), in(move, "game_type", nil, leaguetest.Null()),
			in(move, "move_data", map[string]any{"choice": "8"})),
		"`protocol` is not `league.v2`": inEachReply("protocol", "league.v1", 2),
		"`timestamp` or `arrival_timestamp` is not a UTC time": slices.Concat(
			inEachReply("timestamp", "2000-01-01T02:00:00", "2000-01-01T02:00:00+02:00", "now", 7),
			in(join, "arrival_timestamp", "2000-01-01T02:00:00")),
		"`sender`, `player_id` or `conversation_id` is another": slices.Concat(
			inEachReply("sender", "player:P01", "P02", "league_manager"),
			inEachReply("player_id", "P01"), inEachReply("conversation_id", "conv-other")),
		"another member has the wrong type": slices.Concat(
			inEachReply("sender", 7), inEachReply("message_type", true), inEachReply("player_id", []string{"P02"}),
			in(parity, "fallback", "yes"), in(move, "game_type", 1)),
		"`auth_token` is missing or `none`, but the question had one": slices.Concat(
			missing("auth_token"), inEachReply("auth_token", protocol.NoToken)),
		"`auth_token` is another than that of the question":                   inEachReply("auth_token", otherToken, "tok-p02-its-own"),
		"`message_type` is that of another message":                           inEachReply("message_type", protocol.TypeGameOver, protocol.TypeLeagueQuery),
		"`message_type` is none of the protocol":                              inEachReply("message_type", "nonsense"),
		"`match_id` has the wrong type":                                       inEachReply("match_id", 1),
		"`match_id` is another":                                               inEachReply("match_id", "R9M9"),
		"`accept` is missing or null":                                         in(join, "accept", nil, leaguetest.Null()),
		"`accept` has the wrong type":                                         in(join, "accept", "yes", 1),
		"`parity_choice` is missing, null, another word or of the wrong type": in(parity, "parity_choice", nil, leaguetest.Null(), "Even", "", 2, []string{"even"}),
		"`move_data` is missing, null, of the wrong type or without a legal `choice`": in(move, "move_data",
			nil, leaguetest.Null(), "8", marked("9"), marked(nil), marked(8), map[string]any{"move_type": tictactoe.MoveType}),
		"a member that this page does not have": slices.Concat(
			inEachReply("colour", "red"), inEachReply("_note", leaguetest.Null())),
	}
}

// settings are values of replies and auth in a league's file.
type settings struct{ replies, auth string }

func (s settings) in(o *manager.Options) {
	o.Replies, o.Auth = s.replies, map[bool]string{true: s.auth}[s.auth == protocol.AuthLenient]
}

var allSettings = []settings{
	{"by_meaning", "strict"}, {"by_meaning", protocol.AuthLenient},
	{protocol.RepliesStrict, "strict"}, {protocol.RepliesStrict, protocol.AuthLenient},
}

// counts is the judgement of a reply that is accepted.
const counts = "counts"

// judge plays a match whose second player deviates once. Check gets "counts", or the code of the
// GAME_ERROR. After an error the referee must ask again, and accept the correct reply.
func judge(t *testing.T, s settings, d deviation, check func(t *testing.T, verdict string)) {
	t.Helper()
	leaguetest.RunInMemory(t, fmt.Sprintf("%v %v", s, d), func(t *testing.T, w *leaguetest.World) {
		if d.method == protocol.MakeMove.Name {
			w.Game = tictactoe.Game{}
		}
		// A player that commits to entropy, or has a key, must send more.
		join := leaguetest.EditAnswer("entropy_commitment", nil)
		script := map[string]leaguetest.Reply{protocol.Invite.Name: join}
		correct := leaguetest.Normally
		if d.method == protocol.Invite.Name {
			correct = join
		}
		script[d.method] = leaguetest.InTurn(leaguetest.ThenEdit(correct, d.member, d.value), correct)
		w.StartManager(2, 1, s.in)
		w.Referee("REF01")
		w.Player("P01", leaguetest.WithoutKey)
		w.Player("P02", leaguetest.WithoutKey, func(a *leaguetest.Agent) { maps.Copy(a.Script, script) })
		w.Finish()
		assert.NotEqual(t, league.StatusTechnicalLoss, leaguetest.Results(w.Manager)[0].Status, "the correct reply counts")
		verdict := counts
		if errors := w.GameErrors(); len(errors) > 0 {
			require.Len(t, errors, 1)
			assert.Equal(t, "p02", errors[0].To)
			assert.True(t, errors[0].Retryable)
			verdict = string(errors[0].Code)
		}
		check(t, verdict)
	})
}

// expect is the check of judge for one verdict.
func expect(want string) func(*testing.T, string) {
	return func(t *testing.T, verdict string) { assert.Equal(t, want, verdict) }
}

// section returns the text of a section of docs/protocol.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n### "+heading+"\n")
	require.True(t, found, heading)
	text, _, _ = strings.Cut(text, "\n### ")
	return text
}

// Each setting of replies and auth judges each deviation as docs/protocol.md says.
func TestDeviatingRepliesAreJudgedAsTheProtocolPageSays(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (.+?) \| (counts|E\d{3}) \| (counts|E\d{3}) \|$`).FindAllStringSubmatch(section(t, "Replies of players"), -1)
	all := deviationsOf()
	assert.Len(t, rows, len(all))
	for _, row := range rows {
		deviations := all[row[1]]
		if !assert.NotEmpty(t, deviations, "the test does not know the row %q", row[1]) {
			continue
		}
		for _, s := range allSettings {
			want := row[2]
			if s.replies == protocol.RepliesStrict {
				want = row[3]
			}
			for _, d := range deviations {
				judge(t, s, d, expect(want))
			}
		}
	}
}

// The column "required" of the replies in docs/protocol.md is what referees demand.
func TestRequiredMembersOfRepliesAreThoseOfTheProtocolPage(t *testing.T) {
	seen := map[string]int{}
	for method, messageType := range replyMethods {
		text := section(t, messageType)
		for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\| [^|]+ \\| ([^|]+) \\|").FindAllStringSubmatch(text, -1) {
			member, required := row[1], strings.TrimSuffix(strings.TrimPrefix(row[2], "["), "](#replies-of-players)")
			seen[required]++
			for _, s := range allSettings {
				d := deviation{method: method, member: member}
				if inside, ok := strings.CutPrefix(member, "move_data."); ok {
					data := map[string]any{"move_type": tictactoe.MoveType, "choice": "8"}
					delete(data, inside)
					d.member, d.value = "move_data", data
				}
				check := func(t *testing.T, verdict string) { assert.NotEqual(t, counts, verdict) }
				switch {
				case required == "no", required == "in strict" && s.replies == "by_meaning":
					check = expect(counts)
				case required == "in strict":
					check = expect(string(protocol.ErrMissingField))
				default:
					assert.Equal(t, "yes", required)
				}
				judge(t, s, d, check)
			}
		}
	}
	assert.Equal(t, map[string]int{"yes": 4, "in strict": 9, "no": 7}, seen)
}

// A third-party manager gives no access tokens: its questions have none, and strict replies need none.
func TestStrictRepliesNeedNoTokenWithoutAccessTokens(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		m := w.ScriptedManager()
		r := w.Referee("REF01")
		for _, id := range []string{"P01", "P02"} {
			p := w.Player(id, leaguetest.On(protocol.Invite.Name, leaguetest.EditAnswer("auth_token", nil)),
				leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("auth_token", nil)))
			w.Announce(p, 1, protocol.RefereeAuthNone)
		}
		q := w.Assignment("R1M1", 1, "REF01")
		q.Replies, q.PlayerA.AccessToken, q.PlayerB.AccessToken = protocol.RepliesStrict, "", ""
		_, err := w.Assign(m, r, q)
		require.NoError(t, err)
		w.WaitUntil(leaguetest.Second)
		assert.Empty(t, w.GameErrors())
		w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost)
	})
}
