package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// link is the target of a link or a picture that is a file of this module.
	link    = regexp.MustCompile(`(?:\]\(|src=")([^)":\s]+)[)"]`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// Each link of a page names an existing file and, if it has a fragment, a heading of that file.
func TestLinksOfPagesExist(t *testing.T) {
	links := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, found := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			links++
			path, fragment, _ := strings.Cut(found[1], "#")
			file := page
			if path != "" {
				file = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
			}
			if _, err := os.Stat(file); !assert.NoError(t, err, "%s links to %s", page, found[1]) || fragment == "" {
				continue
			}
			assert.Contains(t, anchors(t, file), fragment, "%s links to %s", page, found[1])
		}
	}
	assert.Greater(t, links, 100)
}

// Each page of docs that code, help, templates and scripts name exists, with its heading.
func TestPagesNamedOutsideOfPagesExist(t *testing.T) {
	reference := regexp.MustCompile(`\bdocs/([\w-]+\.md)(?:#([\w-]+))?`)
	named := 0
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && slices.Contains([]string{".git", "dist", "node_modules"}, d.Name()) {
				return filepath.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".html", ".txt", ".yaml", ".tmpl", ".py", ".mjs"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range reference.FindAllStringSubmatch(string(text), -1) {
			named++
			page := filepath.Join("docs", found[1])
			if assert.FileExists(t, page, "%s names it", path) && found[2] != "" {
				assert.Contains(t, anchors(t, page), found[2], "%s names %s", path, found[0])
			}
		}
		return err
	}))
	assert.Greater(t, named, 30)
}

// pages returns the pages of this module, without those of templates and of npm.
func pages(t *testing.T) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", "node_modules", "starter"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// anchors returns the fragments of the headings of a page, as GitHub makes them.
func anchors(t *testing.T, page string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		words := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(strings.ToLower(found[1]), "")
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
