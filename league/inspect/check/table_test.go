package check

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// The defect that breaks a generated requirement is a member that a message lacks.
func TestFormRequirementsNameEachMissingMember(t *testing.T) {
	generated := 0
	for _, role := range []string{Player, Referee, Manager} {
		for _, r := range tableOf(role) {
			if !strings.HasSuffix(r.Text, ", as in the protocol.") {
				continue
			}
			example, ok := protocol.Example(r.judges[0].fact)
			assert.True(t, ok, r.ID)
			f := &fact{call: &call{kind: r.judges[0].fact}}
			f.call.params, f.call.sent = objectOf(example), objectOf(example)
			assert.Empty(t, r.judges[0].decide(f), r.ID)
			for _, name := range slices.DeleteFunc(required(f.call.kind), isEnvelope) {
				f.call.params = objectOf(example)
				delete(f.call.params, name)
				assert.Contains(t, r.judges[0].decide(f), name, r.ID)
				generated++
			}
		}
	}
	assert.Greater(t, generated, 30)
}

func TestRequirementsAreCompleteAndUnique(t *testing.T) {
	seen := map[string]bool{}
	for role, letter := range map[string]string{Player: "P", Referee: "R", Manager: "M"} {
		all := Catalogue(role)
		assert.GreaterOrEqual(t, len(all), 40)
		for _, q := range all {
			assert.Regexp(t, "^"+letter+`-[A-Z]+-[0-9]{2}$`, q.ID)
			assert.False(t, seen[q.ID], q.ID)
			seen[q.ID] = true
			assert.True(t, q.Level == Must || q.Level == Should, q.ID)
			assert.True(t, strings.HasSuffix(q.Text, "."), q.ID)
			assert.Regexp(t, `^$|[.)]$`, q.Hint, q.ID)
		}
	}
}

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

func TestEachRemedyNamesARequirementWithAHint(t *testing.T) {
	for _, r := range remedies {
		assert.NotEmpty(t, requirement(r.id).Hint, r.id)
	}
	assert.Equal(t, requirement("P-INV-04"), Remedy("handle_game_invitation", "", false))
	assert.Equal(t, requirement("P-RPC-15"), Remedy("choose_parity", protocol.ErrConnection, true))
}
