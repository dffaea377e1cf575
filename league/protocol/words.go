package protocol

import (
	"fmt"
	"strings"
)

// Counted is a number with its noun: "1 match", "3 matches".
func Counted(n int, noun string) string {
	stem, ies := strings.CutSuffix(noun, "ry")
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "ch"):
		noun += "es"
	case ies:
		noun = stem + "ries"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Times tells how often something happened: "once", "3 times".
func Times(n int) string {
	if n == 1 {
		return "once"
	}
	return Counted(n, "time")
}
