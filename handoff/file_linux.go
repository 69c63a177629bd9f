package handoff

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// holdsFiles is false for file systems of the kernel: a file there may be endless or secret, or
// have side effects when it is read.
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

// The numbers of file systems that golang.org/x/sys lacks, from the Linux sources.
const (
	configfs  = 0x62656570
	mqueue    = 0x19800202
	fusectl   = 0x65735543
	nfsd      = 0x6e667364
	rpcPipefs = 0x67596969
)

// stillNamed reports whether the file still has the name by which it was opened. A name that
// was removed and created again does not count, so a file with one name has had this one all
// the time.
func stillNamed(f *os.File, path string) bool {
	const removed = " (deleted)" // see proc(5)
	// The kernel decrements the link count before it removes the name, and locks the folder
	// meanwhile: reading the folder waits for that.
	if d, err := os.Open(filepath.Dir(path)); err == nil {
		_, _ = d.Readdirnames(1)
		_ = d.Close() // it was only read
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	return err != nil || !strings.HasSuffix(name, removed) || strings.HasSuffix(path, removed)
}
