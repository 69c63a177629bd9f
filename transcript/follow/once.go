package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"sm/transcript"
)

// Once reads every transcript in or below the paths of roots one time, on all processors,
// and sends one whole change for each. A path that names a file is read whatever its
// name; a subagent's file is then a session of its own. Files and folders that cannot be read
// are left out, logged, and counted in the error after the others have been sent;
// a path that does not exist is an error at once.
func Once(ctx context.Context, o Options, roots []Root, out chan<- transcript.Change) error {
	o.defaults()
	index := newIndex(newWatcher(true, o.Logger), o.Logger, 0)
	index.once = true
	reader := &fileReader{
		Options: o,
		out:     out,
		once:    true,
	}
	var list []*file
	visited := map[inode]bool{}
	for _, root := range roots { // all formats of a folder are known before it is searched
		if path, err := filepath.Abs(root.Path); err == nil {
			if is, err := stat(path); err == nil && is.isDir() {
				index.roots.add(Root{path, root.Format}, false)
			}
		}
	}
	for _, root := range roots {
		found, err := index.named(root, visited)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	o.Stats.expect(list)
	// Large files first: the last one read is then a small one, and no processor
	// waits long for another.
	slices.SortStableFunc(
		list,
		func(a, b *file) int { return cmp.Compare(b.stamp.size>>10, a.stamp.size>>10) },
	)
	errs := append(index.unread, reader.readList(ctx, list)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(errs) > 0 {
		return &UnreadError{Errs: errs}
	}
	return nil
}

// UnreadError means that some files or folders could not be read. Things that are no
// transcripts, such as a pipe or a folder with such a name, are not listed.
type UnreadError struct{ Errs []error }

func (e *UnreadError) Error() string {
	if len(e.Errs) == 1 {
		return "a file or folder could not be read and is left out: see the line before, and make it readable"
	}
	return fmt.Sprintf(
		"%d files or folders could not be read and are left out: see the lines before, and make them readable",
		len(e.Errs),
	)
}

func (e *UnreadError) Unwrap() []error { return e.Errs }

// readList has the workers read a list, and returns what failed.
func (r *fileReader) readList(ctx context.Context, list []*file) (errs []error) {
	jobs := make(chan *file)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() {
			w := &workspace{buf: make([]byte, bufferBytes)}
			for fl := range jobs {
				res := r.read(ctx, fl, w)
				if res.err != nil && ctx.Err() == nil && !errors.Is(res.err, fs.ErrNotExist) {
					r.Logger.Warn(
						"cannot read a transcript",
						"name", filepath.Base(fl.cursor.Path),
						"err", reason(res.err),
					)
					mu.Lock()
					errs = append(errs, res.err)
					mu.Unlock()
				}
			}
		})
	}
	for _, fl := range list {
		select {
		case jobs <- fl:
		case <-ctx.Done():
		}
	}
	close(jobs)
	workers.Wait()
	return errs
}
