package cmd

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressIsRenewedAndErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		matches := 0
		stop := renewLine(&out, func() string { matches++; return fmt.Sprintf("%d of 9 matches", matches) }, time.NewTicker(time.Second))
		<-time.After(2500 * time.Millisecond)
		stop()
		assert.Equal(t, "\r\x1b[K1 of 9 matches\r\x1b[K2 of 9 matches\r\x1b[K3 of 9 matches\r\x1b[K", out.String())
	})
}

func TestProgressIsShownOnlyOnATerminal(t *testing.T) {
	var out bytes.Buffer
	showProgress(&out, func() string { return "0 of 9 matches" })()
	assert.Empty(t, out.String())
}
