package player

import (
	"context"

	"evenodd/league"
	"evenodd/league/protocol"
)

// ping answers ping. It tells the manager whether the attempt that the ping names has reached the
// player. After a restart it knows that only for the rounds after the first one that is announced to
// it, because a manager that was restarted as well announces its round again.
func (p *Player) ping(_ context.Context, bearer string, q *protocol.ToolRequest) (*protocol.Pong, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pong := &protocol.Pong{Status: "ok", Role: protocol.RolePlayer, State: p.state}
	if q.MatchID != "" && p.KnowsManager(bearer) {
		asked := p.asked.has(q.MatchID, q.Attempt)
		id, _ := league.ParseMatchID(q.MatchID)
		known := !p.restarted || p.sure > 0 && id.Round >= p.sure
		if asked || known && id.Round > p.asked.forgotten {
			pong.Asked = &asked
		}
	}
	return pong, nil
}

// askedAttempts are the last attempts of which an invitation or a question has reached a player.
// Its manager asks about an attempt as soon as it has a result. Attempt 0 stands for any attempt
// at the match, because some third-party referees name none.
type askedAttempts struct {
	known     map[askedAttempt]bool
	forgotten int // the last round of which the player has forgotten an attempt; 0 for none
}

type askedAttempt struct {
	matchID string
	number  int
}

const maxAsked = 16

func (a *askedAttempts) add(matchID string, attempt int) {
	if len(a.known) == maxAsked {
		for old := range a.known {
			id, _ := league.ParseMatchID(old.matchID)
			a.forgotten = max(a.forgotten, id.Round)
		}
		a.known = nil
	}
	if a.known == nil {
		a.known = map[askedAttempt]bool{}
	}
	a.known[askedAttempt{matchID, attempt}] = true
}

func (a *askedAttempts) has(matchID string, attempt int) bool {
	return a.known[askedAttempt{matchID, attempt}] || a.known[askedAttempt{matchID, 0}]
}
