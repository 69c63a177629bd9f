// Command release makes what people download: an archive for each system, Debian and RPM packages, an SPDX bill of
// materials for each, a Homebrew formula, and checksums of all of them.
//
// Invariants: the same commit, Go and nfpm give the same bytes, wherever and whenever it runs; the version is the one that
// the toolchain reads from the tag and that `sm version` says; nothing outside of the output folder is written.
//
// It publishes nothing and signs nothing: that needs keys and a registry, which are not here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// A release is what one run makes.
type release struct {
	root  string // of the source tree
	out   string // where the files go
	stage string // where they are made; removed at the end
	base  string // where people will download them from
	nfpm  []string
	say   io.Writer

	build build  // what the toolchain says of the program
	files []item // that each archive and package has besides the program
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("out", "dist", "folder for the files; it must be empty or absent")
	base := flags.String("url", "", "address of the folder that people download from, for the formula; without one there is no formula")
	dirty := flags.Bool("dirty", false, "also of a tree that has changes or no tag, to try things out")
	packager := flags.String("nfpm", "", "the nfpm program; without it go runs "+nfpmModule)
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{out: *out, base: *base, nfpm: []string{"go", "run", nfpmModule}, say: stdout}
	if *packager != "" {
		r.nfpm = []string{*packager}
	}
	var err error
	if r.root, err = moduleRoot(ctx); err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "sm-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.stage)
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	return r.make(ctx, *dirty)
}

// make builds for each target, packs, and adds up the checksums.
func (r *release) make(ctx context.Context, dirty bool) error {
	host, err := r.compile(ctx, hostTarget(), "sm")
	if err != nil {
		return err
	}
	if r.build, err = readBuild(host); err != nil {
		return err
	}
	if why := r.build.unfit(); why != "" && !dirty {
		return fmt.Errorf("%s is no version to release: %s (-dirty does it all the same)", r.build.version, why)
	}
	if r.files, err = r.contents(ctx, host); err != nil {
		return err
	}
	for _, t := range targets() {
		if err := r.pack(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	if err := r.writeFormula(); err != nil {
		return err
	}
	if err := writeChecksums(r.out); err != nil {
		return err
	}
	return r.list()
}

// pack makes all that there is for one target.
func (r *release) pack(ctx context.Context, t target) error {
	var files []item
	var linked []part
	for _, program := range programs() {
		path, err := r.compile(ctx, t, program)
		if err != nil {
			return err
		}
		p, err := partOf(program, path)
		if err != nil {
			return err
		}
		linked = append(linked, p)
		files = append(files, item{from: path, to: "bin/" + program, mode: 0o755})
	}
	files = append(files, filesFor(t, r.files)...)
	name := r.name(t)
	if err := writeArchive(filepath.Join(r.out, name+".tar.gz"), name, files, r.build.time); err != nil {
		return err
	}
	if err := writeBill(filepath.Join(r.out, name+".spdx.json"), name, linked); err != nil {
		return err
	}
	if t.os != "linux" {
		return nil
	}
	return r.packages(ctx, t, files)
}

// name is that of an archive without its suffix.
func (r *release) name(t target) string {
	return fmt.Sprintf("sm_%s_%s_%s", r.build.plain(), t.os, t.arch)
}

// list says what was made, with its size.
func (r *release) list() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(r.say, "%9d  %s\n", info.Size(), filepath.Join(r.out, e.Name()))
	}
	return nil
}

// emptyFolder makes a folder, and refuses one that has files: old ones would get into the checksums.
func emptyFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or name another folder with -out", path)
	}
	return nil
}
