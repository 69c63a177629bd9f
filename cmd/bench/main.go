// Command bench writes transcripts with the sizes and the mix of records that
// result from long use. `make bench` runs its benchmarks on them.
package main

import (
	"flag"
	"log"

	"sm/transcript/transcripttest"
)

func main() {
	dir := flag.String("generate", "", "the folder to write into")
	mb := flag.Int64("mb", 1000, "size of all files in MB")
	flag.Parse()

	if *dir == "" {
		log.Fatal("no folder given with -generate; make bench measures")
	}
	if err := generate(*dir, *mb); err != nil {
		log.Fatal(err)
	}
}

func generate(dir string, mb int64) error {
	_, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:      1,
		Bytes:     mb * 1_000_000,
		LineBytes: 3200,
		Subagents: true,
	})
	return err
}
