package league_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
)

func TestPerPlayerKeepsItsOrder(t *testing.T) {
	score := league.Both("P02", 3, "P01", 0)
	encoded, err := json.Marshal(score)
	require.NoError(t, err)
	assert.Equal(t, `{"P02":3,"P01":0}`, string(encoded))
	var decoded league.PerPlayer[int]
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	assert.Equal(t, score, decoded)
}

func TestPerPlayerFindsAPlayer(t *testing.T) {
	choices := league.Both("P01", new("even"), "P02", nil)
	choice, ok := choices.Get("P01")
	assert.True(t, ok)
	assert.Equal(t, "even", *choice)
	choice, ok = choices.Get("P02")
	assert.True(t, ok, "an entry that is null is there")
	assert.Nil(t, choice)
	_, ok = choices.Get("P03")
	assert.False(t, ok)
}

func TestPerPlayerDecoding(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       league.PerPlayer[int]
		ok         bool
	}{
		{"two", `{"P01":1,"P02":2}`, league.Both("P01", 1, "P02", 2), true},
		{"none", `{}`, league.PerPlayer[int]{}, true},
		{"null", `null`, nil, true},
		{"quoted names", `{"P\"1":1}`, league.PerPlayer[int]{{Name: `P"1`, Value: 1}}, true},
		{"an array", `[1,2]`, nil, false},
		{"a number", `1`, nil, false},
		{"a wrong value", `{"P01":"1"}`, nil, false},
		{"a player twice", `{"P01":1,"P01":2}`, nil, false},
		{"cut off", `{"P01":1`, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			decoded := league.PerPlayer[int]{{Name: "old", Value: 9}}
			err := json.Unmarshal([]byte(test.text), &decoded)
			assert.Equal(t, test.ok, err == nil, "%v", err)
			if test.ok {
				assert.Equal(t, test.want, decoded)
			}
		})
	}
}
