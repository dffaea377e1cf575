package report

import (
	"cmp"
	"fmt"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// Game is the name of the game for people.
func (r *Report) Game() string { return r.state.Games.Name(r.League.GameType) }

// Format is the format of the league for people.
func (r *Report) Format() string {
	return record.FormatInWords(r.state.Created)
}

// Mistakes say which moves of a match gave away a win or a draw.
func (s *Sheet) Mistakes(matchID string) []string {
	if game := s.report.games[matchID]; game != nil {
		return game.Mistakes()
	}
	return nil
}

// Ref is an agent as people know it.
func (s *Sheet) Ref(id string) league.Ref { return s.report.Ref(id) }

// Name is the name of the league for people.
func (l *League) Name() string { return cmp.Or(l.DisplayName, l.LeagueID) }

// Ref is an agent as people know it.
func (r *Report) Ref(id string) league.Ref { return r.state.Ref(id) }

// EvidenceInWords is Evidence for people.
func (r *Report) EvidenceInWords() []string { return decide.EvidenceInWords(r.state.State) }

// NameOf is the display name of an agent, as data have it; "" for an unknown id.
func (r *Report) NameOf(id string) string { return r.state.NameOf(id) }

// Headline names the league and its champion.
func (r *Report) Headline() string {
	if r.League.Champions == "" {
		return r.Title()
	}
	return r.League.Name() + ". " + r.League.Champions
}

// Title describes the league in one line.
func (r *Report) Title() string {
	l := &r.League
	return fmt.Sprintf("%s: %s, %d of %d matches have a result", l.Name(), l.Words(), l.Recorded, l.Matches)
}

// Words tell the state of the league.
func (l *League) Words() string {
	switch {
	case l.State == decide.StateLeagueCompleted:
		return "completed"
	case l.Paused != nil:
		return fmt.Sprintf("paused by %s after round %d of %d", l.Paused.By, l.CompletedRounds, l.Rounds)
	case l.State == decide.StateRunningLeague:
		return fmt.Sprintf("running, round %d of %d", l.Round, l.Rounds)
	}
	return "waiting for agents"
}

// Ranking are the labels of the tie-breaks.
func (l *League) Ranking() []string { return lists.Map(l.Tiebreakers, league.TiebreakLabel) }

// Sentence tells the fault of a group, how often it happened, and its consequence.
func (g *FaultGroup) Sentence() string {
	text := map[string]string{
		kindAnswer:   "No answer that counts",
		kindNotice:   "A notice was not acknowledged",
		kindRefusal:  "An invitation was refused",
		kindForfeit:  "Forfeits",
		kindLocal:    "Void tries, because of the machine or the network of the referee",
		kindAttempt:  "Failed with a match",
		kindRejected: "The manager rejected a report",
		kindDispute:  "Reported another result of a match",
	}[g.Kind]
	if g.Cause != "" {
		text = strings.ToUpper(g.Cause[:1]) + g.Cause[1:]
	}
	var about []string
	if g.Method != "" {
		about = append(about, g.Method)
	}
	if g.Code != "" {
		about = append(about, g.Code)
	}
	if len(about) > 0 {
		text += ", " + strings.Join(about, ", ")
	}
	text += ": " + words.Times(g.Count)
	if g.Lost > 0 {
		text += ", " + words.Counted(g.Lost, "technical loss")
	}
	return text
}

// Words tell whether the journal is signed.
func (s *Seal) Words() string {
	switch s.State {
	case SealUnsigned:
		return "The league is not signed."
	case SealValid, SealEarlier:
		return fmt.Sprintf("Signed: the manager's signature covers %d of %d events.", s.Covered, s.Events)
	}
	return "The manager's signature is " + s.State + ": 'evenodd audit' tells more."
}

// StateWords tell the state of the agent.
func (s *Sheet) StateWords() string {
	return record.Public(s.report.state.StateInWords(s.report.state.Agents[s.Agent.AgentID]))
}

// StandingLine tells the place of the player in the table.
func (s *Sheet) StandingLine() string {
	r := s.Standing
	if r.Played == 0 && s.League.Recorded == 0 {
		return "No match has a result yet"
	}
	text := fmt.Sprintf("Rank %d of %d: %s in %s: %s, %s, %s", r.Rank, s.League.Players,
		words.Counted(r.Points, "point"), words.Counted(r.Played, "match"),
		words.Counted(r.Wins, "win"), words.Counted(r.Draws, "draw"), words.Counted(r.Losses, "loss"))
	if r.TechnicalLosses > 0 {
		text += fmt.Sprintf(" (%d technical)", r.TechnicalLosses)
	}
	if r.Fallbacks > 0 {
		text += fmt.Sprintf("; %s: moves that its model or host did not choose", words.Counted(r.Fallbacks, "fallback"))
	}
	return text
}

// RatingWords tell what the results show about the strength of the player; "" for a referee.
func (s *Sheet) RatingWords() string {
	if s.Rating == nil || s.Rating.Matches == 0 {
		return ""
	}
	return fmt.Sprintf("By strength, the results allow rank %s of %d.", s.Rating.Ranks(), s.League.Players)
}
