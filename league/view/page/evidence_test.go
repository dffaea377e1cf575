package page_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each page that shows a result on the word of its referee says so, and no page of another result does.
func TestResultOnTheWordOfItsRefereeIsMarkedOnEachPage(t *testing.T) {
	const (
		tag      = ">stated</span>"
		sentence = "rest on the word of referee REF01 alone."
		note     = "The result rests on the word of referee REF01 alone"
	)
	for _, stated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tape := newTape(t, "finished", "league_2025_even_odd")
			for i, line := range tape.lines {
				if stated && strings.Contains(line, `"type":"match_reported"`) && strings.Contains(line, `"referee_id":"REF01"`) {
					tape.lines[i] = regexp.MustCompile(`"grade":"[a-z]+"`).ReplaceAllString(line, `"grade":"stated"`)
				}
			}
			s := serve(t, tape)
			tape.play(len(tape.lines))
			synctest.Wait()
			pages := map[string][]string{"/": {tag, sentence}, "/players/P01": {tag}, "/matches/R1M1": {note}}
			for path, marks := range pages {
				page := s.get(path)
				require.Equal(t, http.StatusOK, page.Code, path)
				for _, mark := range marks {
					assert.Equal(t, stated, strings.Contains(page.Body.String(), mark), "%s: %s", path, mark)
				}
			}
		})
	}
}
