package main_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Continuous integration selects tests by the beginnings of their names. It does not run, or does not leave out, a test
// that has got another name, and nothing else would tell.
func TestContinuousIntegrationSelectsTestsThatExist(t *testing.T) {
	var tests []string
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.isTest() {
				tests = append(tests, f.Name.Name)
			}
		}
	}
	script := regexp.MustCompile(`'\n\w+\+='`).ReplaceAllString(textOf(t, ".ci/run"), "") // lines of one pattern
	selected := 0
	for _, pattern := range regexp.MustCompile(`\^Test(?:\(([\w|]+)\)|(\w+))`).FindAllStringSubmatch(script, -1) {
		for _, name := range strings.Split(pattern[1]+pattern[2], "|") {
			selected++
			found := slices.ContainsFunc(tests, func(test string) bool { return strings.HasPrefix(test, "Test"+name) })
			assert.True(t, found, "no test begins with Test%s", name)
		}
	}
	assert.Greater(t, selected, 60)
}
