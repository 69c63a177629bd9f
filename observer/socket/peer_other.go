//go:build darwin || freebsd

package socket

import "golang.org/x/sys/unix"

func peer(fd int) (uid uint32, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return cred.Uid, 0, nil
}
