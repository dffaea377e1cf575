package check

import "strings"

// protocolPage is the page that describes the protocol, from the root of the repository.
const protocolPage = "docs/protocol.md"

// sections are the headings of protocolPage that describe the requirements. The key is an id, the
// beginning of ids with a role (P-INV), or that of all roles (HTTP). The longest key counts.
var sections = map[string]string{
	"HTTP": "HTTP", "LOAD": "HTTP", "UNI": "HTTP", "P-STA": "HTTP",
	"FRM": "JSON-RPC", "RPC": "JSON-RPC", "MET": "JSON-RPC", "MSG": "Methods",
	"ENV": "Envelope", "P-UNI-02": "Envelope", "LAT": "Timeouts and retries",
	"R-RPC-14": "ping", "M-RPC-14": "ping",

	"P-REG": "LEAGUE_REGISTER_REQUEST", "P-REG-09": "LEAGUE_REGISTER_RESPONSE",
	"P-INV": "GAME_JOIN_ACK", "P-INV-06": "Timeouts and retries", "P-INV-07": "Methods", "P-INV-08": "GAME_INVITATION", "P-INV-09": "GAME_INVITATION",
	"P-CHO": "CHOOSE_PARITY_RESPONSE", "P-CHO-04": "Timeouts and retries", "P-CHO-05": "Methods", "P-CHO-06": "CHOOSE_PARITY_CALL",
	"P-CHO-07": "CHOOSE_PARITY_CALL", "P-CHO-08": "CHOOSE_PARITY_CALL", "P-CHO-09": "The draw",
	"P-OVR": "GAME_OVER", "P-OVR-02": "GAME_OVER_ACK", "P-OVR-03": "GAME_OVER_ACK", "P-ERR": "GAME_ERROR_ACK",
	"P-NOT-01": "ROUND_ANNOUNCEMENT_ACK", "P-NOT-02": "STANDINGS_UPDATE_ACK", "P-NOT-03": "ROUND_COMPLETED_ACK", "P-NOT-04": "LEAGUE_COMPLETED_ACK",
	"P-REQ": "Error catalogue", "P-REQ-03": "JSON-RPC codes", "P-REQ-07": "JSON-RPC", "P-REQ-08": "JSON-RPC",

	"R-REG": "REFEREE_REGISTER_REQUEST", "R-REG-09": "REFEREE_REGISTER_RESPONSE",
	"R-STA": "MATCH_ASSIGNMENT", "R-STA-03": "MATCH_ASSIGNMENT_ACK", "R-STA-06": "MATCH_ASSIGNMENT_ACK", "R-STA-07": "MATCH_ASSIGNMENT_ACK",
	"R-INV": "GAME_INVITATION", "R-CHO": "CHOOSE_PARITY_CALL", "R-CHO-07": "get_match_state", "R-AUT": "get_match_state",
	"R-OVR": "GAME_OVER", "R-DRW": "The draw",
	"R-REP": "MATCH_RESULT_REPORT", "R-REP-03": "Tokens", "R-REP-07": "Timeouts and retries", "R-REP-09": "Envelope",
	"R-LOS": "Timeouts and retries", "R-LOS-06": "GAME_OVER", "R-LOS-07": "GAME_OVER",
	"R-ERR": "GAME_ERROR", "R-ERR-05": "Timeouts and retries", "R-ERR-06": "Timeouts and retries", "R-ERR-07": "Timeouts and retries",
	"R-ERR-08": "Where the specification differs", "R-ERR-09": "Timeouts and retries", "R-END": "Acknowledgements",

	"M-REG": "LEAGUE_REGISTER_RESPONSE", "M-REG-01": "REFEREE_REGISTER_RESPONSE", "M-REG-04": "Tokens", "M-REF": "LEAGUE_REGISTER_RESPONSE",
	"M-REF-01": "Error catalogue", "M-REF-02": "Error catalogue", "M-REF-03": "Error catalogue", "M-REF-04": "Error catalogue",
	"M-AUT": "LEAGUE_QUERY", "M-QRY": "LEAGUE_QUERY", "M-QRY-02": "LEAGUE_QUERY_RESPONSE", "M-QRY-06": "LEAGUE_QUERY_RESPONSE",
	"M-QRY-07": "LEAGUE_QUERY_RESPONSE", "M-QRY-08": "LEAGUE_QUERY_RESPONSE", "M-QRY-11": "LEAGUE_QUERY_RESPONSE",
	"M-QRY-09": "get_standings", "M-QRY-10": "JSON-RPC",
	"M-RUN": "LEAGUE_REGISTER_RESPONSE", "M-RUN-01": "Registration", "M-RUN-04": "start_league", "M-RUN-05": "start_league",
	"M-RND": "A round", "M-RND-01": "ROUND_ANNOUNCEMENT", "M-RND-02": "ROUND_ANNOUNCEMENT", "M-RND-06": "LEAGUE_STANDINGS_UPDATE", "M-RND-07": "ROUND_COMPLETED",
	"M-ASG": "MATCH_ASSIGNMENT", "M-RPT": "MATCH_RESULT_REPORT", "M-RPT-01": "MATCH_RESULT_ACK", "M-RPT-02": "MATCH_RESULT_ACK",
	"M-PRV": "Tokens", "M-STA": "Row of the table", "M-END": "LEAGUE_COMPLETED", "M-END-05": "LEAGUE_QUERY", "M-END-06": "start_league",
}

// pageOf returns the section of protocolPage that describes a requirement, such as
// docs/protocol.md#game_join_ack.
func pageOf(id string) string {
	return protocolPage + "#" + strings.ReplaceAll(strings.ToLower(sections[sectionKey(id)]), " ", "-")
}

// sectionKey returns the key of the section of a requirement; "" for none.
func sectionKey(id string) string {
	role, rest, _ := strings.Cut(id, "-")
	group, _, _ := strings.Cut(rest, "-")
	for _, key := range []string{id, role + "-" + group, group} {
		if sections[key] != "" {
			return key
		}
	}
	return ""
}

// See returns where to read about a requirement: the section of docs/protocol.md and that of the
// specification.
func (r *Requirement) See() string {
	if r.Spec == "" || r.Page == "" {
		return r.Page + r.Spec
	}
	return r.Page + ", " + r.Spec
}
