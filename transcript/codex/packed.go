package codex

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"

	"sm/transcript"
	"sm/transcript/codex/files"
)

func zstdMagic() []byte { return []byte{0x28, 0xb5, 0x2f, 0xfd} }

// content returns the text of a compressed transcript, nil for a plain one. The
// text is empty if the first bytes of the file have not been written yet.
func content(ctx context.Context, path string, file io.ReaderAt, size int64) transcript.Text {
	head := make([]byte, len(zstdMagic()))
	switch n, _ := file.ReadAt(head, 0); {
	case n < len(head) && bytes.HasPrefix(zstdMagic(), head[:n]) &&
		(n > 0 || strings.HasSuffix(path, files.Packed)):
		return bytes.NewReader(nil)
	case n < len(head) || !bytes.Equal(head, zstdMagic()):
		return nil
	}
	file = io.NewSectionReader(file, 0, size)
	return &packed{
		front: stream{ctx: ctx, file: file},
		back:  stream{ctx: ctx, file: file},
	}
}

// packed is the text of a compressed file, unpacked while it is read. Reads
// advance; backward steps that each begin after the previous one unpack every
// byte at most twice.
type packed struct {
	front  stream
	recent []byte // the bytes read last, up to the position of front
	back   stream // for the bytes before recent
}

// Size returns math.MaxInt64 until the end has been read.
func (p *packed) Size() int64 {
	if p.front.ended {
		return p.front.at
	}
	return math.MaxInt64
}

func (p *packed) ReadAt(b []byte, at int64) (int, error) {
	behind := p.front.at - at
	if behind > int64(len(p.recent)) {
		return p.back.readAt(b, at)
	}
	n := 0
	if behind > 0 {
		n = copy(b, p.recent[int64(len(p.recent))-behind:])
	}
	if n == len(b) {
		return n, nil
	}
	more, err := p.front.readAt(b[n:], at+int64(n))
	n += more
	p.recent = append(p.recent[:0], b[:n]...)
	return n, err
}

// maxWindow bounds the memory of a stream, in bytes. Decoders are recommended to support
// windows of 8 MiB; levels up to 19 have no larger ones.
const maxWindow = 8 << 20

// stream unpacks a file from its beginning until ctx ends.
type stream struct {
	ctx   context.Context
	file  io.ReaderAt
	text  *zstd.Decoder // nil before the first read
	at    int64
	ended bool
}

func (s *stream) readAt(b []byte, at int64) (n int, err error) {
	if s.text == nil || at < s.at {
		s.at = 0
		file := io.NewSectionReader(s.file, 0, math.MaxInt64)
		// The decoder need not be closed: without concurrency it has no
		// goroutines.
		s.text, err = zstd.NewReader(bufio.NewReader(cancellable{s.ctx, file}),
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	}
	if err == nil {
		var skipped int64
		skipped, err = io.CopyN(io.Discard, s.text, at-s.at)
		s.at += skipped
	}
	for n < len(b) && err == nil {
		var more int
		more, err = s.text.Read(b[n:])
		n += more
		s.at += int64(more)
	}
	s.ended = err == io.EOF
	if err != nil && !s.ended {
		err = fmt.Errorf("unpack: %w", err)
	}
	return n, err
}

// cancellable fails once ctx has ended.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c cancellable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(b)
}
