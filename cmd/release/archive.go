package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// writeArchive packs the items below a folder of the archive's name. Owner, times and order are the same each time.
func writeArchive(path, folder string, items []item, at time.Time) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(z)
	for _, it := range items {
		if err := addFile(w, folder+"/"+it.to, it, at); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

func addFile(w *tar.Writer, name string, it item, at time.Time) error {
	content, err := os.ReadFile(it.from)
	if err != nil {
		return err
	}
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: int64(it.mode), ModTime: at.Truncate(time.Second),
		Format: tar.FormatUSTAR,
	}
	if err := w.WriteHeader(header); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	_, err = w.Write(content)
	return err
}

// writeChecksums sums up all files of a folder, in the form that sha256sum -c reads.
func writeChecksums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		sum, err := sha256Of(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, e.Name())
	}
	return os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(text.String()), 0o644)
}

func sha256Of(path string) (string, error) {
	content, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}
