package protocol

import (
	"fmt"
	"strings"
)

// The length of a registration code in a roster, in characters.
const (
	minRegistrationCode = 8
	maxRegistrationCode = 128
)

// CheckRegistrationCode returns the rule that a registration code breaks. It does not name
// the code, which is secret. A code has no character that JSON or CSV quotes.
func CheckRegistrationCode(code string) error {
	if len(code) < minRegistrationCode || len(code) > maxRegistrationCode ||
		strings.ContainsFunc(code, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"\,`, r) }) {
		return fmt.Errorf(`a registration code has %d to %d ASCII characters without spaces, commas, double quotes and backslashes`,
			minRegistrationCode, maxRegistrationCode)
	}
	return nil
}
