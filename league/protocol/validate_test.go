package protocol_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func BenchmarkValidate(b *testing.B) {
	for _, messageType := range requestTypes() {
		raw := sampleJSON(b, messageType)
		q := newMessage[messageType]()
		if json.Unmarshal(raw, q) != nil {
			b.Fatal()
		}
		b.Run(messageType+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = json.Unmarshal(raw, newMessage[messageType]())
			}
		})
		b.Run(messageType+"/raw-old", func(b *testing.B) {
			for b.Loop() {
				if !protocol.FastCheck(messageType, raw, q) {
					b.Fatal()
				}
			}
		})
		b.Run(messageType+"/raw-new", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if protocol.NewExamine(messageType, raw) != nil {
					b.Fatal()
				}
			}
		})
		b.Run(messageType+"/value-old", func(b *testing.B) {
			for b.Loop() {
				if !protocol.Sound(q) {
					b.Fatal()
				}
			}
		})
		b.Run(messageType+"/value-new", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !protocol.NewSound(messageType, q) {
					b.Fatal()
				}
			}
		})
	}
}

func TestTmpBench(t *testing.T) { assert.True(t, true) }
