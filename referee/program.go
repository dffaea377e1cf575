package referee

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"evenodd/league/conduct"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A Program is a running game that is a program. It is safe for concurrent use.
type Program interface {
	// Ask returns what the program says of the history of a match. It has its own limits of time and size; an error says
	// how the program failed.
	Ask(ctx context.Context, history []rules.Entry) (*rules.State, error)
	// Digest is the SHA-256 of the files of the program, in hexadecimal digits.
	Digest() string
}

// checkPrograms returns an error for a game that is a program, but has none in the options.
func (o *Options) checkPrograms() error {
	for _, gameType := range o.Games.Types() {
		game, _ := o.Games.Game(gameType) // it is one of the types
		if _, is := game.(*rules.Program); is && o.Programs[gameType] == nil {
			return fmt.Errorf("game %s is a program, which the referee needs to run", gameType)
		}
	}
	return nil
}

// gameID identifies the program of a game; it is empty for any other game.
func (r *Referee) gameID(game rules.Game) protocol.GameID {
	if _, is := game.(*rules.Program); !is {
		return protocol.GameID{}
	}
	info := game.Info()
	return protocol.GameID{Version: info.Version, Digest: r.options.Programs[info.Type].Digest()}
}

// otherProgram says that an assignment is about another program than that of this referee; "" for the same one.
func otherProgram(gameType string, own, assigned protocol.GameID) string {
	if own == assigned {
		return ""
	}
	return fmt.Sprintf("game %s is not the same program here: version %q with digest %.12s, in the assignment version %q "+
		"with digest %.12s", gameType, own.Version, cmp.Or(own.Digest, "none"), assigned.Version,
		cmp.Or(assigned.Digest, "none"))
}

// large tells whether messages of a game can have up to 64 KB.
func (o *Options) large(gameType string) bool {
	game, err := o.Games.Game(gameType)
	return err == nil && rules.HasViews(game) && game.Info().Large
}

// hides tells whether a side does not see all that happens in a game.
func (r *Referee) hides(gameType string) bool {
	game, err := r.options.Games.Game(gameType)
	return err != nil || rules.Hides(game) // nobody knows of a game that is gone
}

// consult asks the program of the game what it says of the match, as long as the match goes on with that alone.
func (m *match) consult() {
	for !m.over() {
		m.mu.Lock()
		history, due := m.conduct.Awaits()
		m.mu.Unlock()
		if !due {
			return
		}
		state, err := m.program.Ask(m.referee.life, history)
		if err == nil {
			m.mu.Lock()
			if err = m.conduct.Told(state); err == nil {
				err = m.conduct.CheckSize(state)
			}
			m.mu.Unlock()
		}
		if err != nil {
			m.programFailed(err)
		}
	}
}

// errProgram ends an attempt at a question whose answer the program of the game has not judged.
var errProgram = errors.New("the program of the game has failed")

// consider asks the program of the game whether a move in free text is legal. The time of the program does not count
// in the player's window. The error is errProgram.
func (m *match) consider(side rules.Side, a *conduct.Attempt, w *window) error {
	m.mu.Lock()
	history, due := m.conduct.Legal(side, a.Reply)
	m.mu.Unlock()
	if !due {
		return nil
	}
	began := time.Now()
	state, err := m.program.Ask(m.referee.life, history)
	a.Judged = time.Since(began)
	w.deadline = w.deadline.Add(a.Judged)
	if err == nil {
		m.mu.Lock()
		err = m.conduct.Refuse(side, a.Reply, history, state)
		m.mu.Unlock()
	}
	if err == nil {
		return nil
	}
	m.programFailed(err)
	return errProgram
}

// programFailed gives the attempt up, unless the referee stops: no player pays for its program.
func (m *match) programFailed(err error) {
	if m.referee.life.Err() != nil {
		return // it ends the calls of its programs
	}
	m.mu.Lock()
	m.failure = protocol.CauseOf(err)
	m.mu.Unlock()
	m.givenUp.Store(true)
	m.referee.options.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("match_id", m.matchID).
		Str("event_type", "GAME_PROGRAM_FAILED").Msg("the program of the game failed: the attempt is given up")
}
