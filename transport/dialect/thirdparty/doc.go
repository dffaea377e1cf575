// Package thirdparty holds tests only: leagues of our agents with third-party agents, as
// they were captured, over HTTP and in virtual time. They test package bridge.
package thirdparty
