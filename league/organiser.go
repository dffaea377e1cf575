package league

import (
	"golang.org/x/time/rate"

	"evenodd/league/protocol"
)

// An organiser is the caller with the admin token. Its requests have the limits of an agent.
type organiser struct {
	token string
	calls throttle // of requests for which the league does not wait
}

// newOrganiser makes the organiser of a league from the manager's key for its token.
func newOrganiser(key [32]byte, o *Options) organiser {
	return organiser{
		token: protocol.AdminToken(key, o.LeagueID),
		calls: throttle{o.Clock, rate.NewLimiter(rate.Limit(o.AsksPerSecond), o.AsksAtOnce)},
	}
}

// is tells whether a token is that of the organiser.
func (o *organiser) is(token string) bool { return protocol.SameToken(token, o.token) }

// authenticate checks the token of a method that only the organiser may call.
func (o *organiser) authenticate(method, token string) error {
	switch {
	case token == "":
		return protocol.Fault(protocol.ErrTokenMissing, "%s needs the admin token as auth_token", method)
	case !o.is(token):
		return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the admin token")
	}
	return o.calls.allow()
}
