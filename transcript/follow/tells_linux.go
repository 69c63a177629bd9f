package follow

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// zfsMagic is the number of ZFS, which lies outside the kernel.
const zfsMagic = 0x2fc12fc1

// tellsAll reports whether inotify reports every change in an open folder: only this
// machine writes to its file system. For NFS, SMB, 9P, FUSE and unknown ones it is
// false.
func tellsAll(dir *os.File) bool {
	var st unix.Statfs_t
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Fstatfs(int(dir.Fd()), &st)
	}
	return err == nil && slices.Contains([]uint32{
		unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.BCACHEFS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, zfsMagic,
	}, uint32(st.Type))
}
