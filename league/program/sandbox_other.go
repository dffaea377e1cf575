//go:build !linux || (!amd64 && !arm64)

package program

import "errors"

func sandboxError() error {
	return errors.New("only Linux on amd64 and arm64 has the sandbox (Landlock and seccomp)")
}

func enterSandbox() error { return sandboxError() }
