package cmd

import (
	"io"
	"sync"
	"time"
)

// showProgress shows a line on a terminal, and renews it until the returned function is called,
// which erases it. Any other output shows nothing. It calls text from another goroutine.
func showProgress(w io.Writer, text func() string) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	return renewLine(w, text, time.NewTicker(100*time.Millisecond))
}

func renewLine(w io.Writer, text func() string, every *time.Ticker) (stop func()) {
	const erase = "\r\x1b[K"
	show := func(line string) {
		var all page
		_, _ = all.WriteString(erase + line) // never fails
		_ = all.print(w)                     // an error only spoils the picture
	}
	var work sync.WaitGroup
	stopped := make(chan struct{})
	work.Go(func() {
		defer every.Stop()
		for {
			show(text())
			select {
			case <-stopped:
				show("")
				return
			case <-every.C:
			}
		}
	})
	return func() {
		close(stopped)
		work.Wait()
	}
}
