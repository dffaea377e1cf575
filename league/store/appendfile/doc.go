// Package appendfile writes files of lines that only grow. Lines of many goroutines
// become durable in groups: one write and one sync for all lines that wait. The package
// must not depend on what the lines contain.
package appendfile
