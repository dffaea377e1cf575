package report

import (
	"cmp"
	"fmt"

	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// Title describes the league in one line.
func (r *Report) Title() string {
	l := &r.League
	return fmt.Sprintf("%s: %s, %d of %d matches have a result", cmp.Or(l.DisplayName, l.LeagueID), l.Words(), l.Recorded, l.Matches)
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

// Format tells the format of the league in words.
func (l *League) Format() string {
	return record.FormatInWords(l.Tournament, l.Legs)
}

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
	switch {
	case g.Method == "":
	case g.Kind == kindAnswer:
		text += " to " + g.Method
	case g.Kind == kindNotice || g.Kind == kindLocal:
		text += " (" + g.Method + ")"
	}
	if g.Code != "" {
		text += fmt.Sprintf(", %s %s", g.Code, g.Name)
	}
	text += ": " + protocol.Times(g.Count)
	if g.Lost > 0 {
		text += ", " + protocol.Counted(g.Lost, "technical loss")
	}
	return text
}

// Words tell whether the journal is signed.
func (s *Seal) Words() string {
	switch s.State {
	case SealValid:
		return fmt.Sprintf("Signed: the manager's signature covers all %d events.", s.Events)
	case SealEarlier:
		return fmt.Sprintf("Signed: the manager's signature covers %d of %d events, as while a league is running.", s.Covered, s.Events)
	case SealUnknown:
		return "The manager has signed an event that the journal does not have: 'evenodd audit' tells more."
	case SealInvalid:
		return "The manager's signature is not valid: 'evenodd audit' tells more."
	case SealMissing:
		return "The manager's signature is missing: 'evenodd audit' tells more."
	}
	return "The league is not signed."
}

// StandingLine tells the place of the player in the table.
func (s *Sheet) StandingLine() string {
	r := s.Standing
	if r.Played == 0 && s.League.Recorded == 0 {
		return "No match has a result yet"
	}
	text := fmt.Sprintf("Rank %d of %d: %s in %s: %s, %s, %s", r.ShownRank(), s.League.Players, protocol.Counted(r.Points, "point"),
		protocol.Counted(r.Played, "match"), protocol.Counted(r.Wins, "win"), protocol.Counted(r.Draws, "draw"), protocol.Counted(r.Losses, "loss"))
	if r.TechnicalLosses > 0 {
		text += fmt.Sprintf(" (%d technical)", r.TechnicalLosses)
	}
	if r.Fallbacks > 0 {
		text += fmt.Sprintf("; %s: moves that its model or host did not choose", protocol.Counted(r.Fallbacks, "fallback"))
	}
	return text
}

// Outcome is the result of a match: for a player won, drawn, lost or lost technically, for a
// referee the winner.
func (s *Sheet) Outcome(m *Match) string {
	switch {
	case m.Status == record.StatusScheduled:
		return "planned"
	case m.Status == record.StatusRunning:
		return "no result yet"
	case m.Status == protocol.StatusDraw:
		return "draw"
	case s.Standing == nil && m.WinnerPlayerID == nil:
		return "both lost technically"
	case s.Standing == nil && m.Status == protocol.StatusTechnicalLoss:
		return *m.WinnerPlayerID + " won by default"
	case s.Standing == nil:
		return *m.WinnerPlayerID + " won"
	case m.WinnerPlayerID != nil && *m.WinnerPlayerID == s.Agent.AgentID && m.Status == protocol.StatusTechnicalLoss:
		return "won by default"
	case m.WinnerPlayerID != nil && *m.WinnerPlayerID == s.Agent.AgentID:
		return "won"
	case m.Status == protocol.StatusTechnicalLoss:
		return "lost technically"
	}
	return "lost"
}

// ratingWords tell what the rating of a player means.
func ratingWords(r *record.Rating, players int) string {
	if r.Matches == 0 {
		return "No match shows how strong the player is."
	}
	if r.BestRank == r.WorstRank {
		return fmt.Sprintf("The results show rank %d of %d by strength.", r.BestRank, players)
	}
	return fmt.Sprintf("By strength, the results allow each rank from %d to %d of %d.", r.BestRank, r.WorstRank, players)
}

// RatingWords tell what the results show about the strength of the player; "" for a referee.
func (s *Sheet) RatingWords() string {
	if s.Rating == nil {
		return ""
	}
	return ratingWords(s.Rating, s.League.Players)
}
