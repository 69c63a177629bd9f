package jsonwalk

import (
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
)

// TestQuotesAtTheEndOfMemory tests a text with unreadable memory after it.
func TestQuotesAtTheEndOfMemory(t *testing.T) {
	page := os.Getpagesize()
	mem, err := syscall.Mmap(
		-1,
		0,
		2*page,
		syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE,
	)
	if err != nil {
		t.Skip(err)
	}
	defer syscall.Munmap(mem)
	if err := syscall.Mprotect(mem[page:], syscall.PROT_NONE); err != nil {
		t.Skip(err)
	}
	r := rand.New(rand.NewPCG(3, 0))
	for round := range 40 {
		for n := range 300 {
			b := mem[page-n : page : page]
			copy(b, randomText(r, n))
			if n > 0 && round%2 == 0 {
				b[0] = '"'
			}
			checkQuotes(t, b)
			var w Walker
			w.Begin(b)
			w.Skip()
		}
	}
}
