//go:build !purego

package jsonwalk

// avx2 and avx512 report whether machine and system have the instructions for 32
// and for 64 bytes. They are variables only because the machine decides.
var avx2, avx512 = wide()

// fillWide does what [quotes.fill] does while there are neither control characters
// nor broken escapes; where it finds one it stops before it and returns false.
// b has at least 64 bytes. It compares 32 bytes at a time.
//
//go:noescape
func fillWide(x *quotes) (ok bool)

// fillWide64 does the same, and compares 64 bytes at a time. Where an open text
// has a newline, it ends it there, and goes on to that end.
//
//go:noescape
func fillWide64(x *quotes) (ok bool)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

func wide() (avx2, avx512 bool) {
	const (
		popcnt   = 1 << 23 // leaf 1, c
		osxsave  = 1 << 27
		avx      = 1 << 28
		first    = popcnt | osxsave | avx
		bmi1     = 1 << 3 // leaf 7, b
		two      = 1 << 5 // AVX2
		seventh  = bmi1 | two
		f, bw    = 1 << 16, 1 << 30   // of AVX-512
		vbmi     = 1<<1 | 1<<6        // both of AVX-512, leaf 7, c
		states   = 1<<1 | 1<<2        // of 32 bytes, which the system keeps
		states64 = 1<<5 | 1<<6 | 1<<7 // of 64 bytes, and masks
	)
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false, false
	}
	if _, _, c, _ := cpuid(1, 0); c&first != first || xgetbv()&states != states {
		return false, false
	}
	_, b, c, _ := cpuid(7, 0)
	avx2 = b&seventh == seventh
	return avx2, avx2 && b&(f|bw) == f|bw && c&vbmi == vbmi && xgetbv()&states64 == states64
}

func (x *quotes) fillFast() bool {
	if avx512 && !x.half && len(x.b) >= 64 {
		return fillWide64(x)
	}
	x.cut()
	return avx2 && len(x.b) >= 64 && fillWide(x)
}
