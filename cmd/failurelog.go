package cmd

import (
	"bytes"
	"io"
	"regexp"
	"sync"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// oncePerRound leaves out the lines about failures of a player that tell what an earlier line of the same round told:
// a program that cannot start fails four times in a match, and player and referee log each time. The files of the
// agents have all lines.
type oncePerRound struct {
	io.Writer

	mu   sync.Mutex
	told map[string]*toldFailures // by player
}

// toldFailures are the causes of a round that were logged.
type toldFailures struct {
	round  string
	causes map[string]bool
	own    bool // the player itself has said why it fails
}

// The number of players, and of causes in a round, that are remembered.
const (
	maxToldPlayers = 10000
	maxToldCauses  = 50
)

func (w *oncePerRound) Write(line []byte) (int, error) {
	if w.repeats(line) {
		return len(line), nil
	}
	return w.Writer.Write(line)
}

// failureEvents are the lines that can repeat each other.
var failureEvents = [][]byte{[]byte(`"STRATEGY_FAILED"`), []byte(`"MODEL_FAILED"`), []byte(`"GAME_ERROR"`)}

// roundOf finds the round in the id of a match or of its conversation.
var roundOf = words.Pattern(`^(?:conv-r|R)(\d{1,9})[mM]\d`)

// repeats tells whether a line tells of a failure what an earlier one told.
func (w *oncePerRound) repeats(line []byte) bool {
	about := false
	for _, event := range failureEvents {
		about = about || bytes.Contains(line, event)
	}
	if !about {
		return false
	}
	var f struct {
		Event    string `json:"event_type"`
		Agent    string `json:"agent_id"`
		Player   string `json:"player_id"`
		Affected string `json:"affected_player"`
		Match    string `json:"match_id"`
		Talk     string `json:"conversation_id"`
		Code     string `json:"error_code"`
		Detail   string `json:"detail"`
		Error    string `json:"error"`
	}
	if json.Unmarshal(line, &f) != nil {
		return false
	}
	player, own := f.Player, f.Event != "GAME_ERROR"
	if own {
		player = protocol.AgentOf(f.Agent)
	} else if player == "" {
		player = f.Affected
	}
	round := firstRound(roundOf(), f.Match, f.Talk)
	if player == "" || round == "" {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.of(player, round)
	cause := f.Code + " " + f.Detail
	switch {
	case own:
		told.own, cause = true, f.Error
	case told.own && (f.Code == string(protocol.ErrInvalidFieldType) || f.Code == string(protocol.ErrTimeout)):
		return true // the consequence of what the player has said
	case f.Detail == "": // GAME_ERROR at the player, which may run in the process of the referee
		cause = f.Code
	default:
		defer func() { told.causes[f.Code] = true }()
	}
	if told.causes[cause] {
		return true
	}
	if len(told.causes) < maxToldCauses {
		told.causes[cause] = true
	}
	return false
}

// of are the failures of a player in a round, without those of the round before.
func (w *oncePerRound) of(player, round string) *toldFailures {
	if len(w.told) >= maxToldPlayers || w.told == nil {
		w.told = map[string]*toldFailures{}
	}
	t := w.told[player]
	if t == nil || t.round != round {
		t = &toldFailures{round: round, causes: map[string]bool{}}
		w.told[player] = t
	}
	return t
}

// firstRound is the round of the first id that has one; "" for none.
func firstRound(round *regexp.Regexp, ids ...string) string {
	for _, id := range ids {
		if m := round.FindStringSubmatch(id); m != nil {
			return m[1]
		}
	}
	return ""
}
