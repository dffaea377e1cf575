package journal

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// An Agent is a registered player or referee: its registration, with the changes of
// later events.
type Agent struct {
	AgentRegistered

	Player       bool
	Name         string // for people; DisplayName is that of data
	URL          string // Endpoint in the form of protocol.CanonicalURL
	nameKey      string // DisplayName in the form of words.NameKey
	TokenSince   string // when it got this token, as Event.At
	Confirmed    bool   // it has used this token
	Informed     bool   // it knows that the league is over
	RegisteredAt string // as Event.At
	Assigned     int    // of a referee: matches announced for it and not forfeited
	Answered     bool   // its endpoint has answered, or the manager does not ping agents

	SuspendReason    string // of its suspension; "" for none
	ShutdownReason   string // of its shutdown; "" for none
	ReturnReason     string // why its last suspension ended
	Held             *Made  // nil, or the organiser's decision to suspend it
	Withdrawn        *Made  // nil, or the organiser's decision to withdraw it
	Annulled         bool   // it is withdrawn, and its results do not count
	Failures         int    // in a row: of a player in matches, of a referee with assigned matches
	FailuresAtReturn int    // the failures when it returned: only further ones suspend it again
	LastFault        string // the error code of a player's last failure

	formerKeys []formerKey // in the order of their events
	KeyChanged int         // the first event that gave it another key after the start; 0 for none

	DeniedBy  []string // the players that deny a result of this referee, each once
	Tokenless bool     // a referee that reports without a token, to a league that demands one

	// AcknowledgesAll tells that a referee which did not report a match answers every request in the same way.
	AcknowledgesAll bool

	RoundFailures   int  // of a referee in this round
	ReportedInRound bool // a referee has reported a result in this round
}

// The lifecycle states of an agent (spec 003 §2.8). An agent in state INIT is not in
// the journal.
const (
	LifecycleRegistered = "REGISTERED"
	LifecycleActive     = "ACTIVE"
	LifecycleSuspended  = "SUSPENDED"
	LifecycleShutdown   = "SHUTDOWN"
)

// The usual limits of a league.
const (
	DefaultSuspendAfter  = 3
	DefaultShutdownAfter = 10
)

// Lifecycle is the lifecycle state of an agent, with the reason; "" if the state
// follows from whether the league has started. The reason has the mark of WithKeyMark.
func (s *State) Lifecycle(a *Agent) (state, reason string) {
	state, reason = s.lifecycle(a)
	return state, a.WithKeyMark(reason)
}

func (s *State) lifecycle(a *Agent) (state, reason string) {
	switch {
	case a.Out() && a.Held == nil:
		return LifecycleShutdown, a.PartOver()
	case a.Informed && a.Tokenless:
		return LifecycleShutdown, NoToken(a.AgentID)
	case a.Informed:
		return LifecycleShutdown, "it knows that the league is over"
	case a.Held != nil:
		return LifecycleSuspended, "was suspended by " + a.Held.By
	case a.SuspendReason != "" && a.AcknowledgesAll:
		return LifecycleSuspended, a.SuspendReason + "; " + AcknowledgesAll(a.AgentID)
	case a.SuspendReason != "":
		return LifecycleSuspended, a.SuspendReason
	case s.Started == nil:
		return LifecycleRegistered, a.ReturnReason
	case a.Tokenless:
		return LifecycleActive, NoToken(a.AgentID)
	case a.AcknowledgesAll:
		return LifecycleActive, AcknowledgesAll(a.AgentID)
	case len(a.DeniedBy) > 0:
		return LifecycleActive, "players deny its results: " + strings.Join(a.DeniedBy, ", ")
	}
	return LifecycleActive, a.ReturnReason
}

// NoToken tells that a referee sends no token, and what helps.
func NoToken(refereeID string) string {
	return refereeID +
		" sends no token; this league began with auth: strict: begin it again with auth: lenient and --new-league"
}

// AcknowledgesAll tells that a referee answers every request in the same way.
func AcknowledgesAll(refereeID string) string {
	return refereeID + " acknowledges every request; it may not know how a match starts"
}

// Inactive tells whether an agent is suspended, shut down or withdrawn. An inactive agent
// gets nothing to do, and an inactive player forfeits its matches of rounds that begin.
func (a *Agent) Inactive() bool { return a.SuspendReason != "" || a.Out() }

// Out tells whether an agent is inactive and cannot return by itself.
func (a *Agent) Out() bool { return a.Held != nil || a.PartOver() != "" }

// PartOver is why the part of an agent in the league is over: a sentence without its
// subject; "" if it is not over.
func (a *Agent) PartOver() string {
	if a.Withdrawn != nil {
		return "was withdrawn by " + a.Withdrawn.By
	}
	return a.ShutdownReason
}

// OnNATS tells whether the agent answers on NATS.
func (a *Agent) OnNATS() bool { return strings.HasPrefix(a.Endpoint, protocol.NATSEndpoint("")) }

// ShowsAccessTokens tells whether a referee shows players their access tokens. Journals without
// referee_auth are of referees that do.
func (a *Agent) ShowsAccessTokens() bool { return a.RefereeAuth != protocol.RefereeAuthNone }

// ExceedsLimits tells whether an agent's failures require its suspension or its shutdown
// between two rounds. The last referee is not shut down, because the league could
// not continue without one.
func (s *State) ExceedsLimits(a *Agent) (suspend, shutdown bool) {
	if a.PartOver() != "" {
		return false, false
	}
	reached := func(limit int) bool { return limit > 0 && a.Failures >= limit }
	if reached(s.Created.ShutdownAfter) && (a.Player || s.HasReferee(a.AgentID)) {
		return false, true
	}
	return reached(s.Created.SuspendAfter) && a.Failures > a.FailuresAtReturn && a.SuspendReason == "", false
}

// HasReferee tells whether the league has a referee that has answered and can get matches,
// now or when it returns by itself, except one with an id. No league starts without one.
func (s *State) HasReferee(except string) bool {
	for id, a := range s.Agents {
		if id != except && !a.Player && a.Answered && !a.Out() {
			return true
		}
	}
	return false
}

// InactivePlayers are the inactive players of a match, in its order.
func (s *State) InactivePlayers(ids ...string) []string {
	return lists.Filter(ids, func(id string) bool { return s.Agents[id].Inactive() })
}

// ForfeitWinner is the player of a match that does not forfeit it, and so wins it; nil
// if both forfeit it.
func ForfeitWinner(idA, idB string, inactive []string) *string {
	for _, id := range [...]string{idA, idB} {
		if !slices.Contains(inactive, id) {
			return &id
		}
	}
	return nil
}

// countMatch counts the result of a match for a player. A player fails if it did not
// answer or was not reachable, not by the way it played. If the referee reports no
// fault of a loser, its failures stay.
func (a *Agent) countMatch(r *league.Result) {
	fault, _ := r.Faults.Get(a.AgentID)
	lost := r.Outcome(a.AgentID) == league.TechnicalLoss
	switch {
	case lost && (fault == string(protocol.ErrTimeout) || fault == string(protocol.ErrConnection)):
		a.Failures++
		a.LastFault = fault
	case !lost || len(r.Faults) > 0:
		a.Failures, a.FailuresAtReturn = 0, 0
	}
}

// countRound counts a completed round for a referee. A referee that reported a result
// has no failures.
func (a *Agent) countRound() {
	if a.ReportedInRound {
		a.Failures, a.FailuresAtReturn = 0, 0
	} else {
		a.Failures += a.RoundFailures
	}
	a.RoundFailures, a.ReportedInRound = 0, false
}

// PublicKeys are the public keys of the agents that have one, by their ids; nil for none.
func (s *State) PublicKeys() (keys map[string]string) {
	for id, a := range s.Agents {
		if a.PublicKey == "" {
			continue
		}
		if keys == nil {
			keys = make(map[string]string, len(s.Agents))
		}
		keys[id] = a.PublicKey
	}
	return keys
}

// A formerKey is a public key that an agent has replaced.
type formerKey struct {
	key   string // "" for none
	until int    // the event that replaced it
}

func (s *State) setKey(a *Agent, key string) {
	event := s.Events + 1
	a.formerKeys = append(a.formerKeys, formerKey{a.PublicKey, event})
	if a.PublicKey = key; s.Started != nil && a.KeyChanged == 0 {
		a.KeyChanged = event
	}
}

// WithKeyMark adds to a sentence about an agent, which may be "", that its key has changed
// after the start.
func (a *Agent) WithKeyMark(text string) string {
	if a.KeyChanged == 0 {
		return text
	}
	if text != "" {
		text += "; "
	}
	return text + fmt.Sprintf("has had another key since event %d", a.KeyChanged)
}

// KeyMarks are sentences about the players of a match whose keys had changed after the start
// and before its result by a referee.
func (s *State) KeyMarks(m *Match, ids ...string) (marks []string) {
	for _, id := range ids {
		if a := s.Agents[id]; a.KeyChanged > 0 && a.KeyChanged < m.Event && m.Report.RefereeID != "" {
			marks = append(marks, id+" "+a.WithKeyMark(""))
		}
	}
	return marks
}

// KeyAt is the public key that an agent had before an event; "" for none.
func (a *Agent) KeyAt(event int) string {
	for _, former := range a.formerKeys {
		if event <= former.until {
			return former.key
		}
	}
	return a.PublicKey
}

// Keys are all public keys of an agent, in order.
func (a *Agent) Keys() []string {
	all := append(lists.Map(a.formerKeys, func(f formerKey) string { return f.key }), a.PublicKey)
	return slices.DeleteFunc(all, func(key string) bool { return key == "" })
}

// checkNewKey returns why an agent cannot return with a new key.
func (s *State) checkNewKey(d *AgentReturned) error {
	switch {
	case d.PublicKey == "":
		return nil
	case !s.Created.Signs() || !protocol.ValidPublicKey(d.PublicKey):
		return fmt.Errorf("public_key of %s: %.80q", d.AgentID, d.PublicKey)
	case s.Started != nil && !s.Configuration.Roster.Lists(s.Agents[d.AgentID].Player):
		return fmt.Errorf(
			"%s gets another public key after the start: that needs a registration code, and the league has no roster for it",
			d.AgentID)
	case s.Plays(d.AgentID):
		return fmt.Errorf("%s gets another public key during its match", d.AgentID)
	}
	return nil
}

// Plays tells whether a player has a match that is assigned to a referee and has no result.
func (s *State) Plays(id string) bool {
	running := slices.Clone(s.Rematches)
	if s.Open() {
		for i := range s.Rounds[s.Round-1].Pairings {
			running = append(running, league.MatchID{Round: s.Round, Number: i + 1})
		}
	}
	return slices.ContainsFunc(running, func(match league.MatchID) bool {
		m, idA, idB, ok := s.Find(match)
		return ok && (idA == id || idB == id) && m.Report == nil && len(m.Current()) > 0
	})
}

// agentsWhere are the registered players or referees with a property, in order of ids.
func (s *State) agentsWhere(players bool, has func(*Agent) bool) (found []*Agent) {
	for _, a := range s.Agents {
		if a.Player == players && has(a) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b *Agent) int { return league.CompareIDs(a.AgentID, b.AgentID) })
	return found
}

func (s *State) registered(players bool) []*Agent {
	return s.agentsWhere(players, func(*Agent) bool { return true })
}

// IDs are the ids of the registered players or referees, in order.
func (s *State) IDs(players bool) []string {
	return lists.Map(s.registered(players), func(a *Agent) string { return a.AgentID })
}

// Registered is the number of registered players or referees, and how many of them have
// answered.
func (s *State) Registered(players bool) (registered, answered int) {
	for _, a := range s.Agents {
		if a.Player == players {
			registered++
			if a.Answered {
				answered++
			}
		}
	}
	return registered, answered
}

// AtURL returns the players or the referees at an endpoint, in the form of
// protocol.CanonicalURL.
func (s *State) AtURL(players bool, url string) []*Agent {
	return s.agentsWhere(players, func(a *Agent) bool { return a.URL == url })
}

// Named returns the players or the referees with a display name that has the same
// words.NameKey.
func (s *State) Named(players bool, name string) []*Agent {
	key := words.NameKey(name)
	return s.agentsWhere(players, func(a *Agent) bool { return a.nameKey == key })
}
