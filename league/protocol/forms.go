package protocol

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A form is a rule for the text of a string.
type form struct {
	rule    string // for error texts
	pattern string // for the schema; "" if format suffices
	format  string // JSON Schema format, if any
	valid   func(string) bool
	max     int // characters
}

var (
	timestampForm = &form{
		rule:    "a UTC time of the form YYYY-MM-DDTHH:MM:SSZ",
		pattern: `T[0-9:]{6}[0-5][0-9](\.[0-9]+)?(Z|\+00:00)$`, format: "date-time", // the format leaves room for leap seconds
		valid: ValidTimestamp, max: timestampLimit,
	}
	senderForm = &form{
		rule:    "league_manager, referee:ID or player:ID",
		pattern: `^(league_manager|(referee|player):[\s\S]+)$`,
		valid:   validSender, max: senderLimit,
	}
	versionForm = matching("a version of the form MAJOR.MINOR.PATCH",
		`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)([-+][0-9A-Za-z.+-]+)?$`)
	// Other agents print names on terminals, so a name must not control a terminal.
	nameForm = &form{
		rule:    "1 to 50 characters without control characters",
		pattern: "^[^\x00-\x1f\x7f-\u009f\u2028-\u202e\u2066-\u2069]*$",
		valid:   harmless, max: 50,
	}
	digestForm = &form{
		rule: "64 lower-case hexadecimal digits", pattern: `^[0-9a-f]{64}$`,
		valid: isDigest, max: formLimit,
	}
	keyForm = &form{
		rule: "an Ed25519 public key in 64 lower-case hexadecimal digits, not of small order", pattern: `^[0-9a-f]{64}$`,
		valid: ValidPublicKey, max: formLimit,
	}
	signatureForm = &form{
		rule: "128 lower-case hexadecimal digits", pattern: `^[0-9a-f]{128}$`,
		valid: isSignature, max: formLimit,
	}
	codeForm = matching("an error code of the form E001", `^E[0-9]{3}$`)
	urlForm  = &form{
		rule: "an absolute URL", pattern: urlPattern.String(), format: "uri",
		valid: ValidURL, max: formLimit,
	}
	networkForm = &form{
		rule: "a network in CIDR notation, such as 10.1.0.0/16", pattern: `^[0-9A-Fa-f:.]+/[0-9]{1,3}$`,
		valid: isNetwork, max: formLimit,
	}
	// urlPattern is a scheme, an optional user, a host, an optional port, and any rest.
	urlPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*@)?(\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]+)(:[0-9]*)?([/?#]|$)`)
)

const formLimit = 300 // characters of a string that has a form

func matching(rule, pattern string) *form {
	return &form{rule: rule, pattern: pattern, valid: regexp.MustCompile(pattern).MatchString, max: formLimit}
}

// versionNumbers returns the first three numbers of a version.
func versionNumbers(version string) (n [3]int) {
	version, _, _ = strings.Cut(version, "-")
	version, _, _ = strings.Cut(version, "+")
	for i, part := range strings.SplitN(version, ".", 3) {
		n[i], _ = strconv.Atoi(part) // well formed
	}
	return n
}

// ValidURL tells whether s is an absolute URL: a valid endpoint in a message.
func ValidURL(s string) bool {
	if plainURL(s) {
		return true
	}
	_, err := url.Parse(s)
	return err == nil && urlPattern.MatchString(s)
}

// isNetwork tells whether s is a network in CIDR notation.
func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

// plainURL tells quickly that a URL of the usual form is absolute: a scheme, a
// host of letters and digits, perhaps a port, and a plain path.
func plainURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok || scheme == "" || s[0] < 'a' || s[0] > 'z' || !plain(scheme, "") {
		return false
	}
	host, path, _ := strings.Cut(rest, "/")
	host, port, _ := strings.Cut(host, ":")
	return host != "" && plain(host, ".-") && plain(path, "/._-") && len(port) <= 5 && strings.Trim(port, "0123456789") == ""
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
	for i := range len(s) {
		if !hexDigit[s[i]] {
			return false
		}
	}
	return true
}

// hexDigit marks the lower-case hexadecimal digits. Comparisons with '9' and 'a' take
// longer, because no processor predicts the digits of a digest.
var hexDigit = func() (digits [256]bool) {
	for _, c := range []byte("0123456789abcdef") {
		digits[c] = true
	}
	return digits
}()

// ValidName tells whether s is a valid display name: 1 to 50 characters, none of which
// controls a terminal (002 §3.1.2).
func ValidName(s string) bool { return s != "" && short(s, 50) && harmless(s) }

// harmless tells whether s cannot control a terminal: it has no control characters, no
// line or paragraph separators, and no changes of text direction.
func harmless(s string) bool {
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return false
		}
	}
	return true
}

// plain tells whether s has only letters, digits and the extra characters.
func plain(s, extra string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return true
}
