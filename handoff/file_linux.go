package handoff

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holdsFiles leaves out the file systems on which the kernel speaks: what looks like a
// file there may be without an end, secret, or change something when it is read.
func holdsFiles(f *os.File) bool {
	var stat unix.Statfs_t
	for {
		err := unix.Fstatfs(int(f.Fd()), &stat)
		if err == unix.EINTR {
			continue
		}
		return err == nil && !slices.Contains([]uint32{
			unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC,
			unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.BPF_FS_MAGIC, unix.PSTOREFS_MAGIC,
			unix.EFIVARFS_MAGIC, unix.BINFMTFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.NSFS_MAGIC, unix.RDTGROUP_SUPER_MAGIC,
			unix.XENFS_SUPER_MAGIC, unix.AAFS_MAGIC, configfs, mqueue, fusectl, nfsd, rpcPipefs,
		}, uint32(stat.Type))
	}
}

// The numbers of file systems that golang.org/x/sys does not name, from their sources in Linux.
const (
	configfs  = 0x62656570
	mqueue    = 0x19800202
	fusectl   = 0x65735543
	nfsd      = 0x6e667364
	rpcPipefs = 0x67596969
)

// stillNamed says whether the name that a file was opened by is one of its names. A name that
// was removed and made anew is another, so this holds for all of the time since the opening:
// a file that had one name then had this one.
func stillNamed(f *os.File, path string) bool {
	const removed = " (deleted)" // see proc(5)
	// The kernel counts a name out before it takes it away, and holds the folder meanwhile: who
	// has read the folder has waited for that.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_, _ = d.Readdirnames(1)
		_ = d.Close() // it was only read
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	return err != nil || !strings.HasSuffix(name, removed) || strings.HasSuffix(path, removed)
}
