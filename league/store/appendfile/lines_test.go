package appendfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/store/appendfile"
)

func TestTextsAreBounded(t *testing.T) {
	most := strings.Repeat("x", appendfile.MaxText)
	for _, tt := range []struct{ name, text, want string }{
		{"the longest text", `{"a":"` + most + `","b":"` + most + `"}`, ""},
		{"a longer one", `{"a":"` + most + `x"}`, "it has a text of 65537 bytes, and none may have more than 65536"},
		{"a longer name", `{"` + most + `x":1}`, "it has a text of 65537 bytes, and none may have more than 65536"},
		{"escaped quotes", `{"a":"` + strings.Repeat(`\"`, appendfile.MaxText) + `"}`, "it has a text of 131072 bytes, and none may have more than 65536"},
		{"many short ones", `[` + strings.Repeat(`"\\",`, appendfile.MaxText) + `""]`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := appendfile.CheckTexts([]byte(tt.text))
			if tt.want == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, tt.want)
			}
		})
	}
}
