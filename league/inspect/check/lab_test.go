package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBodiesAreShownWithoutTokens(t *testing.T) {
	for body, want := range map[string]string{
		`{"auth_token":"secret-of-a-player","x":1}`:                         `{"auth_token":"***","x":1}`,
		`{"AUTH_TOKEN" : "secret\/of-a-player"}`:                            `{"AUTH_TOKEN" : "***"}`,
		`{"content":[{"text":"{\"auth_token\": \"secret-of-a-player\"}"}]}`: `{"content":[{"text":"{\"auth_token\": \"***\"}"}]}`,
		`{"auth_token":"none"}`:                                             `{"auth_token":"none"}`,
		`{"auth_token":null,"choice":"even"}`:                               `{"auth_token":null,"choice":"even"}`,
	} {
		assert.Equal(t, want, shown([]byte(body)))
	}
}
