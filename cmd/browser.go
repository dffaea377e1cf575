package cmd

import (
	"context"
	"fmt"
	"html"
	"os"
	"runtime"
	"time"

	"evenodd/cmd/supervise"
	"evenodd/league/store"
)

// browserPatience is how long the file with a link waits for a browser.
const browserPatience = time.Minute

// openBrowser opens the page in the browser of this computer, by a file that leads there: other users can read command
// lines. The file is gone when the link was used, after a minute, and when ctx ends. The returned function waits for
// that.
func (d *desk) openBrowser(ctx context.Context, s streams, folder store.Folder) (wait func()) {
	link := d.link()
	if link == "" {
		return func() {}
	}
	text := fmt.Sprintf(`<!DOCTYPE html><meta charset="utf-8"><meta name="referrer" content="no-referrer">`+
		`<meta http-equiv="refresh" content="0;url=%s"><title>evenodd</title><a href="%[1]s">Play</a>`+"\n",
		html.EscapeString(link))
	path, forget, err := folder.KeepLink(d.name, []byte(text))
	if err == nil {
		program := browserProgram()
		err = supervise.Launch(program[0], append(program[1:], path)...)
	}
	if err != nil {
		s.note("The browser cannot be opened: %v", err)
	}
	_, used, _ := d.access.Code()
	ctx, cancel := context.WithTimeout(ctx, browserPatience)
	return background(func(stopped context.Context) {
		defer func() { _ = forget() }() // it is not there after an error
		defer cancel()
		select {
		case <-used:
		case <-ctx.Done():
		case <-stopped.Done():
		}
	})
}

// browserProgram is the command line, without a file, that shows a file in the browser of the user.
func browserProgram() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	return []string{"xdg-open"}
}

// showsBrowser tells whether this process may open a browser: somebody sits at a terminal with a display, and is not
// root, whose browser would run without its sandbox.
func (s streams) showsBrowser() bool {
	if !isTerminal(os.Stdin) || !isTerminal(s.err) || os.Geteuid() == 0 {
		return false
	}
	switch runtime.GOOS {
	case "darwin", "windows":
		return os.Getenv("SSH_CONNECTION") == ""
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}
