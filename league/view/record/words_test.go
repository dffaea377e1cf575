package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

func TestDurationsHaveTwoOrThreeDigits(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "< 1 ms", 0.4: "0.4 ms", 2.5: "2.5 ms", 12: "12 ms", 999.4: "999 ms", 999.6: "1.0 s", 3200: "3.2 s", 45000: "45 s",
	} {
		assert.Equal(t, want, record.Milliseconds(ms))
	}
}

func TestFormatsInWords(t *testing.T) {
	assert.Equal(t, "round-robin", record.FormatInWords("", 1))
	assert.Equal(t, "round-robin, 2 legs", record.FormatInWords(journal.FormatRoundRobin, 2))
	assert.Equal(t, "Swiss system", record.FormatInWords(journal.FormatSwiss, 1))
	assert.Equal(t, "knockout", record.FormatInWords(journal.FormatKnockout, 1))
}

func TestEveryErrorHasAPhrase(t *testing.T) {
	assert.Equal(t, "did not answer in time", record.FailureInWords(string(protocol.ErrTimeout)))
	assert.Equal(t, "failed (E005 PLAYER_NOT_REGISTERED)", record.FailureInWords("E005"))
	assert.Equal(t, "failed", record.FailureInWords("no code"))
}
