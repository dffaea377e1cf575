package protocol

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// completeLegacy completes a request in the first form of the protocol (spec
// 003 §5.4.2, §5.6.1, §5.11), which has neither a timestamp nor a
// conversation_id. It adds the missing members of the envelope and, to a
// registration, the version, the game and the capacity. Members that are there
// stay as they are. It returns false for a request in any other form.
func completeLegacy(raw []byte, messageType string, clock *Clock) ([]byte, bool) {
	request := ParseObject(raw)
	if request == nil || request.Has("timestamp") || request.Has("conversation_id") {
		return nil, false
	}
	now := clock.Now()
	request.Add("protocol", Quote(Name))
	request.Add("message_type", Quote(messageType))
	request.Add("timestamp", Quote(FormatTimestamp(now)))
	request.Add("conversation_id", Quote("conv-"+strconv.FormatInt(now.UnixNano(), 10)))
	sender := playerPrefix + nameless
	for _, name := range []string{"player_meta", "referee_meta"} {
		meta := ParseObject(request.Raw(name))
		if meta == nil {
			continue
		}
		meta.Add("version", Quote("1.0.0"))
		meta.Add("game_types", jsontext.Value(`["even_odd"]`))
		if name == "referee_meta" {
			meta.Add("max_concurrent_matches", jsontext.Value("1"))
			sender = refereePrefix + nameless
		}
		request.Set(name, meta.Append(nil))
	}
	request.Add("sender", Quote(sender))
	return request.Append(nil), true
}
