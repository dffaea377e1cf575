package check

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachRequirementLinksToASectionOfTheProtocolPage(t *testing.T) {
	text, err := os.ReadFile("../../../" + protocolPage)
	require.NoError(t, err)
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchors[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	for _, role := range []string{Player, Referee, Manager} {
		for _, q := range Catalogue(role) {
			assert.True(t, anchors[strings.TrimPrefix(q.Page, protocolPage+"#")], "%s has no section in %s: %q", q.ID, protocolPage, q.Page)
		}
	}
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
	assert.Empty(t, unnamed)
}
