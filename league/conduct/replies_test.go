package conduct_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conduct"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules"
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
		value = string(encoded(d.value))
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
		list = append(list, inEachReply(member, nil, null)...)
	}
	return list
}

const otherToken = "uLdPMl1ABGYeNG6r40vp7imDtxaeXLuYWTcV5wfGvOQ"

// null is the value of a member that is there.
var null = jsontext.Value("null")

// deviationsOf are the changes that the rows of the table in docs/protocol.md are about.
func deviationsOf() map[string][]deviation {
	join, parity, move := protocol.Invite.Name, protocol.ChooseParity.Name, protocol.MakeMove.Name
	marked := func(choice any) map[string]any {
		return map[string]any{"move_type": tictactoe.MoveType, "choice": choice}
	}
	return map[string][]deviation{
		`a member of the envelope, or one that is required "in strict", is missing or null`: slices.Concat(
			missing("protocol", "message_type", "sender", "timestamp", "conversation_id", "match_id", "player_id"),
			in(join, "arrival_timestamp", nil, null), in(move, "game_type", nil, null),
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
		"`accept` is missing or null":                                         in(join, "accept", nil, null),
		"`accept` has the wrong type":                                         in(join, "accept", "yes", 1),
		"`parity_choice` is missing, null, another word or of the wrong type": in(parity, "parity_choice", nil, null, "Even", "", 2, []string{"even"}),
		"`move_data` is missing, null, of the wrong type or without a legal `choice`": in(move, "move_data",
			nil, null, "8", marked("9"), marked(nil), marked(8), map[string]any{"move_type": tictactoe.MoveType}),
		"a member that this page does not have": slices.Concat(
			inEachReply("colour", "red"), inEachReply("_note", null)),
	}
}

// edited sets a member of a message; nil removes it.
func edited(t *testing.T, message any, member string, value any) []byte {
	t.Helper()
	members := map[string]jsontext.Value{}
	require.NoError(t, json.Unmarshal(encoded(message), &members))
	if value == nil {
		delete(members, member)
	} else {
		members[member] = encoded(value)
	}
	return encoded(members)
}

func encoded(value any) jsontext.Value {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values of these tests can be encoded
	}
	return raw
}

// read reads a reply to a question of a conversation, as a referee does.
func read[Q, R any](t *testing.T, method protocol.Method[Q, R], raw []byte, conversation string) *conduct.Reply {
	t.Helper()
	message, err := method.Recorded(raw)
	require.NoError(t, err)
	r := conduct.ReplyOf(message)
	to := protocol.ReplyTo{ConversationID: conversation, PlayerID: "P02", AccessToken: "b"}
	r.Breach = method.ReplyBreach(message, to)
	return r
}

// counts is the judgement of a reply that is accepted.
const counts = "counts"

// judge plays a match until the second player deviates, and returns "counts", or the code of the failure. After a
// failure the player must be asked again, and the correct reply must count.
func judge(t *testing.T, replies string, d deviation) string {
	t.Helper()
	s, values := new(script), map[string]string{}
	if d.method == protocol.MakeMove.Name {
		values["game"] = tictactoe.Type
	}
	s.begin(t, values, lists.Filter([]string{replies}, func(flag string) bool { return flag == protocol.RepliesStrict }))
	yes, of, legal := true, rules.SideB, "even"
	s.match.Next()
	if d.method != protocol.Invite.Name {
		for side := range rules.Side(2) {
			s.judge(side, &conduct.Attempt{Reply: &conduct.Reply{Accept: &yes}}, false) // a player that commits to entropy must send more
		}
		s.match.Next()
	}
	if d.method == protocol.MakeMove.Name {
		s.judge(rules.SideA, &conduct.Attempt{Reply: s.reply(rules.SideA, []string{"0"}, nil)}, false)
		s.match.Next()
		legal = "8"
	}
	e := protocol.Envelope{
		Protocol: protocol.Name, MessageType: replyMethods[d.method], Sender: protocol.PlayerSender("P02"),
		Timestamp: protocol.FormatTimestamp(s.now), ConversationID: s.match.Conversation(), AuthToken: "b",
	}
	reply := func(deviates bool) *conduct.Reply {
		edit := func(message any) []byte {
			if !deviates {
				return encoded(message)
			}
			return edited(t, message, d.member, d.value)
		}
		switch d.method {
		case protocol.Invite.Name:
			return read(t, protocol.Invite, edit(&protocol.GameJoinAck{Envelope: e, MatchID: "R1M1", PlayerID: "P02",
				ArrivalTimestamp: e.Timestamp, Accept: &yes}), e.ConversationID)
		case protocol.ChooseParity.Name:
			return read(t, protocol.ChooseParity, edit(&protocol.ChooseParityResponse{Envelope: e, MatchID: "R1M1",
				PlayerID: "P02", ParityChoice: legal}), e.ConversationID)
		}
		return read(t, protocol.MakeMove, edit(&protocol.GameMoveResponse{Envelope: e, MatchID: "R1M1", PlayerID: "P02",
			GameType: tictactoe.Type, MoveData: protocol.MoveData{MoveType: tictactoe.MoveType, Choice: legal}}), e.ConversationID)
	}
	require.Equal(t, conduct.Ask, s.match.Step(of, s.now).Kind)
	w := s.match.Judge(of, &conduct.Attempt{Reply: reply(true), At: s.now})
	if w.Verdict == conduct.Counts {
		return counts
	}
	require.Equal(t, conduct.Again, w.Verdict, "%v: %v", d, w.Fault)
	s.match.Take(of, w)
	assert.Equal(t, counts, s.judge(of, &conduct.Attempt{Reply: reply(false)}, false), "the correct reply")
	return string(w.Fault.Code)
}

// section returns the text of a section of docs/protocol.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/protocol.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n### "+heading+"\n")
	require.True(t, found, heading)
	text, _, _ = strings.Cut(text, "\n### ")
	return text
}

// Each setting of replies judges each deviation as docs/protocol.md says.
func TestDeviatingRepliesAreJudgedAsTheProtocolPageSays(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (.+?) \| (counts|E\d{3}) \| (counts|E\d{3}) \|$`).FindAllStringSubmatch(section(t, "Replies of players"), -1)
	all := deviationsOf()
	assert.Len(t, rows, len(all))
	for _, row := range rows {
		assert.NotEmpty(t, all[row[1]], "the test does not know the row %q", row[1])
		for _, d := range all[row[1]] {
			assert.Equal(t, row[2], judge(t, "by_meaning", d), "%v", d)
			assert.Equal(t, row[3], judge(t, protocol.RepliesStrict, d), "%v in a strict league", d)
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
			d := deviation{method: method, member: member}
			if inside, ok := strings.CutPrefix(member, "move_data."); ok {
				data := map[string]any{"move_type": tictactoe.MoveType, "choice": "8"}
				delete(data, inside)
				d.member, d.value = "move_data", data
			}
			byMeaning, strict := judge(t, "by_meaning", d), judge(t, protocol.RepliesStrict, d)
			switch required {
			case "no":
				assert.Equal(t, []string{counts, counts}, []string{byMeaning, strict}, "%v", d)
			case "in strict":
				assert.Equal(t, []string{counts, string(protocol.ErrMissingField)}, []string{byMeaning, strict}, "%v", d)
			default:
				assert.Equal(t, "yes", required)
				assert.NotContains(t, []string{byMeaning, strict}, counts, "%v", d)
			}
		}
	}
	assert.Equal(t, map[string]int{"yes": 4, "in strict": 9, "no": 7}, seen)
}

func TestOnlyAnswersToQuestionsAreReplies(t *testing.T) {
	assert.Nil(t, conduct.ReplyOf(&protocol.GameOver{}))
}
