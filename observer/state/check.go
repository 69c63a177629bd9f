package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"syscall"
)

// The layout of bbolt's file format 2, whose numbers have the machine's byte order.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	metaSize    = 64 // the last 8 are the checksum
	headerSize  = 16 // id 8, flags 2, count 2, overflow 4
	elementSize = 16 // of leaves: flags, pos, ksize, vsize; of branches: pos, ksize, page 8
	bucketSize  = 16 // root 8, sequence 8

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10

	noFreelist = math.MaxUint64
	// deepest is far beyond what a tree of a terabyte needs.
	deepest = 32
)

// checkPages walks the file's pages as bbolt would and returns a *damage when they
// are not exactly as bbolt writes them: each page used once or else listed as free,
// keys in order and within the bounds above them, elements packed without gaps, and a
// page's first key the one by which its parent knows it (with another one bbolt would
// not replace the page when it writes, but keep its old version besides). What bbolt
// leaves unprotected is thereby covered as far as structure goes. The records have
// checksums of their own: they are given to record, which is nil or looks at them. It
// reads with pread: a mapped page that cannot be read would be a fault.
func checkPages(f *os.File, record func(bucket string, key, value []byte)) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = checkImage(f, info.Size(), record)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EIO) {
		return &damage{err}
	}
	return err
}

func checkImage(r io.ReaderAt, size int64, record func(bucket string, key, value []byte)) error {
	m, err := newestMeta(r, size)
	if err != nil {
		return err
	}
	if m.pages > uint64(size)/m.pageSize {
		return damaged("%d pages of %d bytes in a file of %d", m.pages, m.pageSize, size)
	}
	c := &checker{r: r, meta: m, record: record, used: make(pageSet, m.pages/8+1), free: make(pageSet, m.pages/8+1)}
	if m.freelist != noFreelist {
		if err := c.freelist(m.freelist); err != nil {
			return err
		}
	}
	if err := c.tree(m.root, span{}, 0); err != nil {
		return err
	}
	// A pointer to a page further down leaves out what lies between.
	for i := uint64(2); i < m.pages && m.freelist != noFreelist; i++ {
		if !c.used.has(i) && !c.free.has(i) {
			return damaged("page %d is neither used nor free", i)
		}
	}
	return nil
}

func damaged(format string, args ...any) error { return &damage{fmt.Errorf(format, args...)} }

// meta is what one of the two meta pages says.
type meta struct {
	pageSize, root, freelist, pages, transaction uint64
}

// newestMeta chooses as bbolt does: the newest whose checksum holds.
func newestMeta(r io.ReaderAt, size int64) (meta, error) {
	first, firstOK := readMeta(r, 0)
	if firstOK {
		second, ok := readMeta(r, int64(first.pageSize))
		if ok && second.transaction > first.transaction {
			return second, nil
		}
		return first, nil
	}
	// The page size stands in the meta pages alone, so the second must be sought.
	for at := int64(1 << 10); at <= 1<<24 && at < size; at <<= 1 {
		if m, ok := readMeta(r, at); ok && int64(m.pageSize) == at {
			return m, nil
		}
	}
	return meta{}, damaged("both meta pages are invalid")
}

func readMeta(r io.ReaderAt, at int64) (m meta, ok bool) {
	var b [headerSize + metaSize]byte
	if _, err := r.ReadAt(b[:], at); err != nil {
		return meta{}, false
	}
	p := b[headerSize:]
	n := binary.NativeEndian
	sum := fnv.New64a()
	sum.Write(p[:metaSize-8])
	m = meta{
		pageSize: uint64(n.Uint32(p[8:])), root: n.Uint64(p[16:]), freelist: n.Uint64(p[32:]),
		pages: n.Uint64(p[40:]), transaction: n.Uint64(p[48:]),
	}
	return m, n.Uint32(p) == boltMagic && n.Uint32(p[4:]) == boltVersion && n.Uint64(p[56:]) == sum.Sum64() &&
		m.pageSize >= 1<<10 && m.pageSize <= 1<<24 && m.pageSize&(m.pageSize-1) == 0
}

type checker struct {
	r          io.ReaderAt
	meta       meta
	used, free pageSet
	levels     [][]byte // a buffer for each level of the tree, for the bounds are keys of the levels above
	record     func(bucket string, key, value []byte)
}

// span is what a page of a tree belongs to.
type span struct {
	bucket      string // "" for the root's, nested for those within other buckets
	first, high []byte // its first key, and one that is above all of them; nil says nothing
}

const nested = "\x00"

// pageSet has a bit for each page.
type pageSet []byte

func (s pageSet) has(page uint64) bool { return s[page/8]&(1<<(page%8)) != 0 }
func (s pageSet) add(page uint64)      { s[page/8] |= 1 << (page % 8) }

// page reads a page with those that it flows over into.
func (c *checker) page(id uint64, level int) (page, error) {
	if id < 2 || id >= c.meta.pages {
		return page{}, damaged("page %d is none of %d", id, c.meta.pages)
	}
	for len(c.levels) <= level {
		c.levels = append(c.levels, make([]byte, c.meta.pageSize))
	}
	at := int64(id * c.meta.pageSize)
	b := c.levels[level][:c.meta.pageSize]
	if _, err := c.r.ReadAt(b, at); err != nil {
		return page{}, err
	}
	n := binary.NativeEndian
	p := page{flags: n.Uint16(b[8:]), count: int(n.Uint16(b[10:]))}
	more := uint64(n.Uint32(b[12:]))
	if got := n.Uint64(b); got != id || more >= c.meta.pages-id {
		return page{}, damaged("page %d says that it is %d and %d more", id, got, more)
	}
	for i := id; i <= id+more; i++ {
		if c.used.has(i) || c.free.has(i) {
			return page{}, damaged("page %d is used twice, or free", i)
		}
		c.used.add(i)
	}
	if more > 0 {
		b = append(b, make([]byte, more*c.meta.pageSize)...)
		if _, err := c.r.ReadAt(b, at); err != nil {
			return page{}, err
		}
		c.levels[level] = b
	}
	p.bytes = b
	return p, nil
}

func (c *checker) freelist(id uint64) error {
	p, err := c.page(id, 0)
	if err != nil {
		return err
	}
	n := binary.NativeEndian
	ids := p.bytes[headerSize:]
	count := uint64(p.count)
	if count == math.MaxUint16 { // then the count is the first of the ids
		count, ids = n.Uint64(ids), ids[8:]
	}
	if p.flags != freelistPage || count > uint64(len(ids))/8 {
		return damaged("page %d is no list of free pages", id)
	}
	for last := uint64(1); count > 0; count-- {
		i := n.Uint64(ids)
		if i <= last || i >= c.meta.pages || c.used.has(i) {
			return damaged("page %d is listed as free", i)
		}
		c.free.add(i)
		last, ids = i, ids[8:]
	}
	return nil
}

// tree walks the subtree at a page.
func (c *checker) tree(id uint64, in span, level int) error {
	if level > deepest {
		return damaged("page %d: the tree is too deep", id)
	}
	p, err := c.page(id, level)
	if err != nil {
		return err
	}
	// Only the root's page can be empty: an empty bucket stands within its element.
	if p.flags != leafPage && p.flags != branchPage || p.count == 0 && in.bucket != "" {
		return damaged("page %d has flags %#x and %d elements", id, p.flags, p.count)
	}
	if _, err := c.elements(p, in, level); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// elements walks what stands in a page, and returns where it ends.
func (c *checker) elements(p page, in span, level int) (end int, err error) {
	end = headerSize + p.count*elementSize
	var last []byte
	for i := range p.count {
		e, ok := p.element(i, end)
		if !ok || len(e.key) == 0 {
			return 0, damaged("element %d is out of place", i)
		}
		end += len(e.key) + len(e.value)
		if i == 0 && in.first != nil && !bytes.Equal(e.key, in.first) {
			return 0, damaged("the first key is not the one above")
		}
		if bytes.Compare(e.key, last) <= 0 || in.high != nil && bytes.Compare(e.key, in.high) >= 0 {
			return 0, damaged("element %d is out of order", i)
		}
		last = e.key
		if err := c.below(p, i, end, e, in, level); err != nil {
			return 0, err
		}
	}
	return end, nil
}

// below walks what an element of p leads to.
func (c *checker) below(p page, i, end int, e element, in span, level int) error {
	switch {
	case p.flags == branchPage:
		if i+1 < p.count {
			next, ok := p.element(i+1, end)
			if !ok {
				return damaged("element %d is out of place", i+1)
			}
			in.high = next.key
		}
		in.first = e.key
		return c.tree(e.page, in, level+1)
	case e.flags == 0:
		if c.record != nil && in.bucket != "" && in.bucket != nested {
			c.record(in.bucket, e.key, e.value)
		}
		return nil
	case e.flags != 1 || len(e.value) < bucketSize:
		return damaged("element %d has flags %#x", i, e.flags)
	}
	inside := span{bucket: nested}
	if in.bucket == "" {
		inside.bucket = string(e.key)
	}
	if root := binary.NativeEndian.Uint64(e.value); root != 0 {
		return c.tree(root, inside, level+1)
	}
	// A small bucket stands in the element itself, as a page without number.
	b := e.value[bucketSize:]
	if len(b) < headerSize || level > deepest {
		return damaged("element %d is no bucket", i)
	}
	inner := page{bytes: b, flags: binary.NativeEndian.Uint16(b[8:]), count: int(binary.NativeEndian.Uint16(b[10:]))}
	if inner.flags != leafPage {
		return damaged("element %d is a bucket with flags %#x", i, inner.flags)
	}
	used, err := c.elements(inner, inside, level+1)
	if err == nil && used != len(b) {
		return damaged("element %d is a bucket of %d bytes in %d", i, used, len(b))
	}
	return err
}

// page is a page of a tree, or a bucket within an element.
type page struct {
	bytes []byte
	flags uint16
	count int
}

type element struct {
	key, value []byte // into the page
	flags      uint32 // of a leaf's
	page       uint64 // of a branch's
}

// element reads an element whose data must begin at start.
func (p page) element(i, start int) (e element, ok bool) {
	at := headerSize + i*elementSize
	if at+elementSize > len(p.bytes) {
		return e, false
	}
	n := binary.NativeEndian
	b := p.bytes[at : at+elementSize]
	var pos, key, value uint64
	if p.flags == branchPage {
		pos, key, e.page = uint64(n.Uint32(b)), uint64(n.Uint32(b[4:])), n.Uint64(b[8:])
	} else {
		e.flags, pos, key, value = n.Uint32(b), uint64(n.Uint32(b[4:])), uint64(n.Uint32(b[8:])), uint64(n.Uint32(b[12:]))
	}
	from := uint64(at) + pos
	if from != uint64(start) || from+key+value > uint64(len(p.bytes)) {
		return e, false
	}
	e.key = p.bytes[from : from+key]
	e.value = p.bytes[from+key : from+key+value]
	return e, true
}
