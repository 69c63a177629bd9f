//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// The numbers of the bytes of a block.
DATA numbers<>+0x00(SB)/8, $0x0706050403020100
DATA numbers<>+0x08(SB)/8, $0x0f0e0d0c0b0a0908
DATA numbers<>+0x10(SB)/8, $0x1716151413121110
DATA numbers<>+0x18(SB)/8, $0x1f1e1d1c1b1a1918
DATA numbers<>+0x20(SB)/8, $0x2726252423222120
DATA numbers<>+0x28(SB)/8, $0x2f2e2d2c2b2a2928
DATA numbers<>+0x30(SB)/8, $0x3736353433323130
DATA numbers<>+0x38(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL numbers<>(SB), RODATA|NOPTR, $64

// What may follow a backslash, each character at the index of its low six bits; " shares its own with b and is
// compared apart. 0xff stands where there is none, and at its own index zero, whose index is another.
DATA escapes64<>+0x00(SB)/8, $0xffffffffffffffff
DATA escapes64<>+0x08(SB)/8, $0xffffffffffffffff
DATA escapes64<>+0x10(SB)/8, $0xffffffffffffffff
DATA escapes64<>+0x18(SB)/8, $0xffffff5cffffffff
DATA escapes64<>+0x20(SB)/8, $0xff66ffffff62ffff
DATA escapes64<>+0x28(SB)/8, $0x2f6effffffffffff
DATA escapes64<>+0x30(SB)/8, $0xffffff74ff72ffff
DATA escapes64<>+0x38(SB)/8, $0x00ffffffffffffff
GLOBL escapes64<>(SB), RODATA|NOPTR, $64

// A quote, a backslash, and the last control character.
DATA marks64<>+0(SB)/4, $0x001f5c22
GLOBL marks64<>(SB), RODATA|NOPTR, $4

// func fillWide64(x *quotes) (ok bool)
//
// It is fillWide with one register for all of a block, and masks in place of gathered bits.
//
//	SI  b             R8  a bit set where an escaped byte begins the block
//	DI  len(b)-64     R9  where the next position goes
//	DX  the block     R13 what is clean, R14 from where it is so again
//	K7  which bytes of the block count, as CX
//	K2  quotes, and AX, then those not escaped
//	BX  backslashes   R10 escaped bytes   R11 escaped bytes of no simple escape
TEXT ·fillWide64(SB), NOSPLIT, $16-9
	MOVQ            x+0(FP), R15
	MOVQ            quotes_b(R15), SI
	MOVQ            quotes_b+8(R15), DI
	MOVQ            quotes_at(R15), DX
	MOVQ            quotes_escaped(R15), R8
	MOVQ            quotes_n(R15), R9
	MOVL            quotes_clean(R15), R13
	MOVL            quotes_again(R15), R14
	LEAQ            quotes_q(R15), R12
	LEAQ            (R12)(R9*4), R9
	LEAQ            (const_room*4)(R12), R12
	MOVQ            R12, room-8(SP)
	SUBQ            $64, DI
	MOVQ            $-1, CX
	KMOVQ           CX, K7
	VPBROADCASTB    marks64<>+0(SB), Z10
	VPBROADCASTB    marks64<>+1(SB), Z11
	VPBROADCASTB    marks64<>+2(SB), Z13
	VMOVDQU64       escapes64<>(SB), Z14
	VMOVDQU64       numbers<>(SB), Z15

block:
	CMPQ R9, room-8(SP)
	JHI  full
	CMPQ DX, DI
	JGT  last

load:
	VMOVDQU64 (SI)(DX*1), Z0
	VPCMPUB   $2, Z13, Z0, K7, K1 // at most the last control character
	VPCMPEQB  Z10, Z0, K7, K2
	VPCMPEQB  Z11, Z0, K7, K3
	VPMOVB2M  Z0, K4              // bytes outside ASCII
	KORTESTQ  K1, K1
	JNZ       odd
	KMOVQ     K2, AX
	KORTESTQ  K3, K4
	JNZ       special
	TESTQ     R8, R8
	JNZ       special

	// Sixteen at a time: the numbers of the quotes' bytes, pushed together. What is written
	// too much is written over.
store:
	TESTQ         AX, AX
	JZ            next

some:
	POPCNTQ       AX, BX
	VPCOMPRESSB.Z Z15, K2, Z1
	VPBROADCASTD  DX, Z2

sixteen:
	VPMOVZXBD X1, Z3
	VPADDD    Z2, Z3, Z3
	VMOVDQU32 Z3, (R9)
	CMPQ      BX, $16
	JHI       more
	LEAQ      (R9)(BX*4), R9

next:
	ADDQ $64, DX
	JMP  block

more:
	ADDQ    $64, R9
	SUBQ    $16, BX
	VALIGNQ $2, Z1, Z1, Z1
	JMP     sixteen

	// A backslash, or a byte outside ASCII.
special:
	CMPQ     DX, R13
	CMOVQLT  DX, R13
	LEAQ     64(DX), R14
	KMOVQ    K3, BX
	VPERMB   Z14, Z0, Z6
	VPCMPEQB Z0, Z6, K4
	KMOVQ    K4, R11
	ORQ      AX, R11
	LEAQ     (R8)(BX*2), R10 // the bytes behind backslashes
	MOVQ     BX, R12
	SHRQ     $63, R12        // whether one begins the next block
	TESTQ    BX, R10
	JNZ      run

escaped:
	ANDNQ R10, R11, R11
	JNZ   unicode

simple:
	MOVQ  R12, R8
	ANDNQ AX, R10, AX
	JZ    next
	KMOVQ AX, K2
	JMP   some

	// Of a run of backslashes every second one is escaped, and so is the byte
	// behind the run when it is odd: the subtraction carries through a run, and
	// comparing with the odd bits tells at which parity it began.
run:
	MOVQ  $0xaaaaaaaaaaaaaaaa, R15
	ANDNQ BX, R8, R10          // backslashes that are not escaped from before
	LEAQ  (R10)(R10*1), R12
	ORQ   R15, R12
	SUBQ  R10, R12
	XORQ  R15, R12             // those that escape, and the bytes behind them
	MOVQ  BX, R10
	ORQ   R8, R10
	XORQ  R12, R10             // escaped bytes
	ANDQ  BX, R12
	SHRQ  $63, R12
	JMP   escaped

#include "unicode_amd64.h"

last:
	SUBQ  DI, DX
	CMPQ  DX, $64
	JGE   done
	MOVQ  DX, CX
	SHLQ  CX, R8
	MOVQ  $-1, R12
	SHLQ  CX, R12
	MOVQ  R12, CX
	KMOVQ CX, K7
	MOVQ  DI, DX
	JMP   load

done:
	LEAQ 64(DI), DX

full:
	MOVB $1, ok+8(FP)

leave:
	MOVQ x+0(FP), R15
	MOVQ DX, quotes_at(R15)
	MOVQ R8, quotes_escaped(R15)
	MOVL R13, quotes_clean(R15)
	MOVL R14, quotes_again(R15)
	LEAQ quotes_q(R15), R12
	SUBQ R12, R9
	SHRQ $2, R9
	MOVQ R9, quotes_n(R15)
	VZEROUPPER
	RET

strange:
	MOVQ saved-16(SP), R8

	// The block is for the caller, from its first byte that counts.
odd:
	MOVB $0, ok+8(FP)
	BSFQ CX, CX
	ADDQ CX, DX
	SHRQ CX, R8
	JMP  leave
