package protocol

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnknownWordsOfATagAreFound(t *testing.T) {
	type unknownWord struct {
		Member string `json:"member" rule:"optional,digset"`
	}
	assert.PanicsWithValue(t, "a tag has the unknown word digset", func() { compile(reflect.TypeFor[unknownWord](), "") })
	type unknownType struct {
		Member complex128 `json:"member"`
	}
	assert.PanicsWithValue(t, "a message has a member of type complex128", func() { compile(reflect.TypeFor[unknownType](), "") })
}
