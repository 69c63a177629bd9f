package state

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"go.etcd.io/bbolt"
)

// A checker verifies the tree of a bucket before bbolt's cursors use it. They
// would never end in a tree that leads back to itself, and would overwrite pages
// that are in use but listed as free. Tx.Check is no alternative: it reads damaged
// pages in a goroutine of its own, where a fault ends the process.
type checker struct {
	tx   *bbolt.Tx
	file io.ReaderAt
	seen map[int]bool
	leaf []byte // a page read before, to be read into again
}

// The layout of a page: a header of 16 bytes, then elements of 16 bytes. The
// numbers have the byte order of the machine.
const elementSize = 16

// tree checks the pages below page id. The first key on it must be first, unless
// that is nil: otherwise bbolt would not replace the page when it writes, but
// keep its old version too.
func (c *checker) tree(id int, first []byte) error {
	info, err := c.tx.Page(id)
	if err != nil {
		return err
	}
	if id < 2 || info == nil {
		return damaged("page %d does not exist", id)
	}
	for i := id; i <= id+info.OverflowCount; i++ {
		part := info
		if i > id {
			if part, err = c.tx.Page(i); err != nil {
				return err
			}
		}
		if part == nil || part.Type == "free" || c.seen[i] {
			return damaged("page %d is missing, free or used twice", i)
		}
		c.seen[i] = true
	}
	if info.Type != "branch" && info.Type != "leaf" {
		return damaged("page %d has the type %s", id, info.Type)
	}

	leaf := info.Type == "leaf"
	page, err := c.read(id, 1+info.OverflowCount, leaf)
	if err != nil {
		return err
	}
	if info.Count > len(page)/elementSize-1 {
		return damaged("page %d has %d elements", id, info.Count)
	}
	for i := range info.Count {
		key, below := element(page, i, leaf)
		if key == nil || i == 0 && first != nil && !bytes.Equal(key, first) {
			return damaged("page %d has wrong keys", id)
		}
		if leaf {
			return nil
		}
		if err := c.tree(below, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) read(id, pages int, leaf bool) ([]byte, error) {
	size := c.tx.DB().Info().PageSize
	var page []byte
	if leaf {
		page = c.leaf
	}
	page = slices.Grow(page[:0], pages*size)[:pages*size]
	if leaf {
		c.leaf = page
	}
	if _, err := c.file.ReadAt(page, int64(id*size)); err != nil {
		return nil, &damage{err}
	}
	return page, nil
}

// element returns the key of an element, nil if it is out of bounds, and the page
// that an element of a branch leads to.
func element(page []byte, i int, leaf bool) (key []byte, below int) {
	at := elementSize * (1 + i)
	n := binary.NativeEndian
	e := page[at : at+elementSize]
	if leaf {
		e = e[4:] // flags, position, size of the key
	} else {
		below = int(n.Uint64(e[8:])) // position, size of the key, page
	}
	from := at + int(n.Uint32(e))
	to := from + int(n.Uint32(e[4:]))
	if to > len(page) {
		return nil, below
	}
	return page[from:to], below
}

// bucket checks the tree of a bucket. A small one has no page of its own.
func (c *checker) bucket(name string) error {
	b := c.tx.Bucket([]byte(name))
	if b == nil {
		return damaged("bucket %s is missing", name)
	}
	if b.Root() == 0 {
		return nil
	}
	return c.tree(int(b.Root()), nil)
}

func damaged(format string, args ...any) error { return &damage{fmt.Errorf(format, args...)} }
