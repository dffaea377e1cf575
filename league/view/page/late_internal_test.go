package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/view/record"
)

func TestMatchPageShowsTheTimeOfALateAnswer(t *testing.T) {
	seconds := 30.0
	for _, tt := range []struct {
		trouble string
		took    *float64
		want    string
	}{
		{record.TroubleNoAnswer, &seconds, "no answer within 30 s"},
		{record.TroubleNoAnswer, nil, "no answer in time"},
		{record.TroubleWrong, &seconds, "wrong answer after 30 s"},
		{record.TroubleVoid, nil, "does not count"},
		{"", nil, ""},
	} {
		line := matchLine{Line: &record.Line{Trouble: tt.trouble, Took: tt.took}}
		assert.Equal(t, tt.want, line.TroubleTitle())
	}
}
