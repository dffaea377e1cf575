package decide

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// An Applicant is an agent that applies for registration. AgentID is the id that it
// wants. ProtocolVersion "" means the current version.
type Applicant struct {
	journal.AgentRegistered
	Token string // of an agent that registers again
	Code  string // for a league with a roster
	// LargeMessages tells that the agent takes messages of up to 64 KB.
	LargeMessages bool
	Features      []string // of a referee, as it declares them
}

// Player tells whether the applicant is a player, not a referee.
func (a *Applicant) Player() bool { return a.Role == protocol.RolePlayer }

// A RejectionError is the reason for which an applicant is not registered. Its sender
// gets a response with status REJECTED, not a LEAGUE_ERROR.
type RejectionError struct {
	Reason *protocol.Error
	Retry  time.Duration // when a slot, name or URL may become free; 0 if waiting does not help
}

func (r *RejectionError) Error() string { return r.Reason.Error() }

// Reject makes a RejectionError that waiting does not change.
func Reject(code protocol.Code, format string, args ...any) *RejectionError {
	return &RejectionError{Reason: protocol.Fault(code, format, args...)}
}

// mayBecomeFree adds to a rejection when the applicant may apply again, because of
// an agent that can be replaced after the wait.
func (r *RejectionError) mayBecomeFree(because string, wait time.Duration) *RejectionError {
	r.Retry = wait
	r.Reason.Detail += fmt.Sprintf("; %s has not answered yet: try again in %d s", because, wholeSeconds(wait))
	return r
}

func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// Registrations decide about applicants until the league starts. Beside the
// journal's state they know how long registered agents have been silent, and which
// rejected applicants wait. Not safe for concurrent use.
type Registrations struct {
	Roster     *Roster       // nil admits any agent
	Grace      time.Duration // time that a registered agent has to answer before it can be replaced
	WindowOver bool          // the registration window has ended
	Closed     bool          // the start is decided
	Large      bool          // the game needs messages that only agents which declare so take

	silent  []silence    // agents that have not answered, in order of ids
	waiting waitingQueue // rejected applicants
	taken   map[bool]int // by Applicant.Player: ids with this number or a lower one are not free
}

// silence is an agent that has not answered.
type silence struct {
	id         string
	since      time.Time // when this manager first knew of the agent
	registered time.Time // as the journal says it
}

// ExpectAnswer begins the grace period of an agent that has not answered.
func (r *Registrations) ExpectAnswer(a *journal.Agent, now time.Time) {
	i, _ := r.silence(a.AgentID)
	registered, _ := protocol.ParseTimestamp(a.RegisteredAt)
	r.silent = slices.Insert(r.silent, i, silence{a.AgentID, now, registered})
}

// Forget removes an agent that has answered or whose registration was dropped.
func (r *Registrations) Forget(id string) {
	if i, found := r.silence(id); found {
		r.silent = slices.Delete(r.silent, i, i+1)
	}
}

func (r *Registrations) silence(id string) (int, bool) {
	return slices.BinarySearchFunc(r.silent, id, func(s silence, id string) int { return league.CompareIDs(s.id, id) })
}

// Silent is the number of agents that have not answered.
func (r *Registrations) Silent() int { return len(r.silent) }

// SilentIDs are the ids of at most limit agents that have not answered, in order;
// nil for none.
func (r *Registrations) SilentIDs(limit int) []string {
	return lists.Map(r.silent[:min(len(r.silent), limit)], func(s silence) string { return s.id })
}

// GraceLeft is how long the registration of an agent cannot be dropped yet: 0 if it
// can be dropped. The registration of an agent that has answered is never dropped.
func (r *Registrations) GraceLeft(id string, now time.Time) time.Duration {
	i, found := r.silence(id)
	if !found {
		return math.MaxInt64
	}
	return r.left(r.silent[i], now)
}

// left goes by the monotonic clock. If the wall clock was set back by a little, the times of the journal must show the
// grace period too, because an audit has only these.
func (r *Registrations) left(s silence, now time.Time) time.Duration {
	left := r.Grace - now.Sub(s.since)
	if shown := now.Sub(s.registered); shown >= 0 {
		left = max(left, r.Grace-shown)
	}
	return max(0, left)
}

// Lacks returns the rejection of a referee, also of one that returns, that does not declare a feature which the matches
// of the league need; nil for any other agent.
func Lacks(s *journal.State, a *Applicant) error {
	for _, feature := range s.Created.Features() {
		if !a.Player() && !slices.Contains(a.Features, feature) {
			return Reject(protocol.ErrUnsupportedGame, "matches of this league have the feature %q: register with "+
				`"features": [%[1]q] in referee_meta if the referee conducts them so`, feature)
		}
	}
	return nil
}

// Repeated is the id of the agent whose registration this request repeats; "" for
// none. Registration is idempotent: an applicant that got no response sends the
// same request again, and gets the same id and token. Once the agent has used its
// token it has got the response, and the request is a new one.
func Repeated(s *journal.State, a *Applicant) string {
	for _, known := range s.AtURL(a.Player(), protocol.CanonicalURL(a.Endpoint)) {
		if known.Registration == a.Registration && (known.PublicKey == a.PublicKey || !s.Created.Signs()) &&
			known.DisplayName == a.DisplayName && known.Endpoint == a.Endpoint && !known.Confirmed {
			return known.AgentID
		}
	}
	return ""
}

// Admit decides about an applicant that has no token. It returns the events of its
// registration: the registrations that are dropped for it, then its own. The error
// is a *RejectionError, or a *protocol.Error if the name has characters that nobody can see.
func (r *Registrations) Admit(s *journal.State, a *Applicant, now time.Time) (drop []*journal.RegistrationDropped,
	admitted *journal.AgentRegistered, err error) {
	if err := protocol.CheckDisplayName(a.DisplayName); err != nil {
		return nil, nil, err
	}
	replaced, rejection := r.freeSlot(s, a, now)
	r.waiting.update(a, rejection, now)
	if rejection != nil {
		return nil, nil, rejection
	}
	for _, id := range replaced {
		drop = append(drop, &journal.RegistrationDropped{AgentID: id, Reason: journal.DroppedSilent})
	}
	event := a.AgentRegistered
	event.AgentID, event.Generation, event.AwaitsAnswer = r.freeID(s, a), 1, r.Grace > 0
	if !event.AwaitsAnswer { // the journal of a simulation has no metadata
		event.Version, event.ProtocolVersion, event.GameTypes = "", "", nil
	}
	if !s.Created.Signs() {
		event.PublicKey, event.RelaysSignatures = "", false
	}
	return drop, &event, nil
}

// freeSlot returns the registrations to drop for the applicant, or the rejection: the
// agents that have its name, its URL or the last slot can be dropped after their
// grace period. A free slot belongs first to the applicants that have waited longer.
func (r *Registrations) freeSlot(s *journal.State, a *Applicant, now time.Time) (replaced []string,
	no *RejectionError) {
	switch {
	case r.Closed || s.Started != nil:
		return nil, Reject(protocol.ErrLateRegistration, "the league has started")
	case late(s, now):
		return nil, Reject(protocol.ErrLateRegistration, "registration ended at %s: ask the organiser",
			s.Configuration.RegistrationUntil)
	case !slices.Contains(a.GameTypes, s.Created.GameType):
		return nil, Reject(protocol.ErrUnsupportedGame, "this league plays %s: an agent that plays it lists it in "+
			"game_types of %s_meta (those of 'evenodd new' in their last lines)", s.Created.GameType, a.Role)
	case r.Large && !a.LargeMessages:
		return nil, Reject(protocol.ErrUnsupportedGame, "messages of %s can have 64 KB: register with "+
			`"large_messages": true in %s_meta if the agent takes them`, s.Created.GameType, a.Role)
	case s.Created.RequiresSignatures() && a.Player() && a.PublicKey == "":
		return nil, Reject(protocol.ErrInvalidFieldType,
			"this league requires signatures: register with player_meta.public_key, and sign your moves")
	case s.Created.RequiresSignatures() && !a.Player() && !a.RelaysSignatures:
		return nil, Reject(protocol.ErrInvalidFieldType,
			"this league requires signatures: verify and report those of the players, and register with referee_meta.relays_signatures")
	}
	if replaced, no = r.replace(s, a, now); no != nil {
		return nil, no
	}
	limit := s.Configuration.MaxPlayers
	if !a.Player() {
		limit = s.Configuration.MaxReferees
	}
	count, _ := s.Registered(a.Player())
	free, oldest := limit-count, silence{} // the agent that has been silent for the longest time
	for _, silent := range r.silent {
		if s.Agents[silent.id].Player != a.Player() {
			continue
		}
		if oldest.id == "" || silent.since.Before(oldest.since) {
			oldest = silent
		}
		if r.left(silent, now) == 0 {
			free++
		}
	}
	ahead := r.waiting.ahead(a, protocol.ErrLeagueFull, now)
	switch full := leagueFull(a, limit, count); {
	case free <= 0 && oldest.id == "":
		return nil, full
	case free <= 0:
		return nil, full.mayBecomeFree(oldest.id, r.left(oldest, now))
	case len(ahead) >= free:
		return nil, full.afterOthers(ahead, now)
	}
	if count-len(replaced) >= limit && !slices.Contains(replaced, oldest.id) {
		replaced = append(replaced, oldest.id)
	}
	return replaced, nil
}

// replace returns the registrations to drop that have the name or the URL of the applicant.
func (r *Registrations) replace(s *journal.State, a *Applicant, now time.Time) (replaced []string, no *RejectionError) {
	for _, conflict := range []struct {
		with      *journal.Agent
		rejection func(a *Applicant, with *journal.Agent) *RejectionError
	}{{r.sameName(s, a), nameTaken}, {lastOf(s.AtURL(a.Player(), protocol.CanonicalURL(a.Endpoint))), urlTaken}} {
		if conflict.with == nil || slices.Contains(replaced, conflict.with.AgentID) {
			continue
		}
		id, no := conflict.with.AgentID, conflict.rejection(a, conflict.with)
		if refused := r.cannotReplace(id, no, now); refused != nil {
			return nil, refused
		}
		if ahead := r.waiting.ahead(a, no.Reason.Code, now); len(ahead) > 0 {
			return nil, no.afterOthers(ahead, now)
		}
		replaced = append(replaced, id)
	}
	return replaced, nil
}

// sameName is the agent that has the name of an applicant, if no other may have it; nil for none.
func (r *Registrations) sameName(s *journal.State, a *Applicant) *journal.Agent {
	if a.Player() && s.Configuration.UniqueDisplayNames || r.Roster.Restricts(a.Player()) {
		return lastOf(s.Named(a.Player(), a.DisplayName))
	}
	return nil
}

func lastOf(agents []*journal.Agent) *journal.Agent {
	if len(agents) == 0 {
		return nil
	}
	return agents[len(agents)-1]
}

// cannotReplace is the rejection of an applicant that needs what an agent has, with the time when this may
// become free; nil if the registration of the agent can be dropped.
func (r *Registrations) cannotReplace(id string, no *RejectionError, now time.Time) *RejectionError {
	switch left := r.GraceLeft(id, now); left {
	case 0:
		return nil
	case math.MaxInt64:
		return no
	default:
		return no.mayBecomeFree(id, left)
	}
}

func nameTaken(a *Applicant, by *journal.Agent) *RejectionError {
	no := Reject(protocol.ErrDuplicateName, "display_name %s is taken: choose another", strconv.Quote(a.DisplayName))
	if by.DisplayName != a.DisplayName {
		no = Reject(protocol.ErrDuplicateName, "display_name %s looks like %s, which is taken: choose another",
			strconv.Quote(a.DisplayName), strconv.Quote(by.DisplayName))
	}
	_ = no.Reason.With("display_name", a.DisplayName).With("suggestion", "Choose a different display_name")
	return no
}

func urlTaken(a *Applicant, _ *journal.Agent) *RejectionError {
	return Reject(protocol.ErrInvalidEndpoint,
		"another %s is registered at this contact_endpoint; to return as that agent, send its auth_token", a.Role)
}

func leagueFull(a *Applicant, limit, count int) *RejectionError {
	no := Reject(protocol.ErrLeagueFull, "the league is full: it takes %d %ss", limit, a.Role)
	_ = no.Reason.With("max_"+a.Role+"s", limit).With("current_"+a.Role+"s", count)
	return no
}

// freeID is the id that an applicant gets: the one it asked for, if that is well
// formed and free, else the lowest free one. The id of a dropped registration is
// never free again.
func (r *Registrations) freeID(s *journal.State, a *Applicant) string {
	parse, format := league.ParseRefereeID, league.RefereeID
	if a.Player() {
		parse, format = league.ParsePlayerID, league.PlayerID
	}
	free := func(id string) bool { return s.Agents[id] == nil && s.Dropped[id] == nil }
	if _, ok := parse(a.AgentID); ok && free(a.AgentID) {
		return a.AgentID
	}
	if r.taken == nil {
		r.taken = map[bool]int{}
	}
	for !free(format(r.taken[a.Player()] + 1)) {
		r.taken[a.Player()]++
	}
	return format(r.taken[a.Player()] + 1)
}

// startAt is when the league starts, with the agents that have answered then: at the time that the organiser planned,
// at that of the configuration, or when registration ends. It is "" for no time.
func startAt(s *journal.State) string {
	if s.StartPlanned != nil {
		return s.StartPlanned.StartAt
	}
	return cmp.Or(s.Configuration.StartAt, s.Configuration.RegistrationUntil)
}

// StartTime is when the league starts, with the agents that have answered then; zero for no time.
func StartTime(s *journal.State) time.Time {
	at, _ := protocol.ParseTimestamp(startAt(s)) // the fold and the command have checked it
	return at
}

// Due tells whether the league starts now: when enough agents have registered and answered,
// and an organiser has not suspended every referee. At its time, or later, MinPlayers and one
// referee are enough. A start that the organiser planned replaces all other rules.
func (r *Registrations) Due(s *journal.State, now time.Time) bool {
	_, players := s.Registered(true)
	_, referees := s.Registered(false)
	at, c := StartTime(s), s.Configuration
	switch {
	case !s.HasReferee(""):
		return false
	case !at.IsZero() && !now.Before(at):
		return players >= c.MinPlayers
	case s.StartPlanned != nil:
		return false
	case r.WindowOver:
		return players >= c.MinPlayers && referees >= c.Referees
	}
	return c.Players > 0 && players >= c.Players && referees >= c.Referees
}

// late tells whether registration has ended.
func late(s *journal.State, now time.Time) bool {
	until, err := protocol.ParseTimestamp(s.Configuration.RegistrationUntil)
	return err == nil && !now.Before(until)
}

// A waitingQueue holds the rejected applicants that were told to apply again, those
// first that have waited longest. Without it a free slot or name would go to the
// applicant that calls most often.
type waitingQueue []waiter

// A waiter is a waiting applicant. Role and URL identify it.
type waiter struct {
	player  bool
	url     string        // see protocol.CanonicalURL
	name    string        // its words.NameKey
	code    protocol.Code // of its last rejection: no slot is free, or its name or URL is taken
	expires time.Time     // the applicant must apply again before
}

const (
	maxWaiters = 1000 // later applicants are not queued
	// waitMargin is how much later than asked an applicant may apply again: clients
	// add up to a tenth of the wait, and a call takes its time.
	waitMargin = 5 * time.Second
)

// ahead are the waiting applicants that have waited longer than a for what a is
// refused with this code: a slot of its role, or its name.
func (q *waitingQueue) ahead(a *Applicant, code protocol.Code, now time.Time) (waiters []waiter) {
	url := protocol.CanonicalURL(a.Endpoint)
	*q = slices.DeleteFunc(*q, func(w waiter) bool { return now.After(w.expires) })
	for _, w := range *q {
		switch {
		case w.player != a.Player():
		case w.url == url:
			return waiters
		case w.code == code && (code == protocol.ErrLeagueFull || code == protocol.ErrDuplicateName &&
			w.name == words.NameKey(a.DisplayName)):
			waiters = append(waiters, w)
		}
	}
	return waiters
}

// update keeps the position of an applicant that may apply again, and removes any
// other applicant: rejection nil means admitted.
func (q *waitingQueue) update(a *Applicant, rejection *RejectionError, now time.Time) {
	w := waiter{player: a.Player(), url: protocol.CanonicalURL(a.Endpoint), name: words.NameKey(a.DisplayName)}
	i := slices.IndexFunc(*q, func(other waiter) bool { return other.player == w.player && other.url == w.url })
	switch {
	case rejection != nil && rejection.Retry > 0:
		w.code = rejection.Reason.Code
		w.expires = now.Add(rejection.Retry + rejection.Retry/10 + waitMargin)
		if i >= 0 {
			(*q)[i] = w
		} else if len(*q) < maxWaiters {
			*q = append(*q, w)
		}
	case i >= 0:
		*q = slices.Delete(*q, i, i+1)
	}
}

// afterOthers adds to a rejection when the applicant may apply again, because a free
// slot or name is kept for applicants that have waited longer: when the position of
// one of them expires.
func (r *RejectionError) afterOthers(ahead []waiter, now time.Time) *RejectionError {
	first := slices.MinFunc(ahead, func(a, b waiter) int { return a.expires.Compare(b.expires) })
	r.Retry = max(time.Second, first.expires.Sub(now))
	r.Reason.Detail += fmt.Sprintf("; %d other applicants have waited longer: try again in %d s", len(ahead),
		wholeSeconds(r.Retry))
	return r
}
