package follow

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"sm/transcript"
)

// Once reads every transcript in or below the paths of roots one time, on all
// processors, and sends one whole change for each. A path to a file is read
// under any name; a subagent's file is then a session of its own. Files and
// folders that cannot be read are skipped and logged, and counted in the error
// after the others have been sent. A path that does not exist causes an error
// at once.
func Once(ctx context.Context, o Options, roots []Root, out chan<- transcript.Change) error {
	o.defaults()
	index := newIndex(newWatcher(true, o.Logger), o.Logger)
	index.once = true
	reader := &fileReader{
		Options: o,
		out:     out,
		once:    true,
	}
	var named []*file
	for _, root := range roots { // a search needs all formats of a folder
		path, err := filepath.Abs(root.Path)
		if err != nil {
			return fmt.Errorf("find %s: %w", root.Path, err)
		}
		is, err := stat(path)
		switch {
		case err != nil:
			return fmt.Errorf("find %s: %w", path, reason(err))
		case is.IsDir():
			index.roots.add(Root{path, root.Format}, false)
		case is.IsRegular():
			if real, err := filepath.EvalSymlinks(path); err == nil {
				path = real
			}
			fl := &file{format: root.Format, alone: true, stamp: is.stamp}
			fl.place(path)
			named = append(named, fl)
		default:
			return fmt.Errorf("read %s: %w", path, errNotRegular)
		}
	}
	list := slices.DeleteFunc(index.searchAll(), func(fl *file) bool {
		return !o.Since.IsZero() && fl.stamp.modified < o.Since.UnixNano()
	})
	for _, fl := range named {
		if path := fl.cursor.Path; index.files[path] == nil {
			index.files[path] = fl
			list = append(list, fl)
		}
	}
	o.Stats.expect(list)
	// Large files are read first: the last one is then a small one, and no
	// processor waits long for another.
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

// UnreadError means that some files or folders could not be read. It does not
// list objects that are no transcripts, such as a pipe or a folder with the
// name of one.
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

// readList makes the workers read a list, and returns the errors.
func (r *fileReader) readList(ctx context.Context, list []*file) (errs []error) {
	jobs := make(chan *file)
	results := make(chan result, len(list))
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() { r.work(ctx, jobs, results) })
	}
	for _, fl := range list {
		select {
		case jobs <- fl:
		case <-ctx.Done():
		}
	}
	close(jobs)
	workers.Wait()
	close(results)
	for res := range results {
		if res.err != nil && ctx.Err() == nil {
			r.Logger.Warn(
				"cannot read a transcript",
				"name", filepath.Base(res.file.cursor.Path),
				"err", reason(res.err),
			)
			errs = append(errs, res.err)
		}
	}
	return errs
}
