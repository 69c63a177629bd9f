package state

import (
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// Release releases the pages of the file that have been read. They count as
// memory of this process until the kernel needs them. Later reads mostly come
// from the kernel's cache.
func (s *Store) Release() error {
	return s.view(func(tx *bbolt.Tx) error { // a transaction keeps the mapping in place
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
