package protocol

import (
	"errors"
	"regexp"
)

// A registration code has no character that JSON or CSV quotes: no double quote (22), comma (2c) and backslash (5c).
var registrationCode = regexp.MustCompile(`^[!\x23-\x2b\x2d-\x5b\x5d-~]{8,128}$`)

// CheckRegistrationCode returns the rule that a registration code breaks. It does not name
// the code, which is secret.
func CheckRegistrationCode(code string) error {
	if !registrationCode.MatchString(code) {
		return errors.New(
			`a registration code has 8 to 128 ASCII characters without spaces, commas, double quotes and backslashes`)
	}
	return nil
}
