package player

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/player/strategy"
	"evenodd/rules"
)

// A questionKey identifies a question for a move: one turn of one attempt at a match by one
// referee. The player signs one answer to it, because two signatures would let the referee
// choose between them. It signs another one only after the referee has refused a free text:
// see refuse.
type questionKey struct {
	matchID   string
	attempt   int
	refereeID string
	turn      int
}

func keyOf(d *store.HistoryDecision) questionKey {
	return questionKey{d.MatchID, d.Attempt, d.Decision.RefereeID, d.Decision.Turn}
}

// An answer is the answer to a question for a move.
type answer struct {
	choice string
	protocol.MoveProof
}

// answer decides a question, and signs the decision if the question asks for it. A question
// that was asked before gets its first answer, whatever else has changed in it, also if only one
// of the two asks for a signature.
func (p *Player) answer(ctx context.Context, m *match, question string, v strategy.View,
	q *protocol.SignatureRequest) (answer, error) {
	v.Moves, v.Opening, v.Role = playedMoves(q.Moves), q.Opening, cmp.Or(q.RoleInMatch, m.role)
	key := questionKey{m.id, m.attempt, protocol.AgentOf(m.auth.sender), q.Turn}
	if question == ownQuestion {
		key.turn = cmp.Or(key.turn, 1)
	}
	refused := p.refusedTexts(m, question, &v, key)
	if n := len(refused); n > 0 {
		v.Refused = &strategy.Refusal{Choice: refused[n-1].Choice, Reason: refused[n-1].Reason}
		question += "/" + strconv.Itoa(n) // another question for the strategy
	}
	d := p.decisionOn(m, key, len(refused))
	if !q.Sign || p.SigningKey() == nil {
		if d != nil {
			return answer{d.Decision.Choice, protocol.MoveProof{Entropy: m.revealed(), Fallback: d.Decision.Fallback}}, nil
		}
		chosen, err := p.choose(ctx, m, question, v)
		return answer{chosen.choice, protocol.MoveProof{Entropy: m.revealed(), Fallback: chosen.fallback}}, err
	}
	if d == nil {
		fault := cmp.Or(p.checkOpening(v.GameType, q), p.refusal(m, key, q))
		if q.ViewHash != "" && protocol.ViewHash(v.Shown()) != q.ViewHash {
			fault = protocol.Fault(protocol.ErrInvalidFieldType, "view_hash must be that of context.view to be signed")
		}
		if fault == nil {
			chosen, err := p.choose(ctx, m, question, v)
			if err != nil {
				return answer{}, err
			}
			d, fault = p.sign(m, key, q, chosen, refused)
		}
		if fault != nil {
			p.options.Log.Error().Str("match_id", m.id).Str("sender", m.auth.sender).Str("detail", fault.Detail).
				Str("event_type", "QUESTION_NOT_SIGNED").Msg("the player does not sign an answer to this question")
			return answer{}, fault
		}
	}
	made := &d.Decision
	return answer{made.Choice, protocol.MoveProof{Entropy: made.Entropy, Signature: made.Signature, Fallback: made.Fallback}}, nil
}

// decisionOn returns the signed decision on a question after some of its answers were refused; nil for none.
func (p *Player) decisionOn(m *match, key questionKey, refused int) *store.HistoryDecision {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.signed[key]
	if d != nil && len(d.Decision.Refused) < refused {
		return nil
	}
	if d != nil {
		p.state = stateWaitingForResult
		if !isReadyMove(d.Decision.Turn, d.Decision.Choice) {
			m.chosen = d.Decision.Choice
		}
	}
	return d
}

// refusal returns an error for a question that the player must not sign an answer to: it
// differs from what the player knows of the match, or the match is over. The player has
// forgotten its decisions in a match that is over, and could sign another.
func (p *Player) refusal(m *match, key questionKey, q *protocol.SignatureRequest) *protocol.Error {
	wrong := func(format string, args ...any) *protocol.Error {
		return protocol.Fault(protocol.ErrInvalidFieldType, format, args...)
	}
	id := p.ID()
	p.mu.Lock()
	defer p.mu.Unlock()
	started := p.started
	if p.round != nil {
		started = p.round.Started
	}
	own, commits := q.EntropyCommitments.Get(id)
	round, _ := league.ParseMatchID(m.id)
	switch {
	case p.history.reached(m.id) >= m.attempt,
		round.Round > 0 && round.Round <= p.over && !p.playsAgain(m.id) && !m.anew:
		return protocol.Fault(protocol.ErrInvalidMatchState, "match %s is over", m.id)
	case q.Turn < 1 || q.Turn > maxDecisions:
		return wrong("turn must be from 1 to %d to be signed", maxDecisions)
	case q.Started == "":
		return wrong("started must be set to be signed")
	case q.Started != started && (p.round != nil || started != ""):
		return wrong("started is not that of the round's announcement")
	case q.RoleInMatch == "" || m.role != "" && q.RoleInMatch != m.role:
		return wrong("role_in_match must be that of the invitation")
	case !m.restored && q.DrawCommitment != m.commitment:
		return wrong("draw_commitment is not that of the invitation")
	case commits && own != m.entropyCommitment, !commits && !m.restored && m.givesEntropy():
		return wrong("entropy_commitments must have this player's own commitment")
	case !slices.Equal(p.ownMoves(key), movesOf(q.Moves, id)):
		return wrong("moves must have this player's own moves")
	case m.signs && !slices.Equal(m.opening, q.Opening):
		return wrong("opening must be that of the question before")
	}
	m.opening, m.signs = q.Opening, true
	return nil
}

// checkOpening returns an error for an opening that the rules do not allow, in a game that the player has.
func (p *Player) checkOpening(gameType string, q *protocol.SignatureRequest) *protocol.Error {
	if game, err := p.options.Rules.Game(gameType); err == nil {
		if _, err := rules.BeginAfter(game, q.Opening); err != nil {
			return protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
		}
	}
	return nil
}

// playedMoves returns moves without those of a ready turn.
func playedMoves(moves []protocol.PlayerMove) []protocol.PlayerMove {
	isReady := func(m protocol.PlayerMove) bool { return isReadyMove(m.Turn, m.Move) }
	if len(moves) < 2 || !isReady(moves[0]) || !isReady(moves[1]) {
		return moves
	}
	return moves[2:]
}

// ownMoves returns the player's signed moves before a question. p.mu is held.
func (p *Player) ownMoves(key questionKey) (moves []string) {
	for turn := 1; turn < key.turn; turn++ {
		if d := p.signed[questionKey{key.matchID, key.attempt, key.refereeID, turn}]; d != nil {
			moves = append(moves, d.Decision.Choice)
		}
	}
	return moves
}

func movesOf(all []protocol.PlayerMove, id string) []string {
	own := lists.Filter(all, func(m protocol.PlayerMove) bool { return m.PlayerID == id })
	return lists.Map(own, func(m protocol.PlayerMove) string { return m.Move })
}

// sign signs a decision and appends it to history.jsonl before the answer leaves: a killed player gives
// the same answer after its restart. Only the decisions in a rematch are durable as well: see isAnew. If
// another call has decided the question meanwhile, its decision counts, and if the match has ended, the
// player signs nothing. After an error of the file the player answers all the same, because it would lose
// the match otherwise.
func (p *Player) sign(m *match, key questionKey, q *protocol.SignatureRequest, chosen decision,
	refused []store.RefusedText) (*store.HistoryDecision, *protocol.Error) {
	id := p.ID()
	d := &store.HistoryDecision{MatchID: key.matchID, Attempt: key.attempt, Decision: store.Decision{
		Turn: key.turn, Choice: chosen.choice, Fallback: chosen.fallback, RefereeID: key.refereeID, Started: q.Started,
		RoleInMatch: q.RoleInMatch, DrawCommitment: q.DrawCommitment, EntropyCommitments: q.EntropyCommitments,
		Refused: refused,
	}}
	if _, commits := q.EntropyCommitments.Get(id); commits {
		d.Decision.Entropy = m.entropy
	}
	d.Decision.ViewHash = q.ViewHash
	switch {
	case key.turn <= 1 && len(q.Opening) == 0:
	case q.ViewHash != "":
		d.Decision.MovesHash = protocol.HiddenMovesHash(q.Moves)
	default:
		d.Decision.MovesHash = protocol.MovesHash(q.Opening, q.Moves)
	}
	p.file.mu.Lock() // one decision at a time
	defer p.file.mu.Unlock()
	p.mu.Lock()
	known, rematch := p.signed[key], p.history.reached(key.matchID) > 0
	p.mu.Unlock()
	if known != nil && len(known.Decision.Refused) >= len(refused) {
		return known, nil
	}
	if fault := p.refusal(m, key, q); fault != nil { // again, because a decision takes time
		return nil, fault
	}
	d.Decision.Signature = p.SigningKey().SignMove(d.Statement(id))
	err := p.file.write(p.options.Name, []any{d})
	written := err == nil
	if written && rematch {
		err = p.file.syncAll()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signed[key] = d
	if err != nil {
		if !written {
			p.unsaved = append(p.unsaved, d)
		}
		p.options.Log.Error().Err(err).Str("match_id", key.matchID).Str("event_type", "DECISION_NOT_STORED").
			Msg("cannot write a decision to the history file: after a restart the player may decide otherwise")
	}
	return d, nil
}

// maxKeptDecisions limits the signed decisions of earlier rounds, because an untrusted referee may ask about any match.
const maxKeptDecisions = 1000

// forgetDecisions forgets the signed decisions of the rounds before one whose attempt has a result: the player signs
// nothing more in it. If too many are left, it forgets those as well. p.mu is held.
func (p *Player) forgetDecisions(round int) {
	isBefore := func(matchID string) bool {
		id, ok := league.ParseMatchID(matchID)
		return ok && id.Round < round
	}
	maps.DeleteFunc(p.signed, func(key questionKey, _ *store.HistoryDecision) bool {
		return isBefore(key.matchID) && p.history.reached(key.matchID) >= key.attempt
	})
	if len(p.signed) <= maxKeptDecisions {
		return
	}
	maps.DeleteFunc(p.signed, func(key questionKey, _ *store.HistoryDecision) bool { return isBefore(key.matchID) })
	p.forgotten = max(p.forgotten, round-1)
	for _, m := range p.current {
		m.anew = m.anew && !isBefore(m.id)
	}
}

// restoreDecisions restores the signed decisions of matches without a result from
// history.jsonl. p.mu is held.
func (p *Player) restoreDecisions(decisions []store.HistoryDecision) {
	p.started, p.signed = "", map[questionKey]*store.HistoryDecision{}
	for i := range decisions {
		d := &decisions[i]
		p.started = d.Decision.Started
		key := keyOf(d)
		known := p.signed[key]
		later := known == nil || len(known.Decision.Refused) < len(d.Decision.Refused)
		if later && p.history.reached(d.MatchID) < d.Attempt {
			p.signed[key] = d
			p.asked.add(d.MatchID, d.Attempt)
		}
	}
}

// decided returns the player's last decision in an attempt at a match, "" for none, and
// tells whether it made a certain one. p.mu is held.
func (p *Player) decided(m *match, matchID string, attempt int, choice string) (last string, made bool) {
	turn := 0
	for key, d := range p.signed {
		ready := isReadyMove(key.turn, d.Decision.Choice) && choice != rules.Ready
		if key.matchID == matchID && key.attempt == attempt && !ready {
			made = made || d.Decision.Choice == choice
			if key.turn > turn {
				turn, last = key.turn, d.Decision.Choice
			}
		}
	}
	if turn == 0 && m != nil {
		return m.chosen, m.chosen == choice ||
			slices.ContainsFunc(m.decided, func(d decision) bool { return d.choice == choice })
	}
	if before, known := p.history.of(matchID); turn == 0 && known && before.attempt == attempt { // by the standings
		return before.mine, before.mine == choice
	}
	return last, made
}

// compareChoice compares the choice of the player in a result that it was told with its own
// decision. A choice that it did not make is an error: the history has the player's own
// decision, and the reported choice beside it. The choice of a technical loss is the last
// one that counts, which may be that of an earlier turn, or none. A result that does not name
// the player's choice at all, as of some third-party referees, says nothing about it.
//
// After a restart the player does not know the decisions that it did not sign, and it forgets
// those of earlier rounds, and all but the last one of a match that ended by the standings: then it believes the
// result. p.mu is held.
func (p *Player) compareChoice(m *match, told *store.HistoryMatch, result *league.Result, by string) {
	reported := told.MyChoice
	own, made := p.decided(m, told.MatchID, told.Attempt, reported)
	_, named := result.Choices.Get(p.ID())
	lost := result.Status == league.StatusTechnicalLoss
	round, _ := league.ParseMatchID(told.MatchID)
	forgotten := m == nil && round.Round < p.over // see notifyRound
	before, _ := p.history.of(told.MatchID)
	inferred := before.fromStandings && before.attempt == told.Attempt
	unknown := (forgotten || p.restarted && (m == nil || m.restored)) && (own == "" || lost)
	switch {
	case reported == own, lost && (reported == "" && named || made), unknown && reported != "",
		lost && reported != "" && m == nil && inferred && !p.hasSigned(told.MatchID, told.Attempt):
	case reported == "":
		told.MyChoice = own
	default:
		told.MyChoice, told.ReportedChoice = own, reported
		p.contradiction(told.MatchID, by, "choice", own, reported)
	}
}

// hasSigned tells whether the player knows a decision in an attempt that it has signed. p.mu is held.
func (p *Player) hasSigned(matchID string, attempt int) bool {
	for key := range p.signed {
		if key.matchID == matchID && key.attempt == attempt {
			return true
		}
	}
	return false
}

// contradiction logs a result that contradicts what the player knows.
func (p *Player) contradiction(matchID, by, member, own, reported string) {
	p.options.Log.Error().Str("match_id", matchID).Str("sender", by).Str("member", member).Str("own", own).
		Str("reported", reported).Str("event_type", "DECISION_CONTRADICTED").
		Msg("a result contradicts the player's own record: the audit of the league shows both")
}

// compareResults compares the recorded results of a round with the player's history.
// p.mu is held.
func (p *Player) compareResults(results []protocol.RoundResult) {
	id := p.ID()
	for i := range results {
		r := &results[i]
		if _, plays := r.Choices.Get(id); !plays {
			continue
		}
		result := &league.Result{Status: r.Status, WinnerPlayerID: r.Winner, DrawnNumber: r.DrawnNumber, Choices: r.Choices}
		recorded := Seen(id, r.MatchID, r.Attempt, result)
		k, known := p.history.find(p.history.keyOf(r.MatchID))
		if !known {
			p.compareChoice(p.current[r.MatchID], &recorded, result, protocol.ManagerSender)
			continue
		}
		own := p.history.match(k)
		if own.Attempt != r.Attempt || own.FromStandings {
			continue
		}
		switch choice := recorded.MyChoice; {
		case choice != "" && choice != own.MyChoice && own.MyChoice != "" && r.Status != league.StatusTechnicalLoss:
			p.contradiction(r.MatchID, protocol.ManagerSender, "choice", own.MyChoice, choice)
			own.ReportedChoice = choice
			p.line(&own) // own is not used again
		case recorded.Result != own.Result:
			p.contradiction(r.MatchID, protocol.ManagerSender, "result", own.Result, recorded.Result)
		}
	}
}

// storeHead stores a head of the league's journal that the manager has signed. p.mu is
// held.
func (p *Player) storeHead(round int, head, signature string) {
	m := p.Membership()
	if m == nil || m.ManagerKey == "" || signature == "" && head == "" || head == p.head {
		return
	}
	if !p.options.Heads.Verify(m.ManagerKey, signature, m.LeagueID, head) {
		p.options.Log.Error().Int("round_id", round).Str("journal_head", head).Str("manager_key", m.ManagerKey).
			Str("event_type", "HEAD_SIGNATURE_INVALID").Msg("the signature of the journal's head is not the manager's")
		return
	}
	p.head = head
	p.line(&store.HistoryHead{Head: store.SignedHead{
		Round: round, JournalHead: head, JournalHeadSignature: signature, ManagerKey: m.ManagerKey,
	}})
}
