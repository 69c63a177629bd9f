package follow

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// zfsMagic is the number of ZFS, which lies outside the kernel.
const zfsMagic = 0x2fc12fc1

// tellsAll says whether inotify tells of every change in an open folder: its file system is one that this machine alone
// writes. Of another, such as NFS, SMB, 9P, FUSE or one that is not known here, it is not certain.
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
