package follow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	f := &follower{Options: o, out: out, once: true, files: map[string]*file{}, inodes: map[inode]*file{},
		seen: map[string]string{}, again: map[string]bool{}, watch: newWatcher(true, o.Logger)}
	var list []*file
	visited := map[inode]bool{}
	for _, root := range roots { // all formats of a folder are known before it is searched
		if path, err := filepath.Abs(root.Path); err == nil && isDir(path) {
			f.roots.add(Root{path, root.Format}, false)
		}
	}
	for _, root := range roots {
		found, err := f.named(root, visited)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	f.Stats.expect(list)
	// Large files first: the last one read is then a small one, and no processor
	// waits long for another.
	slices.SortStableFunc(list, func(a, b *file) int { return int(b.expected>>10 - a.expected>>10) })
	errs := append(f.unread, f.readList(ctx, list)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(errs) > 0 {
		return &UnreadError{Errs: errs}
	}
	return nil
}

// UnreadError says that some files or folders could not be read. What is no
// transcript at all, a pipe or a folder with the name of one, is not among them.
type UnreadError struct{ Errs []error }

func (e *UnreadError) Error() string {
	if len(e.Errs) == 1 {
		return "a file or folder could not be read and is left out: see the line before, and make it readable"
	}
	return fmt.Sprintf("%d files or folders could not be read and are left out: see the lines before, and make them readable", len(e.Errs))
}

func (e *UnreadError) Unwrap() []error { return e.Errs }

// named finds what one path of the command line means.
func (f *follower) named(root Root, visited map[inode]bool) ([]*file, error) {
	path, err := filepath.Abs(root.Path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", root.Path, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, reason(err))
	}
	if info.IsDir() {
		return f.find(path, 0, visited), nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if f.files[path] != nil {
		return nil, nil
	}
	fl := f.enter(path, f.roots.number(root.Format))
	fl.alone = true
	return []*file{fl}, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readList has the workers read a list, and returns what failed.
func (f *follower) readList(ctx context.Context, list []*file) (errs []error) {
	jobs := make(chan *file)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range f.Workers {
		workers.Go(func() {
			w := &workspace{buf: make([]byte, bufferBytes)}
			for fl := range jobs {
				r := f.read(ctx, fl, w)
				if r.fold != nil {
					w.fold = r.fold
				}
				if r.err != nil && ctx.Err() == nil && !errors.Is(r.err, fs.ErrNotExist) {
					f.Logger.Warn("cannot read a transcript", "name", filepath.Base(fl.cursor.Path), "err", reason(r.err))
					mu.Lock()
					errs = append(errs, r.err)
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
