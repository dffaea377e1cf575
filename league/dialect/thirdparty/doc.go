// Package foreign is leagues with agents of other makers, as they were captured
// and as nobody has seen them: tests of what package dialect does at the edge of
// real agents of ours, over HTTP and in virtual time.
package thirdparty
