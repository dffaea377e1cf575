package conformance

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"evenodd/league/protocol"
)

// drawnNumber is the number that nonce and entropies make, as PROTOCOL has it:
// the kit takes no game's word for it.
func drawnNumber(nonce, entropyA, entropyB protocol.Secret) int {
	begin := append([]byte("evenodd-number-v1"), nonce[:]...)
	begin = append(append(begin, entropyA[:]...), entropyB[:]...)
	for i := uint32(0); ; i++ {
		for _, b := range sha256.Sum256(binary.BigEndian.AppendUint32(begin[:len(begin):len(begin)], i)) {
			if b < 250 {
				return int(b)%10 + 1
			}
		}
	}
}

func newSecret() (s protocol.Secret) {
	_, _ = crand.Read(s[:]) // never fails
	return s
}

func parityOf(number int) string {
	if number%2 == 0 {
		return "even"
	}
	return "odd"
}

// other is the other choice.
func other(choice string) string {
	if choice == "even" {
		return "odd"
	}
	return "even"
}
