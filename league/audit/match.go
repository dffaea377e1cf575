package audit

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

type matchFile struct {
	document
	*store.Match

	moves    [2][]string // that counted, of both players
	complete bool        // the transcript has them all
}

// maxMissing is how many match files that are missing are named one by one.
const maxMissing = 20

// A fixture is a match of the schedule with what happened to it.
type fixture struct {
	*journal.Match
	id       string
	round    int
	ids      [2]string // of the players, A first
	accepted []int32   // the lines in which attempts were accepted
	line     int       // of the report, 0 without one
}

func (f *fixture) spot(x *examination, line int) spot {
	return spot{file: x.journal, line: line, matchID: f.id}
}

// checkMatches goes through the schedule, and then through the match files that
// are of no match of it.
func (x *examination) checkMatches(names []string) {
	left := make(map[string]bool, len(names))
	for _, name := range names {
		left[name] = true
	}
	s := x.state
	game := x.game()
	x.checkTokens()
	before := x.nothingYet()
	var missing []string
	for round := 1; round <= s.Round; round++ {
		for i := range s.Pairings(round) {
			f := x.fixture(round, i+1)
			var file *matchFile
			there := left[f.id]
			delete(left, f.id)
			if there || f.Report != nil { // it may have come since the folder was listed
				if file, there = x.matchFile(f, before); !there && f.Report != nil {
					missing = append(missing, f.id)
				}
			}
			x.checkAbandoned(f)
			if f.Report != nil {
				x.checkReport(f, game, file)
			}
		}
		before = x.settled(before, round)
	}
	x.missing(missing)
	names = names[:0]
	for name := range left {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !x.chain.lost {
			x.find(RuleMatchFile, spot{file: relative(x.dir, x.dir.Match(x.id, name)), matchID: name},
				"a file of match %.40q, which is not of an announced round of this league", name)
		}
	}
}

// checkTokens notes that results may be anybody's, where referees of other makers
// needed no token.
func (x *examination) checkTokens() {
	if x.state.Started == nil || x.state.Created.Auth != journal.AuthLenient {
		return
	}
	for _, id := range x.state.Started.Referees {
		if !x.state.Agents[id].Proves() {
			x.note(RuleOneResult, spot{file: x.journal, line: 1, agentID: id},
				"the league was lenient: results in the name of %s needed no token, and may be anybody's", clip(id))
		}
	}
}

func (x *examination) fixture(round, number int) *fixture {
	s := x.state
	id := protocol.MatchID{Round: round, Number: number}
	pair := s.Rounds[round-1].Pairings[number-1]
	f := &fixture{
		Match: &s.Rounds[round-1].Matches[number-1], id: id.String(), round: round,
		ids: [2]string{s.Started.Players[pair.A], s.Started.Players[pair.B]},
	}
	if p := x.places[id]; p != nil {
		f.line, f.accepted = int(p.report), p.accepted
	}
	return f
}

// game is the league's game, nil when it is not known here.
func (x *examination) game() rules.Game {
	if x.state.Created == nil {
		return nil
	}
	game, err := x.games.Game(x.state.Created.GameType)
	if err != nil {
		x.note(RuleVerdict, spot{file: x.journal, line: 1}, "%v: the results cannot be judged again", err)
		return nil
	}
	return game
}

// missing names the matches with a result that have no file.
func (x *examination) missing(ids []string) {
	const why = "the match has a result, but this file is not there"
	for i, id := range ids {
		if i == maxMissing {
			x.weigh(RuleMatchFile, spot{file: relative(x.dir, x.dir.Matches(x.id))}, "%d more matches have a result, but no file", len(ids)-i)
			return
		}
		x.weigh(RuleMatchFile, spot{file: relative(x.dir, x.dir.Match(x.id, id)), matchID: id}, why)
	}
}

// checkAbandoned notes attempts that were given up although the referee was
// bound to its draw: a referee that dislikes one could want another.
func (x *examination) checkAbandoned(f *fixture) {
	for i, a := range f.Attempts {
		last := i == len(f.Attempts)-1
		if a.Commitment == "" || f.Report == nil && last || f.Report != nil && f.Report.Number == a.Number && f.Report.RefereeID == a.Referee {
			continue
		}
		at := f.spot(x, 0)
		at.agentID = a.Referee
		if i < len(f.accepted) {
			at.line = int(f.accepted[i])
		}
		x.note(RuleAbandoned, at, "attempt %d at %s by %s was given up after %s had committed to its draw", a.Number, f.id, clip(a.Referee), clip(a.Referee))
	}
}

// checkReport judges the result in the journal again. The match file, if there
// is one, tells the moves of games that have many.
func (x *examination) checkReport(f *fixture, game rules.Game, file *matchFile) {
	r := f.Report
	at := f.spot(x, f.line)
	var attempt *journal.Attempt
	for i := range f.Attempts {
		if a := &f.Attempts[i]; a.Number == r.Number && a.Referee == r.RefereeID {
			attempt = a
			if i < len(f.accepted) && int(f.accepted[i]) > f.line {
				x.note(RuleCommitment, at, "the commitment of %s to the draw of %s came after the result, in line %d", clip(a.Referee), f.id, f.accepted[i])
			}
		}
	}
	switch {
	case f.Forfeited != nil:
		x.checkForfeit(f, at)
	case attempt == nil:
		at.agentID = r.RefereeID
		x.find(RuleOneResult, at, "the result of %s is that of attempt %d, which was not assigned to %s", f.id, r.Attempt, clip(r.RefereeID))
		at.agentID = ""
	}
	for _, c := range r.Choices {
		if !slices.Contains(f.ids[:], c.Name) {
			x.find(RuleSchedule, at, "%s chose in %s, but %s and %s play it", quoted(&c.Name), f.id, f.ids[0], f.ids[1])
		}
	}
	x.checkDoubts(f, at)
	chance, whole := x.checkSecrets(f, attempt, at)
	if r.Status == protocol.StatusTechnicalLoss {
		if r.DrawnNumber != nil || r.NumberParity != nil {
			x.find(RuleDraw, at, "%s was lost technically, but has number %s", f.id, number(r.DrawnNumber))
		}
		return
	}
	switch {
	case r.Draw == nil && attempt != nil && attempt.Commitment == "":
		x.note(RuleDraw, at, "%s gave no nonce for %s: the draw cannot be recomputed", clip(r.RefereeID), f.id)
		if game != nil && contradicts(game, f) {
			x.note(RuleVerdict, at, "%s ended with %s, winner %s, but number %s and the choices that %s reports speak for another result",
				f.id, clip(r.Status), quoted(r.WinnerPlayerID), number(r.DrawnNumber), clip(r.RefereeID))
		}
	case game != nil && whole:
		x.judge(f, game, chance, file, at)
	}
}

// contradicts tells whether choices and number of a result make another winner
// than it names, or cannot be.
func contradicts(game rules.Game, f *fixture) bool {
	verdict, decided, err := rules.Follows(game, f.Report.Moves(f.ids), f.Report.DrawnNumber)
	winner := ""
	if w := f.Report.WinnerPlayerID; w != nil {
		winner = *w
	}
	return err != nil || decided && verdict.WinnerOf(f.ids) != winner
}

// checkDoubts finds a result that rests on a report which the manager rejected, and
// notes the other attempts that were lost by rejected reports.
func (x *examination) checkDoubts(f *fixture, at spot) {
	for _, d := range f.Doubts {
		at.agentID = d.RefereeID
		if f.Report.RefereeID == d.RefereeID && f.Report.Number == d.Number {
			x.find(RuleDoubt, at, "the result of %s rests on a report of %s that the manager did not believe: %.200s", f.id, clip(d.RefereeID), d.Reason)
		} else {
			x.note(RuleDoubt, at, "a report of %s about attempt %d at %s was not believed: %.200s", clip(d.RefereeID), d.Number, f.id, d.Reason)
		}
	}
}

// checkSecrets holds nonce and entropies against what was promised. Whole is
// false when the draw cannot be recomputed.
func (x *examination) checkSecrets(f *fixture, attempt *journal.Attempt, at spot) (chance rules.Chance, whole bool) {
	draw := f.Report.Draw
	promised := attempt != nil && attempt.Commitment != ""
	if draw == nil {
		if promised {
			x.find(RuleCommitment, at, "%s committed to a draw for %s, but did not reveal its nonce", clip(attempt.Referee), f.id)
		}
		return chance, false
	}
	nonce, ok := protocol.ParseSecret(draw.Nonce)
	if !ok {
		x.find(RuleCommitment, at, "the nonce of %s is not 64 hexadecimal digits", f.id)
		return chance, false
	}
	chance.Nonce = nonce
	x.fresh(f.id, draw.Nonce, at)
	if want := protocol.DrawCommitment(x.state.Created.LeagueID, f.id, f.Report.Number, f.Report.RefereeID, nonce); want != draw.Commitment {
		x.find(RuleCommitment, at, "the nonce of %s does not belong to its commitment %.12q…: it makes %.12s…", f.id, draw.Commitment, want)
	}
	switch {
	case promised && attempt.Commitment != draw.Commitment:
		x.find(RuleCommitment, at, "the commitment of %s is %.12q…, but before the match %s committed to %.12q…", f.id, draw.Commitment, clip(attempt.Referee), attempt.Commitment)
	case attempt != nil && !promised:
		x.note(RuleCommitment, at, "the journal holds no commitment of %s to the draw of %s from before the match", clip(f.Report.RefereeID), f.id)
	}
	whole = true
	for _, e := range draw.Entropies {
		entropy, ok := protocol.ParseSecret(e.Value)
		switch {
		case !ok:
			x.find(RuleCommitment, at, "the entropy of %s in %s is not 64 hexadecimal digits", quoted(&e.Name), f.id)
			whole = false
		case e.Name == f.ids[0]:
			chance.EntropyA = entropy
		case e.Name == f.ids[1]:
			chance.EntropyB = entropy
		default:
			x.find(RuleSchedule, at, "%s gave entropy for %s, but %s and %s play it", quoted(&e.Name), f.id, f.ids[0], f.ids[1])
		}
	}
	return chance, whole
}

// fresh finds nonces that were used for another match: who has seen the first
// draw knows the second.
func (x *examination) fresh(matchID, nonce string, at spot) {
	if first, used := x.nonces[nonce]; used && first != matchID {
		x.find(RuleNonceReused, at, "the nonce of %s is that of %s", matchID, first)
		return
	}
	x.nonces[nonce] = matchID
}

// judge plays the game again and compares how it ends.
func (x *examination) judge(f *fixture, game rules.Game, chance rules.Chance, file *matchFile, at spot) {
	r := f.Report
	var moves [2][]string
	if game.Info().MaxTurns > 1 {
		if file == nil || !file.complete {
			x.note(RuleVerdict, at, "the moves of %s do not all stand in a transcript: its result cannot be judged again", f.id)
			return
		}
		moves = file.moves
	} else {
		for i, id := range f.ids {
			if c, _ := r.Choices.Get(id); c != nil {
				moves[i] = []string{*c}
			}
		}
	}
	position := game.Start()
	for seats := position.ToMove(); len(seats) > 0; seats = position.ToMove() {
		var now [2]string
		for _, seat := range seats {
			if len(moves[seat]) == 0 {
				x.find(RuleVerdict, at, "%s ended with %s, but %s made no move", f.id, clip(r.Status), f.ids[seat])
				return
			}
			now[seat], moves[seat] = moves[seat][0], moves[seat][1:]
			if err := position.Check(seat, now[seat]); err != nil {
				x.find(RuleVerdict, at, "%s: %s moved %.40q: %v", f.id, f.ids[seat], now[seat], err)
				return
			}
		}
		position = position.Play(now)
	}
	x.compareVerdict(f, position.Judge(chance), at)
}

func (x *examination) compareVerdict(f *fixture, v rules.Verdict, at spot) {
	r := f.Report
	if r.DrawnNumber == nil && v.Number != 0 || r.DrawnNumber != nil && *r.DrawnNumber != v.Number {
		x.find(RuleDraw, at, "the number of %s is %s, by its nonce and entropies it is %d", f.id, number(r.DrawnNumber), v.Number)
	}
	if r.NumberParity == nil && v.Parity != "" || r.NumberParity != nil && *r.NumberParity != v.Parity {
		x.find(RuleDraw, at, "number_parity of %s is %s, by its draw it is %q", f.id, quoted(r.NumberParity), v.Parity)
	}
	status, winner := protocol.StatusDraw, (*string)(nil)
	if v.Winner != rules.NoSide {
		status, winner = protocol.StatusWin, &f.ids[v.Winner]
	}
	if r.Status != status || !same(r.WinnerPlayerID, winner) {
		x.find(RuleVerdict, at, "%s ended with %s, winner %s; by the rules it is %s, winner %s", f.id, clip(r.Status), quoted(r.WinnerPlayerID), status, quoted(winner))
	}
	for i, id := range f.ids {
		if c, _ := r.Choices.Get(id); c != nil && *c != v.Moves[i] {
			x.find(RuleVerdict, at, "the choice of %s in %s is %s, but it played %q last", id, f.id, quoted(c), v.Moves[i])
		}
	}
}

// matchFile loads the file of a match and holds it against schedule, journal
// and itself; nil when it cannot be read, and false when it is not there.
func (x *examination) matchFile(f *fixture, before []protocol.Record) (file *matchFile, there bool) {
	path := x.dir.Match(x.id, f.id)
	doc, read, err := load[store.Match](x.dir, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err != nil {
		x.unreadable(path, err, spot{matchID: f.id})
		return nil, true
	}
	d := &matchFile{document: read, Match: doc}
	if !x.identify(d, f) {
		return nil, true
	}
	if f.Report == nil {
		x.find(RuleMatchFile, spot{file: d.file, line: d.line("result"), matchID: f.id}, "a file of match %s, of which the journal has no result", f.id)
		return nil, true
	}
	if f.Forfeited != nil && d.WrittenBy == store.WrittenByReferee {
		x.find(RuleMatchFile, spot{file: d.file, line: d.line("written_by"), matchID: f.id},
			"%s was forfeited before any referee heard of it, but its file is said to be written by one", f.id)
		return nil, true
	}
	x.compareFile(d, f)
	x.checkForm(d, f, true)
	x.checkTranscript(d, f, before)
	return d, true
}

// identify tells whether a match file is about the match that its name says.
func (x *examination) identify(d *matchFile, f *fixture) bool {
	is := true
	wrong := func(rule string, format string, member string, args ...any) {
		is = false
		x.find(rule, spot{file: d.file, line: d.line(member), matchID: f.id}, format, args...)
	}
	if d.MatchID != f.id {
		wrong(RuleMatchFile, "match_id is %s, but the file is that of %s", "match_id", quoted(&d.MatchID), f.id)
	}
	if d.LeagueID != x.id {
		wrong(RuleMatchFile, "league_id is %s, but the file is of league %s", "league_id", quoted(&d.LeagueID), x.id)
	}
	if d.RoundID != f.round {
		wrong(RuleMatchFile, "round_id is %d, but %s is of round %d", "round_id", d.RoundID, f.id, f.round)
	}
	if d.PlayerA.PlayerID != f.ids[0] {
		wrong(RuleSchedule, "player_A is %s, by the schedule %s has %s", "player_A", quoted(&d.PlayerA.PlayerID), f.id, f.ids[0])
	}
	if d.PlayerB.PlayerID != f.ids[1] {
		wrong(RuleSchedule, "player_B is %s, by the schedule %s has %s", "player_B", quoted(&d.PlayerB.PlayerID), f.id, f.ids[1])
	}
	return is
}

// compareFile holds a match file against the report in the journal.
func (x *examination) compareFile(d *matchFile, f *fixture) {
	r := f.Report
	wrong := func(rule string, path []any, format string, args ...any) {
		x.find(rule, spot{file: d.file, line: d.line(path...), matchID: f.id}, format, args...)
	}
	differs := func(member, got, want string, path ...any) {
		if got != want {
			wrong(RuleMatchFile, path, "%s of %s is %s, in line %d of the journal it is %s", member, f.id, got, f.line, want)
		}
	}
	differs("the attempt", number(&d.Attempt), number(&r.Number), "attempt")
	differs("the referee", quoted(&d.RefereeID), quoted(&r.RefereeID), "referee_id")
	differs("game_type", quoted(&d.GameType), quoted(&x.state.Created.GameType), "game_type")
	if d.WrittenBy == store.WrittenByReferee {
		want := protocol.MatchConversation(f.id, d.Attempt)
		if d.ConversationID != want {
			wrong(RuleMatchFile, []any{"conversation_id"}, "conversation_id is %s, for this attempt at %s it is %q", quoted(&d.ConversationID), f.id, want)
		}
	}
	if d.Scoring != x.state.Created.Scoring {
		wrong(RulePoints, []any{"scoring"}, "the scoring in the file of %s is not that of the league", f.id)
	}
	if d.Result == nil {
		wrong(RuleMatchFile, []any{"result"}, "the file of %s has no result", f.id)
		return
	}
	g := d.Result
	differs("status", quoted(&g.Status), quoted(&r.Status), "result", "status")
	differs("the winner", quoted(g.WinnerPlayerID), quoted(r.WinnerPlayerID), "result", "winner_player_id")
	differs("the number", number(g.DrawnNumber), number(r.DrawnNumber), "result", "drawn_number")
	differs("the parity", quoted(g.NumberParity), quoted(r.NumberParity), "result", "number_parity")
	for _, id := range f.ids {
		got, _ := g.Choices.Get(id)
		want, _ := r.Choices.Get(id)
		differs("the choice of "+id, quoted(got), quoted(want), "result", "choices", id)
		scored, _ := g.Score.Get(id)
		points, _ := r.Score.Get(id)
		failed, _ := g.Faults.Get(id)
		fault, _ := r.Faults.Get(id)
		differs("the fault of "+id, quoted(&failed), quoted(&fault), "result", "faults", id)
		differs("the score of "+id, number(&scored), number(&points), "result", "score", id)
	}
	if g.Reason != "" && r.Reason != "" {
		differs("the reason", quoted(&g.Reason), quoted(&r.Reason), "result", "reason")
	}
	x.compareDraws(d, f, differs)
}

func (x *examination) compareDraws(d *matchFile, f *fixture, differs func(member, got, want string, path ...any)) {
	got, want := d.Draw, f.Report.Draw
	if got == nil && want == nil {
		return
	}
	if got == nil || want == nil {
		said := map[bool]string{true: "missing", false: "there"}
		differs("the draw", said[got == nil], said[want == nil], "draw")
		return
	}
	differs("the commitment", quoted(&got.Commitment), quoted(&want.Commitment), "draw", "commitment")
	differs("the nonce", quoted(&got.Nonce), quoted(&want.Nonce), "draw", "nonce")
	for _, id := range f.ids {
		a, _ := got.Entropies.Get(id)
		b, _ := want.Entropies.Get(id)
		differs("the entropy of "+id, quoted(&a), quoted(&b), "draw", "entropies", id)
	}
}

// checkAttempts looks at what referees wrote about matches and did not finish,
// or could not hand in.
func (x *examination) checkAttempts(names []string) {
	if x.state.Started == nil || x.chain.lost {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(x.dir.Attempts(x.id), name+".json")
		doc, read, err := load[store.Match](x.dir, path)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				x.unreadable(path, err, spot{})
			}
			continue
		}
		d := &matchFile{document: read, Match: doc}
		at := spot{file: d.file, line: d.line("match_id"), matchID: d.MatchID, agentID: d.RefereeID}
		if d.LeagueID != x.id || strings.ContainsAny(d.MatchID+d.RefereeID, `/\`) ||
			filepath.Base(x.dir.Attempt(x.id, d.MatchID, d.Attempt, d.RefereeID)) != filepath.Base(path) {
			x.find(RuleMatchFile, at, "it is attempt %d at %s of league %s by %s, but is not called so", d.Attempt, quoted(&d.MatchID), quoted(&d.LeagueID), quoted(&d.RefereeID))
			continue
		}
		x.checkAttempt(d, at)
	}
}

func (x *examination) checkAttempt(d *matchFile, at spot) {
	id, _ := protocol.ParseMatchID(d.MatchID)
	places, i := x.attempt(protocol.Attempt{MatchID: id, Number: d.Attempt}, d.RefereeID)
	if places == nil {
		x.find(RuleMatchFile, at, "attempt %d at %s was never assigned to %s", d.Attempt, quoted(&d.MatchID), quoted(&d.RefereeID))
		return
	}
	m, _, _, _ := x.state.Find(id)
	a := m.Attempts[i]
	if d.Draw != nil {
		at := at
		at.line = d.line("draw", "nonce")
		if nonce, ok := protocol.ParseSecret(d.Draw.Nonce); ok {
			x.fresh(d.MatchID, d.Draw.Nonce, at)
			if got := protocol.DrawCommitment(x.id, d.MatchID, d.Attempt, d.RefereeID, nonce); a.Commitment != "" && got != a.Commitment {
				x.find(RuleCommitment, at, "the nonce of attempt %d at %s does not belong to the commitment in line %d of the journal", d.Attempt, d.MatchID, places.accepted[i])
			}
		}
	}
	f := x.fixture(id.Round, id.Number)
	if !x.identify(d, f) {
		return
	}
	x.checkForm(d, f, false)
	x.checkTranscript(d, f, nil)
	if m.Report == nil && !x.completed() && i == len(m.Attempts)-1 {
		return // it is being played
	}
	x.left(d, f, at)
}
