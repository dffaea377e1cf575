package check_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

type object = map[string]any

// A model is a player that keeps to the protocol, written from the documents
// alone; its hooks make it break one rule. It shares no code with the player of
// this repository, so that the kit is not tested by what it was made from.
type model struct {
	// The hooks; nil does nothing.
	first func(w http.ResponseWriter, r *http.Request, body []byte) bool // sees a call first, and may answer it
	call  func(method string, params object) (result object, err *refusal, handled bool)
	amend func(method string, params, result object)                   // changes a result
	wrap  func(response object) any                                    // changes a response
	bytes func(w http.ResponseWriter, status *int, body []byte) []byte // changes what is sent
	apply func(request object)                                         // changes the registration

	lax     bool // does not look at what it is sent
	forgets bool // makes every choice anew
	open    bool // chooses in any match

	mu      sync.Mutex
	id      string
	matches map[string]*played
	turns   int
	dead    chan struct{} // closed when the test ends
}

type played struct {
	conversation, choice string
	over                 bool
}

// A refusal is a JSON-RPC error.
type refusal struct {
	code    int
	message string
	errorID string
}

func newModel(n *network) *model {
	m := &model{matches: map[string]*played{}, id: "P01", dead: make(chan struct{})}
	n.Cleanup(func() { close(m.dead) })
	return m
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		if m.first == nil || !m.first(w, r, nil) {
			http.Error(w, "POST alone", http.StatusMethodNotAllowed)
		}
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "JSON alone", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	if m.first != nil && m.first(w, r, body) {
		return
	}
	status, answer := http.StatusOK, m.answer(body)
	w.Header().Set("Content-Type", "application/json")
	if m.bytes != nil {
		answer = m.bytes(w, &status, answer)
	}
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return b
}

func (m *model) answer(body []byte) []byte {
	var batch []jsontext.Value
	if json.Unmarshal(body, &batch) == nil && bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		var answers []jsontext.Value
		for _, one := range batch {
			if answer := m.answerOne(one); answer != nil {
				answers = append(answers, answer)
			}
		}
		switch {
		case len(batch) == 0:
			return m.respond(nil, nil, &refusal{code: -32600, message: "Invalid Request"})
		case answers == nil:
			return nil
		}
		return marshal(answers)
	}
	return m.answerOne(body)
}

func (m *model) answerOne(body []byte) []byte {
	var any jsontext.Value
	if json.Unmarshal(body, &any) != nil {
		return m.respond(nil, nil, &refusal{code: -32700, message: "Parse error"})
	}
	var q struct {
		JSONRPC string         `json:"jsonrpc"`
		Method  *string        `json:"method"`
		ID      jsontext.Value `json:"id"`
		Params  jsontext.Value `json:"params"`
	}
	if json.Unmarshal(body, &q) != nil || (q.JSONRPC != "2.0" || q.Method == nil) && !m.lax || q.Method == nil {
		return m.respond(nil, nil, &refusal{code: -32600, message: "Invalid Request"})
	}
	var params object
	if err := json.Unmarshal(q.Params, &params); err != nil && !m.lax {
		return m.respond(q.ID, nil, &refusal{code: -32602, message: "params must be an object", errorID: "E002"})
	}
	result, refused := m.carryOut(*q.Method, params)
	if q.ID == nil {
		return nil
	}
	return m.respond(q.ID, result, refused)
}

// respond wraps a result or an error.
func (m *model) respond(id jsontext.Value, result object, refused *refusal) []byte {
	response := object{"jsonrpc": "2.0", "id": nil}
	if id != nil {
		response["id"] = id
	}
	if refused != nil {
		e := object{"code": refused.code, "message": refused.message}
		if refused.errorID != "" {
			e["data"] = object{"message_type": "LEAGUE_ERROR", "error_code": refused.errorID}
		}
		response["error"] = e
	} else {
		response["result"] = result
	}
	if m.wrap != nil {
		return marshal(m.wrap(response))
	}
	return marshal(response)
}

// methods are the message types by method, and by the other names of it.
var methods = map[string]string{
	"handle_game_invitation": "GAME_INVITATION", "choose_parity": "CHOOSE_PARITY_CALL", "parity_choose": "CHOOSE_PARITY_CALL",
	"notify_match_result": "GAME_OVER", "notify_game_error": "GAME_ERROR", "notify_round": "ROUND_ANNOUNCEMENT",
	"update_standings": "LEAGUE_STANDINGS_UPDATE", "notify_round_completed": "ROUND_COMPLETED", "notify_league_completed": "LEAGUE_COMPLETED",
}

func (m *model) carryOut(method string, params object) (object, *refusal) {
	messageType := methods[method]
	if messageType == "" {
		return nil, &refusal{code: -32601, message: "Method not found"}
	}
	if m.call != nil {
		if result, refused, handled := m.call(messageType, params); handled {
			return result, refused
		}
	}
	if refused := m.check(messageType, params); refused != nil && !m.lax {
		return nil, refused
	}
	result := object{
		"protocol": "league.v2", "sender": "player:" + m.id, "player_id": m.id, "auth_token": "none",
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z"), "conversation_id": params["conversation_id"],
	}
	match, _ := params["match_id"].(string)
	m.mu.Lock()
	refused := m.play(messageType, match, params, result)
	m.mu.Unlock()
	if refused != nil {
		return nil, refused
	}
	if m.amend != nil {
		m.amend(messageType, params, result)
	}
	return result, nil
}

// check refuses a message that is not as it must be.
func (m *model) check(messageType string, params object) *refusal {
	required := []string{"protocol", "message_type", "sender", "timestamp", "conversation_id"}
	switch messageType {
	case "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "GAME_ERROR":
		required = append(required, "match_id")
	}
	for _, name := range required {
		switch v := params[name].(type) {
		case nil:
			return &refusal{code: -32602, message: name + " is missing", errorID: "E003"}
		case string:
			if v == "" {
				return &refusal{code: -32602, message: name + " is empty", errorID: "E002"}
			}
		default:
			return &refusal{code: -32602, message: name + " must be a string", errorID: "E002"}
		}
	}
	at := params["timestamp"].(string)
	if _, err := time.Parse(time.RFC3339, at); err != nil || !strings.HasSuffix(at, "Z") && !strings.HasSuffix(at, "+00:00") {
		return &refusal{code: 21, message: "timestamp must be UTC", errorID: "E021"}
	}
	if params["protocol"] != "league.v2" {
		return &refusal{code: 18, message: "protocol must be league.v2", errorID: "E018"}
	}
	return nil
}

// play is what the messages mean. m.mu is held.
func (m *model) play(messageType, match string, params, result object) *refusal {
	conversation, _ := params["conversation_id"].(string)
	is := m.matches[match]
	switch messageType {
	case "GAME_INVITATION":
		if is == nil || is.conversation != conversation {
			m.matches[match] = &played{conversation: conversation, choice: m.draw()}
		}
		result["message_type"], result["match_id"], result["accept"] = "GAME_JOIN_ACK", match, true
		result["arrival_timestamp"] = result["timestamp"]
	case "CHOOSE_PARITY_CALL":
		switch {
		case m.open && (is == nil || is.over):
			is = &played{choice: "odd"}
		case is == nil:
			return &refusal{code: 4003, message: "no such match", errorID: "E006"}
		case is.over:
			return &refusal{code: 4005, message: "the match is over", errorID: "E008"}
		}
		if m.forgets {
			is.choice = m.draw()
		}
		result["message_type"], result["match_id"], result["parity_choice"] = "CHOOSE_PARITY_RESPONSE", match, is.choice
	default:
		if messageType == "GAME_OVER" && is != nil {
			is.over = true
		}
		result["message_type"], result["status"] = ackOf(messageType), "ACKNOWLEDGED"
		if match != "" {
			result["match_id"] = match
		}
	}
	return nil
}

func ackOf(messageType string) string {
	if messageType == "LEAGUE_STANDINGS_UPDATE" {
		return "STANDINGS_UPDATE_ACK"
	}
	return messageType + "_ACK"
}

// draw is the next choice: in turn, so that one made anew is another one.
func (m *model) draw() string {
	m.turns++
	return [...]string{"even", "odd"}[m.turns%2]
}

// registration is what the model asks its manager.
func (m *model) registration(endpoint string) object {
	q := object{
		"jsonrpc": "2.0", "method": "register_player", "id": 1,
		"params": object{
			"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:" + m.id,
			"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z"), "conversation_id": "conv-register-1",
			"player_meta": object{"display_name": "Model", "version": "1.0.0", "game_types": []string{"even_odd"}, "contact_endpoint": endpoint},
		},
	}
	if m.apply != nil {
		m.apply(q)
	}
	return q
}

// register sends the registration, and returns the response.
func (m *model) register(n *network, manager, endpoint string) (response object) {
	_, response = post(n, manager, string(marshal(m.registration(endpoint))))
	return response
}
