package proc

import (
	"os"
	"path/filepath"
)

// LookPath returns the path of a program in list, the value of PATH; "" if it
// is not found.
func LookPath(list, name string) string {
	for _, dir := range filepath.SplitList(list) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil &&
			info.Mode().IsRegular() &&
			info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}
