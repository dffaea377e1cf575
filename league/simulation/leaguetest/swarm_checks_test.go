package leaguetest_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
)

// A span is a time of the World in which an agent is away.
type span struct{ from, to time.Duration }

// witness is what the network has seen of a league.
type witness struct {
	accepted map[string]string            // the results that the manager has acknowledged, by match
	signed   map[string]map[string]string // the questions of the decisions that a player has sent, by player and signature
	begun    map[string]time.Duration     // when a match was first assigned
	reported map[string]time.Duration     // when its result was acknowledged
	joined   map[string]time.Duration     // when an agent first had the answer to its registration
	away     map[string][]span            // by agent; an open one ends at -1
	damaged  map[[2]string]bool           // match and player: a message between it and the referee was lost
	flawed   map[string]bool              // agents whose disk had faults
	cut      map[string]bool              // players whose machine had no power: they sign without sync
	unheard  map[string]bool              // players: a message between it and the manager was lost
}

func newWitness() witness {
	return witness{
		accepted: map[string]string{}, signed: map[string]map[string]string{}, begun: map[string]time.Duration{},
		reported: map[string]time.Duration{}, joined: map[string]time.Duration{}, away: map[string][]span{},
		damaged: map[[2]string]bool{}, unheard: map[string]bool{}, cut: map[string]bool{}, flawed: map[string]bool{},
	}
}

// answered notes an answer that leaves an agent.
func (l *timedLeague) answered(host string, params, answer any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sign := func(e *protocol.Envelope, matchID, signature string) {
		id := strings.ToUpper(host)
		if l.seen.signed[id] == nil {
			l.seen.signed[id] = map[string]string{}
		}
		if signature != "" {
			l.seen.signed[id][signature] = e.ConversationID + " " + matchID
		}
	}
	switch a := answer.(type) {
	case *protocol.ChooseParityResponse:
		sign(&a.Envelope, a.MatchID, a.Signature)
	case *protocol.GameMoveResponse:
		sign(&a.Envelope, a.MatchID, a.Signature)
	case *protocol.Ack:
		report, is := params.(*protocol.MatchResultReport)
		if !is || a.Status != protocol.StatusAccepted {
			return
		}
		result := string(leaguetest.Encode(report.Result.Result))
		if before, known := l.seen.accepted[report.MatchID]; known && before != result {
			l.problems = append(l.problems, "two results of "+report.MatchID+" were acknowledged: "+before+" and "+result)
		}
		l.seen.accepted[report.MatchID] = result
		if _, known := l.seen.reported[report.MatchID]; !known {
			l.seen.reported[report.MatchID] = l.world.Now()
		}
	}
}

// began notes that a match is assigned.
func (l *timedLeague) began(params any) {
	q := params.(*protocol.MatchAssignment)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.seen.begun[q.MatchID]; !known {
		l.seen.begun[q.MatchID] = l.world.Now()
	}
}

// harmed notes that the sender of a message gets no answer.
func (l *timedLeague) harmed(key messageKey) {
	match, _, _ := strings.Cut(strings.ToUpper(strings.TrimPrefix(key.about, "conv-")), "-A")
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, host := range []string{key.from, key.to} {
		id := strings.ToUpper(host)
		if _, is := league.ParsePlayerID(id); !is {
			continue
		}
		l.seen.damaged[[2]string{match, id}] = true
		if key.from == leaguetest.ManagerHost || key.to == leaguetest.ManagerHost {
			l.seen.unheard[id] = true
		}
	}
}

// flawed tells whether the disk of an agent had faults, or there is no such agent: a late repetition of a registration
// that the manager had dropped made another one of it.
func (l *timedLeague) flawed(id string) bool {
	a := l.agents[id]
	return a == nil || a.machine.isFlawed() || l.seen.flawed[id]
}

// paused notes the pauses of the agents.
func (l *timedLeague) paused() {
	for host, p := range l.plan.pauses {
		id := strings.ToUpper(host)
		l.seen.away[id] = append(l.seen.away[id], span{p.At, p.At + p.For})
	}
}

// isAway and isBack note when an agent is not there.
func (l *timedLeague) isAway(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.away[id] = append(l.seen.away[id], span{l.world.Now(), -1})
}

func (l *timedLeague) isBack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, before := l.seen.joined[id]; !before {
		l.seen.joined[id] = l.world.Now()
	}
	for i := range l.seen.away[id] {
		if s := &l.seen.away[id][i]; s.to < 0 {
			s.to = l.world.Now()
		}
	}
}

// wasAway tells whether an agent was away during a match, or waited for the answer to its registration.
func (l *timedLeague) wasAway(id, matchID string) bool {
	from, to := l.seen.begun[matchID], patience
	if at, acknowledged := l.seen.reported[matchID]; acknowledged {
		to = at
	}
	if at, joined := l.seen.joined[id]; !joined || at >= from {
		return true
	}
	return slices.ContainsFunc(l.seen.away[id], func(s span) bool {
		return s.from <= to && (s.to < 0 || s.to >= from)
	})
}

// checkJournal checks that a journal has each result that was acknowledged.
func (l *timedLeague) checkJournal(state *journal.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen.accepted) == 0 {
		return
	}
	recorded := map[string]string{}
	if state.Started != nil {
		for m := range (&record.League{State: state}).Played() {
			recorded[m.MatchID] = string(leaguetest.Encode(m.Result))
		}
	}
	for id, result := range l.seen.accepted {
		if recorded[id] != result {
			l.problems = append(l.problems, "the acknowledged result of "+id+" was "+result+", and the journal has "+recorded[id])
		}
	}
}

// checkHistory checks that the history of a player has each signed decision that the player has sent.
func (l *timedLeague) checkHistory(id string, folder store.Folder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen.signed[id]) == 0 || l.seen.cut[id] || l.flawed(id) {
		return
	}
	h, _, _, err := store.ReadHistoryLines(folder.Disk, store.HistoryLines(folder.History(id)))
	if err != nil {
		l.problems = append(l.problems, "the history of "+id+": "+err.Error())
		return
	}
	stored := map[string]bool{}
	for i := range h.Decisions {
		stored[h.Decisions[i].Decision.Signature] = true
	}
	for signature, about := range l.seen.signed[id] {
		if !stored[signature] {
			l.problems = append(l.problems, "the history of "+id+" lacks a decision that it has sent: "+about)
		}
	}
}

// check checks what must hold at the end.
func (l *timedLeague) check(agents []*agentLives) {
	for _, a := range agents {
		if a.machine.isFlawed() {
			l.seen.flawed[a.id] = true
		}
		a.machine.disk.Repair()
	}
	agents[0].finishFiles()
	reader := agents[0].machine.disk.Process()
	folder := store.Folder{Disk: reader, Path: agents[0].folder}
	histories := store.Folder{Disk: reader, Path: "/histories"}
	if err := reader.MkdirAll(histories.Players(), 0o700); err != nil {
		l.problem("%v", err)
	}
	for _, a := range agents[1:] {
		if _, player := league.ParsePlayerID(a.id); player {
			own := store.Folder{Disk: a.machine.disk.Process(), Path: a.folder}
			l.checkHistory(a.id, own)
			if _, _, _, err := store.ReadHistoryLines(own.Disk, store.HistoryLines(own.History(a.id))); err != nil && l.seen.cut[a.id] {
				continue // what a power cut left of its last lines
			}
			if err := copyHistory(histories, own, a.id); err != nil {
				l.problem("copying the history of %s: %v", a.id, err)
			}
		}
	}
	state := l.readJournal(folder)
	if state == nil {
		return
	}
	l.checkJournal(state)
	if state.Completed == nil {
		l.problem("the journal has no end of the league")
	}
	for m := range (&record.League{State: state}).Played() {
		l.checkLosses(&m)
	}
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(l.plan.game), Histories: histories.Path})
	if err != nil {
		l.problem("the audit fails: %v", err)
		return
	}
	for _, f := range report.Leagues[0].Findings {
		if why := l.excuse(state, &f); why != "" {
			l.count("findings about " + why)
			continue
		}
		l.problem("the audit finds: %v", f)
	}
}

// excuse is what a finding of the audit is about if faults of the disk of a referee explain it; "" for any other.
func (l *timedLeague) excuse(state *journal.State, f *audit.Finding) string {
	name := path.Base(f.File)
	owner, isLog := strings.CutSuffix(name, ".wal.jsonl")
	matchID, _, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "-")
	id, isFile := league.ParseMatchID(matchID)
	if !isFile {
		id, _ = league.ParseMatchID(f.MatchID) // no match has the zero id
	}
	conductors := []string{owner}
	if recorded, _, _, found := state.Find(id); !isLog && found {
		conductors = lists.Map(recorded.Attempts, func(a journal.Attempt) string { return a.Referee })
	} else if !isLog {
		return ""
	}
	flawed := slices.ContainsFunc(conductors, l.flawed)
	cut := slices.ContainsFunc(conductors, func(id string) bool { return l.seen.cut[id] })
	switch {
	case cut && isLog && strings.Contains(f.Detail, "the line is damaged"):
		return "what a power cut left of the log of a referee that did not come back"
	case flawed && (isLog || isFile && f.Line > 0):
		// A bit of the file of a match or of the log was another one when the referee read and copied it, or the disk
		// lost the result in spite of a sync, and the referee played the match again when the old assignment arrived
		// late. The audit has to tell so.
		return "files of a referee with a flawed disk"
	case (flawed || cut) && f.Rule == audit.RuleHistory:
		// The disk has lost a result that players had been told already, or a power cut the turns of a match, to which
		// a player has answered, or answers late. The same attempt was then played from its first turn.
		return "histories of a match that was played again"
	}
	return ""
}

// copyHistory copies the history of a player to the disk of another machine.
func copyHistory(to, from store.Folder, id string) error {
	name := store.HistoryLines(from.History(id))
	file, err := from.Disk.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	name = store.HistoryLines(to.History(id))
	if err := to.Disk.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	if file, err = to.Disk.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

// readJournal reads the league once more, as after a restart; nil after a problem.
func (l *timedLeague) readJournal(folder store.Folder) *journal.State {
	files, _, err := manager.OpenFiles(folder, leaguetest.LeagueID, false, l.shared(nil))
	if err != nil || files.LostTail() {
		l.problem("the league cannot be opened after its end: %v", err)
	}
	if err != nil {
		return nil
	}
	if err := files.Close(); err != nil {
		l.problem("closing the journal: %v", err)
	}
	return files.State
}

// checkLosses checks that no player lost a match technically to which nothing happened.
func (l *timedLeague) checkLosses(m *record.Match) {
	if m.Status != league.StatusTechnicalLoss {
		return
	}
	for _, id := range []string{m.PlayerAID, m.PlayerBID} {
		other := m.PlayerAID
		if other == id {
			other = m.PlayerBID
		}
		switch {
		case l.seen.cut[other] && l.wasAway(other, m.MatchID) && m.RefereeID != "" && l.wasAway(m.RefereeID, m.MatchID):
			// The referee asked again from the first turn, and the opponent, which had forgotten its answer, gave another.
			// The player repeats its signed answers, which do not belong to these questions.
		case m.Winner() == id, l.flawed(id), l.seen.damaged[[2]string{m.MatchID, id}], l.wasAway(id, m.MatchID):
		case m.RefereeID == "" && (l.seen.unheard[id] || len(l.seen.away[id]) > 0): // suspended, or absent
		default:
			l.problem("%s lost %s technically, and nothing had happened to it: %s", id, m.MatchID, m.Reason)
		}
	}
}
