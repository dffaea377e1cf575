package store_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/store"
)

func TestOmittedMessagesAreKnownByTheirCode(t *testing.T) {
	fault := func(detail string) *store.ExchangeError {
		return &store.ExchangeError{ErrorCode: "E023", Detail: detail}
	}
	for name, tt := range map[string]struct {
		exchange store.Exchange
		want     string
	}{
		"a code":                    {store.Exchange{MessageOmitted: store.OmittedTooLarge, Error: fault("")}, store.OmittedTooLarge},
		"no answer":                 {store.Exchange{Error: fault("no answer in time")}, ""},
		"a message that is present": {store.Exchange{Message: []byte(`{}`), MessageOmitted: store.OmittedTooLarge, Error: fault("")}, ""},
		"a message and no error":    {store.Exchange{Message: []byte(`{}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.exchange.Omission()) })
	}
}

func TestUnreadableMembersAreListed(t *testing.T) {
	legacy := &store.ExchangeError{ErrorCode: "E002", Detail: "match_id cannot be read: number"}
	for name, tt := range map[string]struct {
		exchange store.Exchange
		want     bool
	}{
		"listed":        {store.Exchange{UnreadableMembers: []string{"accept", "match_id"}, Error: legacy}, true},
		"not listed":    {store.Exchange{UnreadableMembers: []string{"accept"}, Error: legacy}, false},
		"another error": {store.Exchange{Error: &store.ExchangeError{Detail: "the answer is about match R1M2"}}, false},
		"no error":      {store.Exchange{}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.exchange.Unreadable("match_id")) })
	}
}
