package protocol

// Unexported functions for the tests of package protocol_test.
var ValidSender = validSender

// IsRequest tells whether messages of that type are validated when they arrive.
func IsRequest(messageType string) bool { return methodOfType[messageType] != nil }
