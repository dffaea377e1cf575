package cmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/words"
)

// headPrinter returns a function that prints the signed head of the journal, each head once.
func headPrinter(s streams, sealed func() manager.SignedHead) (seal func()) {
	printed := ""
	return func() {
		if head := sealed(); head.Hash != printed {
			printed = head.Hash
			printHead(s.err, head)
		}
	}
}

// introduce tells the operator where the league is and how to start it.
func (p *managerProcess) introduce(s streams, urls []string, m *manager.Manager) {
	status := m.Status()
	s.note("League %s at %s %s.", p.LeagueID, urls[0], p.situation(status, m.Resumed()))
	for _, other := range urls[1:] {
		s.note("Its manager is also at %s", other)
	}
	if problem := tooLate(status, time.Now()); problem != "" {
		s.note("%s", problem)
	}
	o := opening{url: urls[0], over: status.State == decide.StateLeagueCompleted, status: m.Status}
	if p.listener != nil {
		o.local = p.address.localURL(p.listener)
	}
	if p.page {
		o.shown = p.address.shownURL(p.listener, urls)
		o.page = pageOf(o.shown, p.basePath)
	}
	if p.page && p.host == nil {
		s.note("%s%s", watchPage, o.page)
	}
	if p.data == "" {
		s.note("The admin token, for 'evenodd league' (%s): %s", adminTokenVariable, m.AdminToken())
	} else { // many people see a terminal or a log
		s.note("'evenodd league token' prints the admin token.")
	}
	p.host.listens(p.listener, o)
}

// situation describes the state of the league to the operator.
func (o *managerOptions) situation(status manager.Status, resumed bool) string {
	switch {
	case status.State == decide.StateLeagueCompleted:
		return fmt.Sprintf("is over already: %d of %d matches recorded. A new one needs --new-league or another "+
			"--league-id", status.Recorded, status.Matches)
	case status.Matches > 0:
		most := atMost(status.AtMost)
		return fmt.Sprintf("resumes: round %d of %s%d, %d of %s%d matches recorded", max(status.Round, 1), most,
			status.Rounds, status.Recorded, most, status.Matches)
	}
	text := fmt.Sprintf("waits for %s and %s", words.Counted(o.Players, "player"),
		words.Counted(o.Referees, "referee"))
	if o.Players == 0 {
		text = "waits for its start by the organiser"
	}
	if status.StartAt != "" {
		text = "starts at " + localTimes(status.StartAt)
		if end := status.RegistrationUntil; end != "" && end != status.StartAt {
			text += "; registration ends at " + localTimes(end)
		}
	}
	if resumed {
		silent := ""
		if len(status.Awaited) > 0 {
			silent = "; no answer yet from " + strings.Join(status.Awaited, ", ")
		}
		text = fmt.Sprintf("resumes: %d players and %d referees have registered%s; it %s", status.Players,
			status.Referees, silent, text)
	}
	return text
}

// howToResume tells the operator how to resume an interrupted league.
func howToResume(status manager.Status, data string) string {
	recorded := "The league has not begun."
	if status.Matches > 0 {
		recorded = fmt.Sprintf("%d of %s%d matches were recorded.", status.Recorded, atMost(status.AtMost), status.Matches)
	}
	if data == "" {
		return recorded + " The league has no data folder: a new start begins a new league."
	}
	return fmt.Sprintf("%s Run the same command again to resume; the league is in %s.", recorded, data)
}

// printHead prints the head of a journal with the manager's key. Anyone who knows them
// detects later changes of the league. It prints nothing for a league without a journal.
func printHead(w io.Writer, head manager.SignedHead) {
	switch {
	case head.Hash == "":
	case head.Signature == "":
		_ = printLine(w, "Journal head: %s, not signed", head.Hash)
	default:
		_ = printLine(w, "Journal head: %s, signed with the manager's key %s", head.Hash, head.Key)
	}
}
