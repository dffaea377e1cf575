package player

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

// A referee learns what a bot answered, and nothing else of its failures.
func TestErrorOfAStrategy(t *testing.T) {
	wrong := &strategy.WrongAnswerError{Text: `answered "Even", which is not a legal choice`}
	named := undecided(errors.Join(errors.New("the bot exec:/home/ann/bot.py"), wrong))
	assert.Equal(t, &protocol.Error{RPC: protocol.RPCInternal, Detail: `the strategy answered "Even", which is not a legal choice`}, protocol.AsError(named))

	crashed := errors.New("/home/ann/bot.py: exit status 3")
	assert.Equal(t, crashed, undecided(crashed), "the caller receives an internal error without details")
}
