package manager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

func TestErrorAboutANegativeOptionNamesThatOption(t *testing.T) {
	for _, test := range []struct {
		want    string
		options league.Options
	}{
		{"legs cannot be negative: -1", league.Options{Legs: -1}},
		{"referees cannot be negative: -2", league.Options{Referees: -2}},
		{"concurrency cannot be negative: -3", league.Options{Concurrency: -3}},
	} {
		o := test.options
		o.LeagueID, o.GameType, o.Games, o.Clock = "L", evenodd.Type, rules.NewRegistry(evenodd.Game{}), protocol.SystemClock()
		_, err := league.New(o)
		assert.EqualError(t, err, test.want)
	}
}
