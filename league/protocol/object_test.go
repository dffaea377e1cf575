package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestPerPlayerKeepsItsOrder(t *testing.T) {
	score := protocol.Both("P02", 3, "P01", 0)
	encoded, err := json.Marshal(score)
	require.NoError(t, err)
	assert.Equal(t, `{"P02":3,"P01":0}`, string(encoded))
	var decoded protocol.PerPlayer[int]
	require.NoError(t, json.Unmarshal(encoded, &decoded))
	assert.Equal(t, score, decoded)
}

func TestPerPlayerFindsAPlayer(t *testing.T) {
	choices := protocol.Both("P01", pointer("even"), "P02", nil)
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
	tests := []struct {
		name, text string
		want       protocol.PerPlayer[int]
		ok         bool
	}{
		{"two", `{"P01":1,"P02":2}`, protocol.Both("P01", 1, "P02", 2), true},
		{"none", `{}`, protocol.PerPlayer[int]{}, true},
		{"null", `null`, nil, true},
		{"quoted names", `{"P\"1":1}`, protocol.PerPlayer[int]{{Name: `P"1`, Value: 1}}, true},
		{"an array", `[1,2]`, nil, false},
		{"a number", `1`, nil, false},
		{"a wrong value", `{"P01":"1"}`, nil, false},
		{"a player twice", `{"P01":1,"P01":2}`, nil, false},
		{"cut off", `{"P01":1`, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			decoded := protocol.PerPlayer[int]{{Name: "old", Value: 9}}
			err := json.Unmarshal([]byte(test.text), &decoded)
			assert.Equal(t, test.ok, err == nil, "%v", err)
			if test.ok {
				assert.Equal(t, test.want, decoded)
			}
		})
	}
}

func TestObjectKeepsOrderAndTextOfMembers(t *testing.T) {
	const text = `{"b": 1.50,"a":{"x" : [ ]},"n":null}`
	o := protocol.ParseObject([]byte(text))
	assert.Equal(t, `{"b":1.50,"a":{"x" : [ ]},"n":null}`, string(o.Append(nil)))
	encoded, err := json.Marshal(o)
	require.NoError(t, err)
	assert.JSONEq(t, text, string(encoded))
	assert.True(t, o.Has("n"), "a member that is null is there")
	assert.Nil(t, o.Get("n"))
	assert.Equal(t, `1.50`, string(o.Get("n", "absent", "b")))
	assert.Equal(t, `[ ]`, string(o.Object("a").Raw("x")))
}

func TestObjectReadsMembersByType(t *testing.T) {
	o := protocol.ParseObject([]byte(`{"text":"a\u0062","integer":7,"fraction":1.5,"string object":" {\"a\":1} ","object":{}}`))
	assert.Equal(t, "ab", o.Text("text"))
	assert.Empty(t, o.Text("integer"))
	assert.Equal(t, 7, o.Integer("integer"))
	assert.Zero(t, o.Integer("fraction"))
	assert.Zero(t, o.Integer("text"))
	assert.Equal(t, 1, o.Object("string object").Integer("a"))
	assert.NotNil(t, o.Object("object"))
	assert.Nil(t, o.Object("text"))
	for _, other := range []string{"", "null", "[]", `{"a":1,"a":2}`, `{"a":1`, "{}{}"} {
		assert.Nil(t, protocol.ParseObject([]byte(other)), other)
	}
}

func TestObjectIsEditedInPlace(t *testing.T) {
	o := protocol.ParseObject([]byte(`{"a":1,"b":2}`))
	before := o
	o.Drop("a")
	o.Drop("absent")
	assert.Equal(t, `{"a":1,"b":2}`, string(before.Append(nil)), "Drop does not change another copy")
	assert.False(t, o.Add("b", protocol.Quote("x")))
	assert.True(t, o.Add("c", protocol.Quote("\xff")))
	o.Set("b", protocol.Quote("y"))
	assert.Equal(t, `{"b":"y","c":"`+"\ufffd"+`"}`, string(o.Append(nil)))
}
