package journal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

	"evenodd/league"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// Algorithm is the pairing method of a round-robin of a game whose sides are alike, as its start names it.
const Algorithm = pairing.Circle

// AuthLenient is the Auth of a league in which third-party agents need no token.
const AuthLenient = protocol.AuthLenient

// Created is the first event of a journal: the rules of the league, which never
// change.
type Created struct {
	SchemaVersion string `json:"schema_version"`
	LeagueID      string `json:"league_id"`
	DisplayName   string `json:"display_name,omitzero"`
	GameType      string `json:"game_type"`
	protocol.GameID
	Legs        int                `json:"legs"`
	Scoring     league.MatchPoints `json:"scoring"`
	Tiebreakers []string           `json:"tiebreakers"`
	TokenLength int                `json:"token_length,omitzero"` // in characters; 0 for the whole token
	// failures in a row after which an agent is suspended, and after which its part in the league is over; 0 for never
	SuspendAfter  int         `json:"suspend_after,omitzero"`
	ShutdownAfter int         `json:"shutdown_after,omitzero"`
	Auth          string      `json:"auth,omitzero"`       // AuthLenient or ""
	Tournament    *Tournament `json:"tournament,omitzero"` // nil for a round-robin

	// Openings is the number of plies with which both matches of a pair of legs begin; 0 for none.
	Openings int `json:"openings,omitzero"`

	// TimeBank is the time of each side of a match for all of its moves; nil for windows alone.
	TimeBank *protocol.TimeBank `json:"time_bank,omitzero"`

	// RegistrationGrace is the time in seconds that a registered agent has to answer
	// before its registration may be dropped; 0 for agents that listen before they register:
	// they count as answered, and the manager does not ping them.
	RegistrationGrace int `json:"registration_grace_sec,omitzero"`

	// ManagerKey is the public key with which the manager signs heads; "" for a league that
	// does not sign.
	ManagerKey string `json:"manager_key,omitzero"`

	// SecretNonce is that from which the manager's secret follows, with a secret that no other league shares
	// (protocol.MasterSecret); "" for a random secret.
	SecretNonce string `json:"secret_nonce,omitzero"`

	Configuration `json:"configuration,omitzero"`

	Simulation *Simulation `json:"simulation,omitzero"` // the origin of a simulated league; nil for a real one
}

// Signs tells whether the manager signs heads, and gives the agents what they need to sign
// moves.
func (d *Created) Signs() bool { return d.ManagerKey != "" }

// Lenient tells whether third-party agents need no token.
func (d *Created) Lenient() bool { return d.Auth == AuthLenient }

// Features are what a referee of the league must know of matches, beyond the usual: see protocol.RefereeMeta.
func (d *Created) Features() (needed []string) {
	if d.Openings > 0 {
		needed = append(needed, protocol.FeatureOpenings)
	}
	if d.TimeBank != nil {
		needed = append(needed, protocol.FeatureTimeBank)
	}
	return needed
}

// RequiresSignatures tells whether the league admits only players with keys, and referees
// that relay signatures.
func (d *Created) RequiresSignatures() bool { return d.Signatures == SignaturesRequired }

// RequiresEvidence tells whether the league records no WIN or DRAW below GradeRecomputed.
func (d *Created) RequiresEvidence() bool { return d.Evidence == GradeRecomputed }

// Simulation is the input of a simulated league.
type Simulation struct {
	Seed       uint64   `json:"seed"`
	Players    int      `json:"players"`
	Referees   int      `json:"referees"`
	Strategies []string `json:"strategies"`
	Faults     string   `json:"faults,omitzero"` // the injected faults
	// players that ran in other processes: their moves do not follow from the seed
	ExternalPlayers int `json:"outside,omitzero"`

	// Entrants are the players in the order of their ids, if the league was given each of them
	// instead of Strategies.
	Entrants []SimulatedEntrant `json:"entrants,omitzero"`
}

// A SimulatedEntrant is one player of a simulated league.
type SimulatedEntrant struct {
	Name     string `json:"name"`
	Strategy string `json:"strategy"` // with the model's name for a language model: llm:qwen3
}

func (d *Created) apply(s *State, _ string) error {
	err := store.CheckSchema(d.SchemaVersion)
	switch {
	case s.Created != nil:
		return errors.New("a league is created once")
	case err != nil:
		return err
	case d.Legs < 1:
		return fmt.Errorf("legs: %d", d.Legs)
	case d.ManagerKey != "" && !protocol.ValidPublicKey(d.ManagerKey):
		return fmt.Errorf("manager_key: %.80q", d.ManagerKey)
	case d.TokenLength < 0 || d.TokenLength > protocol.MaxTokenLength:
		return fmt.Errorf("token_length: %d; the longest is %d", d.TokenLength, protocol.MaxTokenLength)
	case d.Auth != "" && d.Auth != AuthLenient:
		return fmt.Errorf("auth: %.40q", d.Auth)
	}
	err = cmp.Or(d.TableScoring().Validate(), d.Tournament.check(d.Legs), d.CheckOpenings(), d.TimeBank.Check())
	if err != nil {
		return err
	}
	s.Created, s.Configuration = d, &d.Configuration
	return nil
}

// CheckOpenings returns an error for a league that cannot have openings: both matches that begin with one are those of
// a pair in two legs.
func (d *Created) CheckOpenings() error {
	switch {
	case d.Openings == 0:
		return nil
	case d.Openings < 0:
		return fmt.Errorf("an opening cannot have %d plies", d.Openings)
	case !d.Tournament.IsFixed() && !d.Tournament.IsSequential():
		return fmt.Errorf("a tournament of format %s has no openings: they need a round-robin or gauntlet",
			d.Tournament.Format())
	case d.Legs%2 != 0:
		return fmt.Errorf("each opening is played from both sides, so that the number of legs must be even, not %d: set "+
			"legs to %d", d.Legs, d.Legs+1)
	case d.Plain():
		return errors.New("openings and members: plain exclude each other, because chapter 4 has none")
	}
	return nil
}

// DoubleLeg is the number of the two legs to which a round belongs, from 1; 0 in a league without openings, and before
// the start. In the two legs a pair meets from both sides, with the same opening.
func (s *State) DoubleLeg(round int) int {
	legged, ok := s.pairer.(pairing.Legged)
	if !ok || s.Started == nil || s.Created.Openings == 0 {
		return 0
	}
	return (legged.Leg(round) + 1) / 2
}

// TableScoring is the scoring and the tie-breakers in one value.
func (d *Created) TableScoring() league.Scoring {
	return league.Scoring{MatchPoints: d.Scoring, Tiebreakers: d.Tiebreakers}
}

// Started fixes the participants, each list in order of ids. The pairings of a
// round-robin follow from the players by the algorithm, which is "" for other formats:
// see Tournament.
type Started struct {
	Algorithm string   `json:"algorithm,omitzero"`
	Players   []string `json:"players"`
	Referees  []string `json:"referees"`

	// Keys are the public keys of the participants that have one, by their ids. A league
	// that does not sign has none.
	Keys map[string]string `json:"keys,omitzero"`

	// Config are the digests of the files below config that the manager could read, by their paths there
	// (store.Folder.ConfigDigests). The public form of the event lacks them.
	Config map[string]string `json:"config,omitzero"`
}

// maxMatches is the largest number of matches of a league. It limits the time that a journal
// of a few lines can cost.
const maxMatches = 1 << 27

// CheckMatches returns an error if a league of so many players and legs has more matches than
// a journal can hold.
func (t *Tournament) CheckMatches(players, legs int) error {
	pairer, err := pairing.New(t.For(players, legs))
	if err == nil {
		err = checkMatches(pairer, players, legs)
	}
	return err
}

func checkMatches(pairer pairing.Pairer, players, legs int) error {
	if pairer.Matches() > maxMatches {
		return fmt.Errorf("%d players and %d legs make %d matches: more than the %d that a league can have", players, legs,
			pairer.Matches(), maxMatches)
	}
	return nil
}

func (d *Started) apply(s *State, _ string) error {
	if s.Started != nil {
		return errors.New("a league starts once")
	}
	if err := errors.Join(s.checkParticipants(d.Players, true), s.checkParticipants(d.Referees, false)); err != nil {
		return err
	}
	if len(d.Players)+len(d.Referees) != len(s.Agents) {
		return fmt.Errorf("%d players and %d referees start, but %d agents are registered", len(d.Players), len(d.Referees),
			len(s.Agents))
	}
	if !s.HasReferee("") {
		return errors.New("a league starts without a referee that is left")
	}
	if keys := s.PublicKeys(); !maps.Equal(d.Keys, keys) {
		return fmt.Errorf("the start names %d keys: they are not the %d that the agents registered", len(d.Keys), len(keys))
	}
	pairer, err := s.newPairer(d)
	if err != nil {
		return err
	}
	if err := checkMatches(pairer, len(d.Players), s.Created.Legs); err != nil {
		return err
	}
	standings, err := s.Created.newTable(len(d.Players))
	if err != nil {
		return err
	}
	s.Started, s.pairer, s.Table, s.absent = d, pairer, standings, make(pairing.Absences, len(d.Players))
	for i, id := range d.Players {
		s.playerIndexes[id] = i
	}
	return nil
}

// newTable makes the table of the league before its first result.
func (d *Created) newTable(players int) (*league.Table, error) {
	t, err := league.New(players, d.TableScoring())
	if err == nil && d.Tournament.IsSwiss() {
		t.UseSwissRules()
	}
	return t, err
}

// checkParticipants checks one list of a start.
func (s *State) checkParticipants(ids []string, players bool) error {
	for i, id := range ids {
		a := s.Agents[id]
		switch {
		case a == nil || a.Player != players:
			return unregistered(id)
		case !a.Answered:
			return fmt.Errorf("%s takes part, but has not answered", id)
		case i > 0 && league.CompareIDs(ids[i-1], id) >= 0:
			return fmt.Errorf("%s stands behind %s: ids are in ascending order", id, ids[i-1])
		}
	}
	return nil
}

// RoundAnnounced opens a round.
type RoundAnnounced struct {
	RoundID  int         `json:"round_id"`
	Pairings [][2]string `json:"pairings,omitzero"` // ids of players A and B of each match; absent in a round-robin
	Referees []string    `json:"referees"`          // of the matches, in their order
	// In a Swiss system after withdrawals: pairs that have met before, and players that had a bye before
	RepeatedPairs int `json:"repeated_pairs,omitzero"`
	RepeatedByes  int `json:"repeated_byes,omitzero"`
}

func (d *RoundAnnounced) apply(s *State, at string) error {
	pairings, err := s.announced(d)
	switch {
	case err != nil:
		return err
	case s.Open():
		return fmt.Errorf("round %d is announced while round %d is open", d.RoundID, s.Round)
	case s.Paused != nil:
		return fmt.Errorf("round %d is announced, but the league is paused, %v", d.RoundID, s.Paused)
	case len(s.Rematches) > 0:
		return fmt.Errorf("round %d is announced, but the rematch of %s has no result yet", d.RoundID, s.Rematches[0])
	case d.RoundID != s.Round+1 || d.RoundID > s.TotalRounds():
		return fmt.Errorf("round %d is announced after round %d of %d", d.RoundID, s.Round, s.TotalRounds())
	case len(d.Referees) != len(pairings):
		return fmt.Errorf("round %d has %d matches, but %d referees are named", d.RoundID, len(pairings), len(d.Referees))
	}
	for _, id := range d.Referees {
		if err := s.checkReferee(id); err != nil {
			return err
		}
	}
	byes := s.paidByes(pairings)
	if pairs, again := s.repeated(pairings, byes); pairs != d.RepeatedPairs || again != d.RepeatedByes {
		return fmt.Errorf("round %d names %d pairs that have met and %d second byes, but has %d and %d", d.RoundID,
			d.RepeatedPairs, d.RepeatedByes, pairs, again)
	}
	for i, id := range d.Referees {
		s.Agents[id].Assigned++
		s.countMeeting(id, pairings[i], 1)
	}
	s.countUnpaired(d.RoundID, pairings, byes)
	s.Round = d.RoundID
	matches, attempts := make([]Match, len(pairings)), make([]Attempt, len(pairings))
	for i := range matches {
		matches[i].Attempts = attempts[i : i : i+1] // most matches need one
	}
	s.Rounds = append(s.Rounds, Round{Pairings: pairings, Matches: matches, Referees: d.Referees, AnnouncedAt: at,
		Byes: byes})
	return nil
}

// RoundCompleted closes a round of which every match has a result.
type RoundCompleted struct {
	RoundID int                   `json:"round_id"`
	Summary protocol.RoundSummary `json:"summary"`
}

func (d *RoundCompleted) apply(s *State, at string) error {
	if !s.Open() || d.RoundID != s.Round {
		return fmt.Errorf("round %d is completed, but it is not open", d.RoundID)
	}
	want := s.Summary(d.RoundID)
	if want.Wins+want.Draws+want.TechnicalLosses != want.TotalMatches {
		return fmt.Errorf("round %d is completed while matches of it have no result", d.RoundID)
	}
	if d.Summary != want {
		return fmt.Errorf("round %d: the summary is %+v, by its results it is %+v", d.RoundID, d.Summary, want)
	}
	r := &s.Rounds[s.Round-1]
	r.CompletedAt, r.Summary = at, d.Summary
	s.remember(r)
	for _, id := range s.Started.Referees {
		s.Agents[id].countRound()
	}
	return nil
}

// LeagueCompleted makes the table final.
type LeagueCompleted struct {
	Champion league.Champion `json:"champion"`
}

func (d *LeagueCompleted) apply(s *State, _ string) error {
	switch {
	case s.Completed != nil:
		return errors.New("a league is completed once")
	case s.Started == nil || s.Open() || s.HasRound(s.Round+1):
		return errors.New("the league is completed before its last round is")
	case s.Paused != nil:
		return fmt.Errorf("the league is completed while it is paused, %v", s.Paused)
	case len(s.Rematches) > 0:
		return fmt.Errorf("the league is completed, but the rematch of %s has no result yet", s.Rematches[0])
	}
	first := s.Ranking()[0]
	if id := s.Started.Players[first.Player]; d.Champion.PlayerID != id || d.Champion.Points != first.Points {
		return fmt.Errorf("the champion is %s with %d points, by the table it is %s with %d",
			d.Champion.PlayerID, d.Champion.Points, id, first.Points)
	}
	s.Completed = d
	return nil
}

// TailLost records that standings.json names a later event than the journal has. The
// manager continued from the journal. The event changes nothing.
type TailLost struct {
	Head string `json:"head"` // the journal's last hash by standings.json
}

func (*TailLost) apply(*State, string) error { return nil }

// ManagerTookOver records that another process of a manager leads the league from here on. The one before can append
// no event behind it.
type ManagerTookOver struct {
	Manager string `json:"manager,omitzero"` // its name, for people
	Term    int    `json:"term"`             // grows with each takeover
}

// A Leader is the manager that took a league over, with the time.
type Leader struct {
	ManagerTookOver

	At string `json:"at"`
}

// maxManagerName is the longest name of a manager, in bytes.
const maxManagerName = 255

func (d *ManagerTookOver) apply(s *State, at string) error {
	last := protocol.ValueOf(s.Leader).Term
	if d.Term <= last || len(d.Manager) > maxManagerName {
		return fmt.Errorf("manager %.60q takes over in term %d, after term %d", d.Manager, d.Term, last)
	}
	s.Leader = &Leader{*d, at}
	return nil
}
