package audit

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A difference is a member of a document that has not the expected value.
type difference struct {
	member    jsontext.Pointer
	got, want string // shortened

	matchID, agentID string // of the object around it; "" for none
}

// differences compares a document with the one that it should be. Null and a
// missing member are the same.
func differences[T any](got, want *T) (found []difference) {
	if !reflect.DeepEqual(got, want) { // encoding takes much longer
		compare("", decoded(encoded(got)), decoded(encoded(want)), &found)
	}
	return found
}

func compare(member jsontext.Pointer, got, want any, found *[]difference) {
	if reflect.DeepEqual(got, want) {
		return
	}
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			all, before := maps.Clone(got), len(*found)
			maps.Copy(all, want)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				compare(member.AppendToken(name), got[name], want[name], found)
			}
			for i := before; i < len(*found); i++ {
				d := &(*found)[i]
				d.matchID, d.agentID = cmp.Or(d.matchID, text(want["match_id"])),
					cmp.Or(d.agentID, text(want["player_id"]), text(want["referee_id"]))
			}
			return
		}
	case []any:
		if got, ok := got.([]any); ok {
			for i := range min(len(got), len(want)) {
				compare(member.AppendToken(strconv.Itoa(i)), got[i], want[i], found)
			}
			if len(got) != len(want) {
				*found = append(*found, difference{member: member, got: protocol.Counted(len(got), "entry"),
					want: protocol.Counted(len(want), "entry")})
			}
			return
		}
	}
	*found = append(*found, difference{member: member, got: shortened(got), want: shortened(want)})
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// onePerObject keeps the first of several differences in the same inner object.
func onePerObject(found []difference) []difference {
	return slices.CompactFunc(found, func(a, b difference) bool {
		return a.member.Parent() != "" && a.member.Parent() == b.member.Parent()
	})
}

// String says what differs, and from what.
func (d difference) String() string {
	return fmt.Sprintf("%s is %s; by the journal it is %s", name(d.member), d.got, d.want)
}

// name formats the path of a member: result.choices.P01.
func name(member jsontext.Pointer) string {
	return strings.Join(slices.Collect(member.Tokens()), ".")
}

// shortened is a value as JSON for people, shortened.
func shortened(v any) string {
	text := encoded(v)
	if string(text) == "null" {
		return "none"
	}
	return fmt.Sprintf("%.70s", text) // a digest fits
}

// encoded is a value as JSON with sorted members; "null" if it has no encoding.
func encoded(v any) []byte {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return []byte("null")
	}
	return raw
}

// decoded returns JSON as maps, slices and scalars; nil if it is not JSON.
func decoded(raw []byte) (value any) {
	if json.Unmarshal(raw, &value) != nil {
		return nil
	}
	return value
}
