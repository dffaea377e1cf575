package decide

import (
	"cmp"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A Return is an agent that shows its token, or its registration code, to register again.
type Return struct {
	AgentID    string
	Generation int  // of the token that it shows: the current one, or the one before; the current one with a code
	Expired    bool // the current token; or it was used, and the agent shows its code
	ByCode     bool // it has no token
	Revive     bool // end a suspension
}

// PartOver returns a rejection with protocol.ErrNotAuthorized for an agent whose part in the
// league is over; nil for any other.
func PartOver(s *journal.State, id string) error {
	why := s.Agents[id].PartOver()
	if why == "" {
		return nil
	}
	return Reject(protocol.ErrNotAuthorized, "the part of %s in this league is over: it %s", id, why)
}

// Readmit decides about an agent that registers again. It returns the registration
// that is dropped because it has the agent's new URL, and the event that records what
// changes with the agent; nil for nothing. An expired token gets a successor. An agent
// that shows its code has usually lost its key with its token, and gets its new one. The
// error is a *RejectionError.
func (r *Registrations) Readmit(s *journal.State, a *Applicant, by Return, now time.Time) (*journal.RegistrationDropped,
	*journal.AgentReturned, error) {
	if err := PartOver(s, by.AgentID); err != nil {
		return nil, nil, err
	}
	is := s.Agents[by.AgentID]
	key := ""
	if a.PublicKey != "" && a.PublicKey != is.PublicKey && s.Created.Signs() {
		switch {
		case by.ByCode && s.Plays(by.AgentID):
			no := Reject(protocol.ErrInvalidMatchState, "%s is in a match, and cannot change its public_key until it is over",
				by.AgentID)
			no.Retry = keyRetry
			return nil, nil, no
		case by.ByCode:
			key = a.PublicKey
		case is.PublicKey != "":
			return nil, nil, Reject(protocol.ErrNotAuthorized,
				"%s has registered another public_key, which it keeps for the whole league: return with the identity of the first registration", by.AgentID)
		}
	}
	var drop *journal.RegistrationDropped
	if is.Endpoint != a.Endpoint {
		var err error
		if drop, err = r.freeURL(s, a, by.AgentID, now); err != nil {
			return nil, nil, err
		}
	}
	generation := is.Generation // also if the response with the current token was lost
	if by.Generation == is.Generation && by.Expired {
		generation++
	}
	auth := "" // as before
	if proves := a.RefereeAuth == ""; !a.Player() && proves != is.ShowsAccessTokens() {
		auth = cmp.Or(a.RefereeAuth, protocol.RefereeAuthAccessToken)
	}
	if generation == is.Generation && is.Endpoint == a.Endpoint && auth == "" && key == "" &&
		(is.SuspendReason == "" || !by.Revive) {
		return drop, nil, nil
	}
	reason := "it registered again"
	if by.ByCode {
		reason = "it registered again with its registration code"
	}
	return drop, &journal.AgentReturned{
		AgentID: by.AgentID, Endpoint: a.Endpoint, Generation: generation, Reason: reason, RefereeAuth: auth, PublicKey: key,
	}, nil
}

// keyRetry is when an agent that lost its key may register again if it is in a match.
const keyRetry = 5 * time.Second

// freeURL drops the registration of another agent of the same role at the URL to
// which an agent moves, or rejects the move.
func (r *Registrations) freeURL(s *journal.State, a *Applicant, mover string,
	now time.Time) (*journal.RegistrationDropped, error) {
	for _, other := range s.AtURL(a.Player(), protocol.CanonicalURL(a.Endpoint)) {
		if other.AgentID == mover {
			continue
		}
		if no := r.cannotReplace(other.AgentID, urlTaken(a, other), now); no != nil {
			return nil, no
		}
		return &journal.RegistrationDropped{AgentID: other.AgentID, Reason: journal.DroppedSilent}, nil
	}
	return nil, nil //nolint:nilnil // the URL is free
}
