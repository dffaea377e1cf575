//go:build linux || darwin || freebsd

package disk

import "golang.org/x/sys/unix"

func freeSpace(folder string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, err
	}
	//nolint:gosec // the types differ between systems; the values are positive
	return uint64(max(0, int64(s.Bavail))) * uint64(s.Bsize), nil
}
