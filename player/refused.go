package player

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// maxRefused is how many answers to a question a player replaces: as often as a referee usually asks again.
const maxRefused = 3

// maxRefusal is the most bytes of what a referee says of a text that it refuses.
const maxRefusal = 300

// speak keeps the answer to a question for free text: a referee may refuse it.
func (p *Player) speak(m *match, question, choice string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.spoken == nil || m.spoken.question != question {
		m.spoken = &spoken{question: question}
	}
	m.spoken.choice = choice
}

// refusedTexts returns the answers to a question for free text that were refused; after a restart those of its signed
// decision.
func (p *Player) refusedTexts(m *match, question string, v *strategy.View, key questionKey) []store.RefusedText {
	if v.Text == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.spoken == nil || m.spoken.question != question {
		m.spoken = &spoken{question: question}
		if d := p.signed[key]; d != nil {
			m.spoken.refused = d.Decision.Refused
		}
	}
	return m.spoken.refused
}

// refuse processes a GAME_ERROR that refuses the player's last answer in a match, if that is a free text, so that the
// strategy decides the question anew. Options get no second answer: each is legal.
//
// In a league that signs, a dishonest referee can get several signatures in answer to one question by this, and choose
// between texts that are all the player's own. So the player accepts a refusal only from the referee that conducts the
// attempt, only of the text that it sent last, and only a few times. Its history keeps each signed text with the
// refusal (store.Decision.Refused), later questions must have the last one, and an audit finds a result with an earlier
// one. A repeated or late GAME_ERROR names another text, and changes nothing.
func (p *Player) refuse(q *protocol.GameError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.current[q.MatchID]
	if m == nil || m.spoken == nil || m.spoken.choice == "" || m.checkReferee(&q.Envelope) != nil ||
		attemptOf(q.MatchID, q.ConversationID) != m.attempt || q.ErrorCode != string(protocol.ErrIllegalMove) {
		return
	}
	s := m.spoken
	invalid, _ := q.Context["invalid_choice"].(string)
	if invalid != words.Clip(s.choice, protocol.MaxMessageType) {
		return
	}
	detail, _ := q.Context["detail"].(string)
	detail = strings.TrimSuffix(detail, fmt.Sprintf(", got %.60q", s.choice)) // the referee of evenodd quotes it
	one := store.RefusedText{Choice: s.choice, Reason: words.Clip(words.Escape(detail), maxRefusal)}
	if p.watcher != nil {
		p.watcher.Refused(m.id, strategy.Refusal(one))
	}
	if len(s.refused) < maxRefused {
		s.refused, s.choice = append(slices.Clip(s.refused), one), ""
	}
}
