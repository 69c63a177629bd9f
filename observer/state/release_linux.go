package state

import (
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Release gives back the pages of the file that have been read, which count as this
// process's memory until the kernel wants them. Later reads mostly come from the
// kernel's cache.
func (s *Store) Release() error {
	return s.view(func(tx *bbolt.Tx) error { // while one runs the mapping stays where it is
		if _, _, errno := unix.Syscall(
			unix.SYS_MADVISE,
			tx.DB().Info().Data,
			uintptr(tx.Size()),
			unix.MADV_DONTNEED,
		); errno != 0 {
			return errno
		}
		return nil
	})
}
