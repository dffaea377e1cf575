package audit_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachRuleIsCheckedAndTested(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	rule := regexp.MustCompile(`\bRule[A-Z]\w+`)
	checked, tested := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		names := checked
		if strings.HasSuffix(path, "_test.go") {
			names = tested
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, name := range rule.FindAllString(string(raw), -1) {
			names[name] = names[name] || path != "rules.go"
		}
	}
	require.NotEmpty(t, checked)
	for name, used := range checked {
		assert.True(t, used, "no check names %s", name)
		assert.True(t, tested[name], "no test breaks %s", name)
	}
}
