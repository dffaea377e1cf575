package record

import "strings"

// reachCures are the causes why a ping did not reach an agent, as the system and the carrier name them in lower case,
// with what helps.
var reachCures = [...]struct{ cause, cure string }{
	{"refused", "Nothing listens there: is the program still running, and does it listen at an address that other " +
		"computers reach (--host)?"},
	{"no answer", firewallCure}, {"timeout", firewallCure}, {"timed out", firewallCure},
	{"no route", otherNetworkCure}, {"unreachable", otherNetworkCure}, {"host is down", otherNetworkCure},
	{"no such host", "Other computers do not know this name: start the program with --host and an address."},
	{"certificate", "Its certificate is not trusted here: see --tls-ca."},
}

const (
	firewallCure     = "A firewall on its computer may block the port: let other computers reach it."
	otherNetworkCure = "Its computer is in another network, or asleep."
)

// CureOf says what helps an agent that pings do not reach, by the cause that they met; "" for no cause yet.
func CureOf(cause string) string {
	if cause == "" {
		return ""
	}
	for _, one := range reachCures {
		if strings.Contains(strings.ToLower(cause), one.cause) {
			return one.cure
		}
	}
	return "Examine it on its computer: evenodd check."
}
