//go:build !linux

package levels

import (
	"errors"
	"os"
)

func reopen(string) (fd int, err error) { return 0, errors.ErrUnsupported }

func replace(fresh, path string) error { return os.Rename(fresh, path) }
