package cmd

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/player/strategy/person"
)

// The browser gets the name of a file that only the user can read. It leads to the link, and is gone when the link was
// used.
func TestBrowserIsOpenedByAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "xdg-open"),
		[]byte("#!/bin/sh\ncp \"$1\" "+dir+"/copy\nls -l \"$1\" >"+dir+"/listed\necho \"$@\" >"+dir+"/given\n"), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	folder := store.In(t.TempDir())
	access, err := page.OpenAccess(folder, "Ada")
	require.NoError(t, err)
	who := person.New(person.Options{Player: "Ada"})
	play, err := page.NewPlay(page.PlayOptions{Person: who, Access: access})
	require.NoError(t, err)
	d := &desk{name: "Ada", person: who, access: access, page: play, url: "http://localhost:8500/play"}
	link := d.link()
	wait := d.openBrowser(t.Context(), streams{err: os.Stderr}, folder)
	var given string
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "given"))
		given = strings.TrimSpace(string(text))
		return err == nil && given != ""
	}, 20*time.Second, 10*time.Millisecond)
	_, code, _ := strings.Cut(link, "#")
	assert.NotContains(t, given, code)
	assert.Equal(t, filepath.Join(folder.Path, "private"), filepath.Dir(given))
	copied, err := os.ReadFile(filepath.Join(dir, "copy"))
	require.NoError(t, err)
	assert.Contains(t, string(copied), `content="0;url=`+link+`"`)
	listed, err := os.ReadFile(filepath.Join(dir, "listed"))
	require.NoError(t, err)
	assert.Regexp(t, `^-rw------- `, string(listed))

	r := httptest.NewRequestWithContext(context.Background(), "POST", "http://localhost:8500/play/open",
		strings.NewReader(`{"code":"`+code+`"}`))
	r.Header.Set("Origin", "http://localhost:8500")
	for _, route := range play.Routes() {
		if route.Pattern == "POST /play/open" {
			route.Handler.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	assert.Eventually(t, func() bool { _, err := os.Stat(given); return os.IsNotExist(err) }, 20*time.Second,
		10*time.Millisecond)
	wait()
	assert.NotPanics(t, d.openBrowser(t.Context(), streams{err: os.Stderr}, folder), "a link that was used opens nothing")
}

func TestBrowserIsNotOpenedByRootOrWithoutATerminal(t *testing.T) {
	t.Setenv("DISPLAY", ":0")
	assert.False(t, streams{err: os.Stderr}.showsBrowser())
}
