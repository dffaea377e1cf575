package simulation

import (
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/simulation/faults"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy/external"
)

// state is the state of the league when this process began.
func (o *Options) state() *journal.State {
	if o.Files == nil {
		return journal.NewState()
	}
	return o.Files.State
}

// nextRound is the first round that this process plays.
func (o *Options) nextRound() int { return o.state().CompletedRounds() + 1 }

// resume takes the options of a league that has begun from its journal. The caller validates
// them.
func (o *Options) resume() error {
	created := o.state().Created
	if created == nil {
		return nil
	}
	from := created.Simulation
	if from == nil {
		return fmt.Errorf("the league %s in %s is not a simulation", created.LeagueID, o.Files.Folder)
	}
	if from.ExternalPlayers > 0 || o.External != nil {
		return fmt.Errorf("the league %s cannot be resumed: it has external players, whose state is unknown",
			created.LeagueID)
	}
	if err := o.sameEntrants(created.LeagueID, from.Entrants); err != nil {
		return err
	}
	for _, name := range from.Strategies { // a folder from another machine must not run programs on this one
		if external.Runs(name) && !slices.Contains(o.Strategies, name) {
			return fmt.Errorf("the league %s was played by programs: name %q with --strategies as well, to run it",
				created.LeagueID, name)
		}
	}
	o.Seed, o.Players, o.Referees, o.Strategies, o.Faults = from.Seed, from.Players, from.Referees, from.Strategies,
		from.Faults
	o.Sign = created.Signs()
	o.LeagueID, o.GameType, o.Legs, o.Tournament = created.LeagueID, created.GameType, created.Legs, created.Tournament
	o.TimeBank = created.TimeBank
	return nil
}

// folder is where the agents store their files; zero for nowhere.
func (o *Options) folder() store.Folder {
	if o.Files == nil {
		return store.Folder{}
	}
	return o.Files.Folder
}

// past are the matches that a player of a resumed league has played. They come from the
// journal, because the player's own file may lack the last ones, and exclude the results
// that the player never received.
func (s *runningLeague) past(id string) []store.HistoryMatch {
	if s.options.Files == nil {
		return nil
	}
	past := []store.HistoryMatch{}
	state := s.options.state()
	index, takesPart := state.PlayerIndex(id)
	for round := 1; takesPart && round <= state.Round; round++ {
		_, number, ok := state.Opponent(round, index)
		if !ok {
			continue
		}
		match := league.MatchID{Round: round, Number: number}
		attempt, result := s.played(match)
		if result != nil && (s.faulty == nil || s.faulty.learnsResult(match, id)) {
			past = append(past, player.Seen(id, match.String(), attempt, result))
		}
	}
	return past
}

// played is the last result of a match that its players were told, and its attempt. An annulled one counts: the players
// forget it when they learn that of the rematch. A ruling does not: nobody tells the players, and they remember what
// they have played, which only the files of the referee may have, because the ruling came before its report. The result
// is nil for none.
func (s *runningLeague) played(id league.MatchID) (attempt int, result *league.Result) {
	m := s.options.state().Match(id)
	last, ruled := m.Outcome, false
	for i := len(m.Annulled) - 1; i >= 0 && (last.Report == nil || last.Ruled != nil); i-- {
		ruled = ruled || last.Ruled != nil
		last = m.Annulled[i].Outcome
	}
	if ruled = ruled || last.Ruled != nil; last.Report != nil && last.Ruled == nil {
		attempt, result = last.Report.Number, &last.Report.Result
	}
	for i := len(m.Attempts) - 1; ruled && i >= attempt; i-- { // the attempts are numbered from 1
		if filed := s.filed(id, m.Attempts[i]); filed != nil {
			return m.Attempts[i].Number, filed
		}
	}
	return attempt, result
}

// filed is the result of an attempt in the files of its referee; nil for none.
func (s *runningLeague) filed(id league.MatchID, a journal.Attempt) *league.Result {
	folder, leagueID := s.options.folder(), s.options.state().Created.LeagueID
	doc, err := folder.LoadAttempt(leagueID, id.String(), a.Number)
	if err != nil || doc.WrittenBy != store.WrittenByReferee {
		log, err := store.ReadMatchLog(folder.Disk, folder.MatchLog(leagueID, a.Referee))
		if err != nil {
			return nil
		}
		logged := log.Find(id.String(), a.Number)
		if logged == nil {
			return nil
		}
		doc = logged.Match
	}
	if doc.Result == nil {
		return nil
	}
	return &doc.Result.Result
}

// isOut tells whether the part of an agent in the league was over in an earlier process: it was shut down or withdrawn.
// The agent cannot register again, and no agent calls it.
func (o *Options) isOut(id string) bool {
	a := o.state().Agents[id]
	return a != nil && a.PartOver() != ""
}

// hasDied tells whether a referee has died in an earlier process of the league, because
// it got a match.
func (s *runningLeague) hasDied(id string) bool {
	if s.faulty == nil {
		return false
	}
	for i, round := range s.options.state().Rounds {
		got := func(m journal.Match) bool { return m.LastAttempt(id) > 0 }
		if faults.Active(s.faulty.plan.RefereeCrash, id, i+1) && slices.ContainsFunc(round.Matches, got) {
			return true
		}
	}
	return false
}
