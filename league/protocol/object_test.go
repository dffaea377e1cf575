package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

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
	o.Add("b", protocol.Quote("x"))
	o.Add("c", protocol.Quote("\xff"))
	o.Set("b", protocol.Quote("y"))
	assert.Equal(t, `{"b":"y","c":"`+"\ufffd"+`"}`, string(o.Append(nil)))
}
