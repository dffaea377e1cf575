package protocol

// IsRequest tells whether messages of that type are validated when they arrive.
func IsRequest(messageType string) bool { return methodOfType[messageType] != nil }
