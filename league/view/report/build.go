package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/league/words"
	"evenodd/rules"
)

// Limits of a report.
const (
	maxTranscripts = 200
	maxGames       = 200 // matches whose positions are shown
	maxAnswer      = 400 // bytes of an answer in a fault
)

// A builder makes a report.
type builder struct {
	*Report

	only     string // the agent whose transcripts the report has; "" for all
	endpoint map[string]string
	draws    map[league.Attempt]*protocol.Draw
	failures []record.Fault // of referees
	declined map[string]int // matches, by referee

	serious, minor []Transcript
}

// Options select a report.
type Options struct {
	LeagueID string
	Agent    string // the transcripts are those of this agent, by its id or its name; "" for all
	Games    rules.Registry
	Zone     *time.Location // of the times in HTML; nil is UTC
}

// Read makes the report of a league from its data folder.
func Read(ctx context.Context, folder store.Folder, o Options) (*Report, error) {
	r := &Report{SchemaVersion: SchemaVersion, state: record.NewLeague(), health: record.NewHealth(),
		history: map[string][]HistoryEntry{}, games: map[string]*record.Conversation{}}
	r.state.Games, r.state.Zone = o.Games, o.Zone
	b := &builder{Report: r, endpoint: map[string]string{},
		draws: map[league.Attempt]*protocol.Draw{}, declined: map[string]int{}}
	source := record.NewFolder(folder, o.LeagueID)
	sealed, err := store.Read[store.Standings](folder.Disk,
		folder.Standings(o.LeagueID)) // before the journal, which may grow
	if err == nil {
		r.Seal.SignedHead, r.Seal.Signature = sealed.JournalHead, sealed.JournalHeadSignature
	}
	r.state.Hide = hideIn
	if err := r.state.Update(ctx, source, func(e *journal.Event, _ string) {
		b.add(e)
		if r.state.Head == r.Seal.SignedHead {
			r.Seal.Covered = e.Seq
		}
	}); err != nil {
		return nil, err
	}
	if r.state.Created == nil {
		return nil, record.NoEvent(o.LeagueID)
	}
	if o.Agent != "" {
		if b.only, err = r.state.FindAgent(o.Agent); err != nil {
			return nil, err
		}
		r.AgentID = b.only
	}
	if r.Unreadable, err = source.Attempts(b.transcript); err != nil {
		return nil, err
	}
	if err := b.addMatches(); err != nil {
		return nil, err
	}
	b.describe()
	b.seal()
	r.Standings, r.Decisions, r.Evidence = r.state.Standings(), r.state.DecisionsMade(0), decide.Evidence(r.state.State)
	if r.state.Started != nil {
		results := r.state.Results(o.Games)
		for i := range results.Players {
			results.Players[i].Strategy = publicStrategy(results.Players[i].Strategy)
		}
		r.Standings = results.Players // with the strategies
		r.Statistics = results.Statistics()
	}
	r.Models = folder.Models(o.LeagueID)
	b.addCrossTable()
	b.addProgress()
	b.addAgents()
	b.completeFaults()
	r.Faults = groups(r.faults, mostOccurrences, r.order())
	r.Transcripts = slices.Concat(b.serious, b.minor[:min(len(b.minor), maxTranscripts-len(b.serious))])
	r.Omitted += len(b.serious) + len(b.minor) - len(r.Transcripts)
	return r, nil
}

// order are the positions of the agents in the report.
func (r *Report) order() map[string]int {
	order := map[string]int{}
	for i := range r.Agents {
		order[r.Agents[i].AgentID] = i
	}
	return order
}

// describe completes the description of the league.
func (b *builder) describe() {
	s, d, one := b.state, b.state.Created, &b.League
	one.Progress, one.Legs, one.At, one.CompletedRounds = s.Progress(), d.Legs, s.At, s.CompletedRounds()
	one.Scoring, one.Tiebreakers, one.Auth = d.Scoring, d.Tiebreakers, d.Auth
	one.SuspendAfter, one.ShutdownAfter = d.SuspendAfter, d.ShutdownAfter
	c := *s.Configuration
	c.AllowedEndpoints = nil
	one.Configuration = &c
	if s.Completed != nil {
		champion := s.Champion()
		one.Champion, one.Simulation = &champion, publicSimulation(d.Simulation)
		rows := s.Standings()
		for i := range rows {
			rows[i].ShownName = "" // documents have display names
		}
		one.ChampionLine, one.Champions = record.ChampionLine(rows, s.Champion()), s.ChampionLine()
	}
}

// addMatches adds the matches of all known rounds.
func (b *builder) addMatches() (err error) {
	b.Matches, err = b.state.Schedule(0)
	for i := range b.Matches {
		m := &b.Matches[i]
		id, _ := league.ParseMatchID(m.MatchID)
		d := b.draws[league.Attempt{MatchID: id, Number: m.Attempt}] // none without a result
		m.Draw = record.NewDraw(d, b.state.Created.LeagueID, m.MatchID, m.Attempt, m.RefereeID)
	}
	return err
}

// transcript reads the transcript of an attempt.
func (b *builder) transcript(doc *store.Match) error {
	id, ok := league.ParseMatchID(doc.MatchID)
	m, _, _, known := b.state.Find(id)
	if !ok || !known || m.Report == nil {
		return nil // of a match that is being played, or is no match of this league
	}
	b.addGame(m, doc)
	found := b.health.Add(doc)
	for i := range found {
		f := &found[i]
		f.Kind, f.Problem, f.Answer = kindOf(f), record.Public(f.Problem), words.Clip(record.Public(f.Answer), maxAnswer)
	}
	b.faults = append(b.faults, found...)
	why := whyShown(m, doc, found)
	if !b.concerns(doc, found) {
		why = nil
	}
	list := &b.minor
	if m.Report.Status == league.StatusTechnicalLoss || m.Ruled != nil ||
		len(m.Disputed)+len(m.Annulled)+len(m.LostAttempts) > 0 {
		list = &b.serious
	}
	switch {
	case len(why) == 0:
	case len(*list) == maxTranscripts:
		b.Omitted++
	default:
		*list = append(*list, Transcript{conversation(doc, b.state.Games), why})
	}
	return nil
}

// addGame keeps the positions of an attempt that counts at a match of several turns. The file has those of a game that
// this program does not know.
func (b *builder) addGame(m *journal.Match, doc *store.Match) {
	game, err := b.state.Games.Game(doc.GameType)
	if err == nil && !rules.ListsMoves(game) || m.Report.Number != doc.Attempt || len(b.games) == maxGames ||
		b.only != "" && !takesPart(b.only, doc) {
		return
	}
	c := record.ConversationOf(doc, b.state.Games)
	if err != nil && len(c.Steps) == 0 {
		return
	}
	c.Lines = nil
	b.games[doc.MatchID] = c
}

// takesPart tells whether an agent takes part in an attempt.
func takesPart(id string, doc *store.Match) bool {
	return id == doc.PlayerA.PlayerID || id == doc.PlayerB.PlayerID || id == doc.RefereeID
}

// concerns tells whether a transcript is about the agent of the report: about its own match,
// without faults of others alone.
func (b *builder) concerns(doc *store.Match, found []record.Fault) bool {
	if b.only == "" {
		return true
	}
	return takesPart(b.only, doc) && (len(found) == 0 || slices.ContainsFunc(found,
		func(f record.Fault) bool { return f.AgentID == b.only }))
}

// whyShown is why a report has the transcript of an attempt; nil if it has not.
func whyShown(m *journal.Match, doc *store.Match, found []record.Fault) (why []string) {
	add := func(holds bool, reason string) {
		if holds {
			why = append(why, reason)
		}
	}
	add(m.Report.Status == league.StatusTechnicalLoss && m.Report.Number == doc.Attempt, "technical loss")
	add(len(found) > 0, "faults")
	add(len(m.OutcomeOf(doc.Attempt).Disputed) > 0, "disputed")
	add(m.Ruled != nil, "ruled")
	add(m.AnnulledOutcome(doc.Attempt) != nil, "annulled result")
	add(m.IsLost(doc.Attempt), "rejected report")
	add(len(m.Attempts) > 1 && m.Report.Number != doc.Attempt, "attempt given up")
	return why
}

// A side is an agent in a match.
type side struct {
	match string
	agent string
}

// completeFaults puts the faults of all agents in order of matches; each technical loss is the
// consequence of one of them.
func (b *builder) completeFaults() {
	last := map[side]int{} // the last fault in an attempt that counts
	for i := range b.faults {
		f := &b.faults[i]
		id, _ := league.ParseMatchID(f.MatchID)
		if (f.Kind == kindAnswer || f.Kind == kindRefusal) && b.state.Match(id).Report.Number == f.Attempt {
			last[side{f.MatchID, f.AgentID}] = i
		}
	}
	b.addLosses(last)
	for _, f := range b.failures {
		id, _ := league.ParseMatchID(f.MatchID)
		if m, _, _, ok := b.state.Find(id); ok && m.Report != nil {
			b.faults = append(b.faults, f)
		}
	}
	slices.SortStableFunc(b.faults, func(x, y record.Fault) int {
		idX, _ := league.ParseMatchID(x.MatchID)
		idY, _ := league.ParseMatchID(y.MatchID)
		return cmp.Or(idX.Compare(idY), x.Attempt-y.Attempt)
	})
}

// addLosses marks the fault behind each technical loss, the last one of its side, or adds one that nobody saw.
func (b *builder) addLosses(last map[side]int) {
	for i := range b.Matches {
		row := &b.Matches[i]
		if row.Status != league.StatusTechnicalLoss || row.Ruled != nil {
			continue
		}
		for _, loser := range [...]string{row.PlayerAID, row.PlayerBID} {
			if row.Winner() == loser {
				continue
			}
			if i, known := last[side{row.MatchID, loser}]; known {
				b.faults[i].Lost = true
				continue
			}
			b.faults = append(b.faults, unseen(row, loser))
		}
	}
}

// unseen is the fault of a player that lost a match technically without a transcript that shows
// why.
func unseen(m *record.Match, loser string) record.Fault {
	f := record.Fault{Kind: kindAnswer, Lost: true, AgentID: loser, MatchID: m.MatchID, Attempt: m.Attempt,
		At: m.ReportedAt, Problem: cmp.Or(m.Reason, "its referee did not say why")}
	if slices.Contains(m.Forfeited, loser) {
		f.Kind = kindForfeit
		return f
	}
	f.Code, _ = m.Faults.Get(loser)
	return f
}

// addAgents describes the agents, players first.
func (b *builder) addAgents() {
	count := map[string]int{}
	for i := range b.Matches {
		m := &b.Matches[i]
		if !m.HasResult() {
			continue
		}
		for _, id := range [...]string{m.PlayerAID, m.PlayerBID, m.RefereeID} {
			count[id]++
		}
	}
	b.Agents = []Agent{}
	for _, a := range b.state.SortedAgents() {
		one := Agent{AgentStatus: b.state.Agent(a), Role: a.Role, Answered: a.Answered, Matches: count[a.AgentID],
			Declined: b.declined[a.AgentID]}
		one.Reason = record.Public(one.Reason)
		if a.Player {
			health := b.health.Player(a.AgentID)
			one.Latency, one.Warnings = health.Latency(b.state.Configuration.Timeouts), health.Deviations()
		}
		b.Agents = append(b.Agents, one)
	}
}

// seal completes the seal of the journal.
func (b *builder) seal() {
	s := &b.Seal
	s.Events, s.Head, s.ManagerKey = b.state.Events, b.state.Head, b.state.Created.ManagerKey
	switch {
	case s.ManagerKey == "":
		*s = Seal{Events: s.Events, Head: s.Head, State: SealUnsigned}
	case s.Signature == "":
		*s = Seal{Events: s.Events, Head: s.Head, ManagerKey: s.ManagerKey, State: SealMissing}
	case !protocol.VerifyHead(s.ManagerKey, s.Signature, b.state.Created.LeagueID, s.SignedHead):
		s.State = SealInvalid
	case s.Covered == s.Events:
		s.State = SealValid
	case s.Covered > 0:
		s.State = SealEarlier
	default:
		s.State = SealUnknown
	}
}

// addCrossTable adds the results that count by player and opponent.
func (b *builder) addCrossTable() {
	sums := b.state.Meetings(b.state.Round, func(string, string) bool { return true })
	b.CrossTable = lists.Map(b.Standings, func(player league.Standing) CrossRow {
		row := CrossRow{player.PlayerID, []record.HeadToHead{}}
		for _, opponent := range b.Standings {
			if h := sums[[2]string{row.PlayerID, opponent.PlayerID}]; h != nil {
				row.Against = append(row.Against, *h)
			}
		}
		slices.SortFunc(row.Against, func(a, b record.HeadToHead) int {
			return league.CompareIDs(a.OpponentID, b.OpponentID)
		})
		return row
	})
}

// addProgress adds the points after each completed round, those of byes included.
func (b *builder) addProgress() {
	b.Progress = []RoundPoints{}
	if b.state.Started == nil {
		return
	}
	for i, points := range b.state.Points()[1 : b.state.CompletedRounds()+1] {
		one := RoundPoints{RoundID: i + 1}
		for player, id := range b.state.Started.Players {
			one.Points = append(one.Points, league.Member[int]{Name: id, Value: points[player]})
		}
		b.Progress = append(b.Progress, one)
	}
}
