//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package appendfile

import "os"

// Locks tells that this system has no flock.
const Locks = false

// tryLock does nothing: see OpenLocked.
func tryLock(*os.File) error { return nil }

// tryShare does nothing, either.
func tryShare(*os.File) error { return nil }

// unlock does nothing: there is no lock.
func unlock(*os.File) {}
