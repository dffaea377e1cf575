package record

import (
	"regexp"

	"evenodd/league/protocol"
)

// addresses are URLs, addresses of the network with or without a port, and what errors of the
// network name. They can be those of an agent.
var addresses = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\\]+` +
	`|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f.]*:[0-9a-f:.]*(%\w+)?\](:\d+)?` +
	`|\b(dial|lookup|read|write) (tcp|udp)?[46]? ?[^\s"'<>\\]+|\b(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+):\d{2,5}\b`)

// HiddenAddress replaces an address in a text of others.
const HiddenAddress = "(an address)"

// Public is a text of others without what can be a token or an address.
func Public(text string) string {
	return addresses.ReplaceAllString(protocol.WithoutTokens(text), HiddenAddress)
}
