package protocol

import "reflect"

// Unexported functions for the tests of package protocol_test.
var ValidSender = validSender

// IsRequest tells whether messages of that type are validated when they arrive.
func IsRequest(messageType string) bool { return methodOfType[messageType] != nil }

// ValueHolds is the check of a request that comes as a value.
func ValueHolds(messageType string, q any) bool {
	return allHold(methodOfType[messageType].checks, reflect.ValueOf(q).UnsafePointer())
}

// ExamineValid is Examine of text that is known to be JSON.
func ExamineValid(messageType string, raw []byte) []FieldError {
	return examineValid(shapes[messageType], raw)
}
