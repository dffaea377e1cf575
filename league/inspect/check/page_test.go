package check

import (
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachRequirementLinksToASectionOfTheProtocolPage(t *testing.T) {
	text, err := os.ReadFile("../../" + protocolPage)
	require.NoError(t, err)
	headings := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		headings[heading[1]] = true
	}
	unused := maps.Clone(sections)
	for _, role := range []string{Player, Referee, Manager} {
		for _, q := range Catalogue(role) {
			key := sectionKey(q.ID)
			assert.True(t, headings[sections[key]], "%s has no section in %s: %q", q.ID, protocolPage, sections[key])
			assert.NotContains(t, strings.TrimPrefix(q.Page, protocolPage+"#"), " ")
			delete(unused, key)
		}
	}
	assert.Empty(t, unused, "no requirement has these keys")
}

func TestReferencesOfARequirement(t *testing.T) {
	r := Requirement{Page: "docs/protocol.md#game_join_ack", Spec: "003 §4.4.2"}
	assert.Equal(t, "docs/protocol.md#game_join_ack, 003 §4.4.2", r.See())
	r.Spec = ""
	assert.Equal(t, "docs/protocol.md#game_join_ack", r.See())
}

// A MUST is no more than the specification demands. The draw is an extension: its requirements are
// those of an agent that itself commits to it.
func TestEachMustNamesItsSectionOfTheSpecification(t *testing.T) {
	var unnamed []string
	for _, role := range []string{Player, Referee, Manager} {
		for _, q := range Catalogue(role) {
			if q.Level == Must && q.Spec == "" {
				unnamed = append(unnamed, q.ID)
			}
		}
	}
	assert.Equal(t, []string{"P-CHO-09", "R-DRW-01"}, unnamed)
}
