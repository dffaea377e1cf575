package protocol

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/words"
)

// A Form is a rule for the text of a string.
type Form struct {
	Rule    string // for error texts
	pattern string // for the schema; "" if format suffices
	format  string // JSON Schema format, if any
	valid   func(string) bool
	max     int // characters; 0 for formLimit
}

var (
	timestampForm = &Form{
		Rule: "a UTC time of the form YYYY-MM-DDTHH:MM:SSZ",
		// the format leaves room for leap seconds
		pattern: `T[0-9:]{6}[0-5][0-9](\.[0-9]+)?(Z|\+00:00)$`, format: "date-time",
		valid: ValidTimestamp, max: timestampLimit,
	}
	// Other agents print names on terminals, so a name must not control a terminal.
	nameForm = &Form{
		Rule:    "1 to 50 characters without control characters",
		pattern: "^[^\x00-\x1f\x7f-\u009f\u2028-\u202e\u2066-\u2069]*$",
		valid:   harmless, max: 50,
	}
)

// forms are the forms by their words in tags.
var forms = map[string]*Form{
	"timestamp": timestampForm,
	"sender": {Rule: "league_manager, referee:ID or player:ID",
		pattern: `^(league_manager|(referee|player):[\s\S]+)$`, valid: ValidSender, max: senderLimit},
	"version": matching("a version of the form MAJOR.MINOR.PATCH",
		`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]+)?$`),
	"name":   nameForm,
	"digest": {Rule: "64 lower-case hexadecimal digits", pattern: digestPattern, valid: isDigest},
	"key": {Rule: "an Ed25519 public key in 64 lower-case hexadecimal digits, not of small order", pattern: digestPattern,
		valid: ValidPublicKey},
	"signature": {Rule: "128 lower-case hexadecimal digits", pattern: `^[0-9a-f]{128}$`, valid: isSignature},
	"code":      matching("an error code of the form E001", `^E[0-9]{3}$`),
	"url":       {Rule: "an absolute URL", pattern: urlPattern, format: "uri", valid: ValidURL},
	"network": {Rule: "a network in CIDR notation, such as 10.1.0.0/16", pattern: `^[0-9A-Fa-f:.]+/[0-9]{1,3}$`,
		valid: func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil }},
}

const (
	digestPattern = `^[0-9a-f]{64}$`
	// urlPattern is a scheme, an optional user, a host, an optional port, and any rest.
	urlPattern = `^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]+)(:[0-9]*)?([/?#]|$)`
	formLimit  = 300 // characters of a string that has a form
)

func matching(rule, pattern string) *Form {
	compiled := words.Pattern(pattern)
	return &Form{Rule: rule, pattern: pattern, valid: func(s string) bool { return compiled().MatchString(s) }}
}

// ValidURL tells whether s is an absolute URL: a valid endpoint in a message.
func ValidURL(s string) bool { return parseURL(s) != nil }

// ValidHTTP tells whether s is an absolute URL of HTTP or HTTPS.
func ValidHTTP(s string) bool {
	u := parseURL(s)
	return u != nil && (u.Scheme == "http" || u.Scheme == "https")
}

// parseURL reads an absolute URL with a host and without an IPv6 zone; nil for another text.
func parseURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.Contains(u.Host, "%") {
		return nil
	}
	return u
}

// short tells whether s has at most limit characters.
func short(s string, limit int) bool {
	return len(s) <= limit || utf8.RuneCountInString(s) <= limit
}

// isDigest tells whether s is a SHA-256 digest in lower-case hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && isHexadecimal(s) }

// isSignature tells whether s is an Ed25519 signature in lower-case hexadecimal digits.
func isSignature(s string) bool { return len(s) == 128 && isHexadecimal(s) }

func isHexadecimal(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
}

// ValidName tells whether s is a valid display name: 1 to 50 characters, none of which
// controls a terminal (002 §3.1.2).
func ValidName(s string) bool { return s != "" && short(s, nameForm.max) && harmless(s) }

// CheckDisplayName returns an error if a reader cannot see all characters of a new agent's name, sees nothing at all,
// or could take it for an id.
func CheckDisplayName(name string) error {
	if r, number, ok := words.Invisible(name); ok {
		return Fault(ErrInvalidFieldType, "display_name has a character that cannot be seen, U+%04X (character %d), "+
			"and could look like another name: remove it", r, number)
	}
	if strings.TrimSpace(name) == "" {
		return Fault(ErrInvalidFieldType, "display_name has no visible character: use letters, digits or symbols")
	}
	if err := league.CheckNewName(name); err != nil {
		return Fault(ErrInvalidFieldType, "display_name: %v", err)
	}
	return nil
}

// harmless tells whether s cannot control a terminal: it has no control characters, no
// line or paragraph separators, and no changes of text direction.
func harmless(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	})
}

// ExamplesIn returns the texts that are legal, as the context of a question for free text names them; nil if it names
// none.
func ExamplesIn(context map[string]any) []string {
	var texts []any
	switch named := context["examples"].(type) {
	case []string:
		return named
	case []any: // as JSON has them
		texts = named
	}
	return lists.Filter(lists.Map(texts, func(text any) string { s, _ := text.(string); return s }),
		func(s string) bool { return s != "" })
}

// HarmlessLine tells whether s can be a move in free text: one line of UTF-8 that cannot control a terminal, nor change
// the direction of the text around it by an invisible mark.
func HarmlessLine(s string) bool {
	return utf8.ValidString(s) && harmless(s) && !strings.ContainsAny(s, "\u061c\u200e\u200f")
}
