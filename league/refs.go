package league

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"evenodd/league/lists"
	"evenodd/league/words"
)

// A Ref is an agent as people know it: by an id and a name.
type Ref struct {
	ID     string
	Name   string // for people; "" for none
	Former string // another name that the agent is registered with; "" for none
	Role   string // player or referee, which can stand before a name: "player:Team 4"
}

// String has both: "P08 Team 4".
func (r Ref) String() string { return strings.TrimSpace(r.ID + " " + r.Name) }

// The roles of agents, which people can type before a name: player:Alice.
const (
	rolePlayer  = "player"
	roleReferee = "referee"
)

// idOf is the id of an agent or a match that a text is a form of: in any case, and in the wide letters of East Asia;
// "" for none.
func idOf(text string) string {
	id := strings.ToUpper(words.NameKey(text))
	_, player := ParsePlayerID(id)
	_, referee := ParseRefereeID(id)
	_, match := ParseMatchID(id)
	if player || referee || match {
		return id
	}
	return ""
}

// CheckNewName returns an error for a name that is taken for the id of an agent or of a match: P03, ref01, R1M1, or
// with a role before it, player:P03. Names such as P1 and Ref1, which third-party agents have, are no ids.
func CheckNewName(name string) error {
	key := words.NameKey(name)
	if idOf(name) != "" || strings.HasPrefix(key, rolePlayer+":") || strings.HasPrefix(key, roleReferee+":") {
		return errors.New("the name looks like an id (P03, REF01, R1M1), and could be taken for another agent or a match: " +
			"choose another")
	}
	return nil
}

// SeedID is the form in which a seeding has the id of a player, so that it differs from each name: "player:P03". It is
// "" for a text that is no such id.
func SeedID(text string) string {
	id := idOf(strings.TrimPrefix(text, rolePlayer+":"))
	if _, ok := ParsePlayerID(id); !ok {
		return ""
	}
	return rolePlayer + ":" + id
}

// FindAgent finds the agent that a person means: by its id in any case, which always wins, by its name, or by a name
// that looks like it (words.NameKey). player: or referee: before both chooses the role. The error says that several
// agents have the name, or lists those with similar names.
func FindAgent(text string, agents []Ref) (Ref, error) {
	name, among := strings.TrimSpace(text), agents
	for _, role := range []string{rolePlayer, roleReferee} {
		if n := len(role) + 1; len(name) > n && strings.EqualFold(name[:n], role+":") {
			name = strings.TrimSpace(name[n:])
			among = having(agents, func(r *Ref) bool { return r.Role == role })
			break
		}
	}
	id, key := idOf(name), words.NameKey(name)
	for _, is := range []func(r *Ref) bool{
		func(r *Ref) bool { return r.ID == name || r.ID == id },
		func(r *Ref) bool { return r.Name == name || r.Former == name },
		func(r *Ref) bool { return words.NameKey(r.Name) == key || words.NameKey(r.Former) == key },
	} {
		found := having(among, is)
		switch {
		case key == "" || len(found) == 0:
		case len(found) == 1:
			return found[0], nil
		default:
			hint := ""
			if slices.ContainsFunc(found, func(r Ref) bool { return r.Role != found[0].Role }) {
				hint = ", or with player: or referee: before its name"
			}
			return Ref{}, fmt.Errorf("%d agents have the name %q: %s; name one by its id%s", len(found), words.Clip(name, 60),
				words.Some(texts(found), mostListed), hint)
		}
	}
	if len(among) == 0 {
		return Ref{}, fmt.Errorf("no agent %q: none has registered", words.Clip(text, 60))
	}
	if near := similar(key, among); len(near) > 0 {
		near = near[:min(len(near), mostListed)]
		return Ref{}, fmt.Errorf("no agent %q; did you mean %s?", words.Clip(text, 60), words.Or(texts(near)))
	}
	return Ref{}, fmt.Errorf("no agent %q: the league has %s", words.Clip(text, 60), words.Some(texts(among), mostListed))
}

// mostListed is the number of agents in an error.
const mostListed = 12

// similar are the agents with a name or an id like a key of words.NameKey, or with a name that contains it.
func similar(key string, agents []Ref) (near []Ref) {
	names := lists.Map(agents, func(r Ref) string { return words.NameKey(r.Name) })
	ids := lists.Map(agents, func(r Ref) string { return r.ID })
	add := func(i int) {
		if !slices.Contains(near, agents[i]) {
			near = append(near, agents[i])
		}
	}
	for _, i := range slices.Concat(words.Similar(key, names), words.Similar(key, ids)) {
		add(i)
	}
	for i := range agents {
		if len(key) > 1 && strings.Contains(names[i], key) || withoutZeros(ids[i]) == withoutZeros(key) {
			add(i)
		}
	}
	return near
}

// withoutZeros is an id in the form in which people write it too: p3 for P03.
func withoutZeros(id string) string {
	letters := strings.TrimRight(id, "0123456789")
	return strings.ToLower(letters) + strings.TrimLeft(id[len(letters):], "0")
}

func having(agents []Ref, is func(r *Ref) bool) (found []Ref) {
	for i := range agents {
		if is(&agents[i]) {
			found = append(found, agents[i])
		}
	}
	return found
}

// texts are agents with id and name, for lists in sentences.
func texts(agents []Ref) []string {
	return lists.Map(agents, func(r Ref) string { return words.Clip(r.String(), 80) })
}
