//go:build !purego

package jsonwalk

import "golang.org/x/sys/cpu"

// avx2 and avx512 report whether machine and system have the instructions for
// 32 and for 64 bytes. They are variables only because they depend on the
// machine.
var (
	avx2   = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasPOPCNT
	avx512 = avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW &&
		cpu.X86.HasAVX512VBMI && cpu.X86.HasAVX512VBMI2
)

// fillWide works like [quotes.fill] as long as there are neither control
// characters nor invalid escapes; at one of those it stops before it and
// returns false. b has at least 64 bytes. It compares 32 bytes at a time.
//
//go:noescape
func fillWide(x *quotes) (ok bool)

// fillWide64 does the same, and compares 64 bytes at a time.
//
//go:noescape
func fillWide64(x *quotes) (ok bool)

func (x *quotes) fillFast() bool {
	if avx512 && !x.half && len(x.b) >= 64 {
		return fillWide64(x)
	}
	return avx2 && len(x.b) >= 64 && fillWide(x)
}
