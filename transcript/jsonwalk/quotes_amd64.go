//go:build !purego

package jsonwalk

// avx2 says whether this machine, and its system, know the 32-byte instructions.
// It is a constant that only the machine can tell, so it stands in a variable.
var avx2 = hasAVX2()

// fillAVX2 does what [quotes.fill] does while there are neither control characters
// nor broken escapes; where it finds one it stops before it and returns false.
// b has at least 64 bytes.
//
//go:noescape
func fillAVX2(x *quotes) (ok bool)

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

func hasAVX2() bool {
	const (
		popcnt  = 1 << 23 // leaf 1, c
		osxsave = 1 << 27
		avx     = 1 << 28
		first   = popcnt | osxsave | avx
		bmi1    = 1 << 3 // leaf 7, b
		two     = 1 << 5 // AVX2
		seventh = bmi1 | two
		states  = 1<<1 | 1<<2
	)
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&first != first || xgetbv()&states != states {
		return false
	}
	_, b, _, _ := cpuid(7, 0)
	return b&seventh == seventh
}

func (x *quotes) fillFast() bool { return avx2 && len(x.b) >= 64 && fillAVX2(x) }
