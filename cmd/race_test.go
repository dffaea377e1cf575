//go:build race

package cmd_test

const raceDetector = true
