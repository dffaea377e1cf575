package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// BenchmarkValidate compares validation with decoding, for one request of each type.
func BenchmarkValidate(b *testing.B) {
	for _, messageType := range requestTypes() {
		raw := sampleJSON(b, messageType)
		q := newMessage[messageType]()
		require.NoError(b, json.Unmarshal(raw, q))
		b.Run(messageType+"/decode", func(b *testing.B) {
			for b.Loop() {
				_ = json.Unmarshal(raw, newMessage[messageType]())
			}
		})
		b.Run(messageType+"/encoded", func(b *testing.B) {
			for b.Loop() {
				protocol.ExamineValid(messageType, raw)
			}
		})
		b.Run(messageType+"/value", func(b *testing.B) {
			for b.Loop() {
				protocol.ValueHolds(messageType, q)
			}
		})
	}
}
