//go:build !purego

#include "go_asm.h"
#include "textflag.h"

// What may follow a backslash, each character at the index of its low four bits,
// so that one shuffle compares all of them; " and r share theirs with b and are
// compared apart. 0xff stands where there is none.
DATA escapes<>+0x00(SB)/8, $0xff66ff74ff62ffff
DATA escapes<>+0x08(SB)/8, $0x2f6eff5cffffffff
DATA escapes<>+0x10(SB)/8, $0xff66ff74ff62ffff
DATA escapes<>+0x18(SB)/8, $0x2f6eff5cffffffff
GLOBL escapes<>(SB), RODATA|NOPTR, $32

// A quote, a backslash, an r, and the last control character.
DATA marks<>+0(SB)/4, $0x1f725c22
GLOBL marks<>(SB), RODATA|NOPTR, $4

// MASK gathers the top bits of 64 bytes.
#define MASK(low, high, to) \
	VPMOVMSKB low, to   \
	VPMOVMSKB high, R12 \
	SHLQ      $32, R12  \
	ORQ       R12, to

// PUT stores the position of the lowest quote, and removes it.
#define PUT(at) \
	TZCNTQ AX, R10    \
	ADDL   DX, R10    \
	MOVL   R10, at(R9) \
	BLSRQ  AX, AX

// func fillWide(x *quotes) (ok bool)
//
// It works on blocks of 64 bytes. The last block ends where b ends, so it overlaps
// the one before (a mask hides what is not its own) and nothing behind b is read.
//
//	SI  b             R8  a bit set where an escaped byte begins the block
//	DI  len(b)-64     R9  where the next position goes
//	DX  the block     R13 odd bits
//	CX  which bytes of the block count
//	AX  quotes, then those not escaped
//	BX  backslashes   R10 escaped bytes   R11 escaped bytes of no simple escape
TEXT ·fillWide(SB), NOSPLIT, $16-9
	MOVQ         x+0(FP), R15
	MOVQ         quotes_b(R15), SI
	MOVQ         quotes_b+8(R15), DI
	MOVQ         quotes_at(R15), DX
	MOVQ         quotes_escaped(R15), R8
	MOVQ         quotes_n(R15), R9
	LEAQ         quotes_q(R15), R12
	LEAQ         (R12)(R9*4), R9
	LEAQ         (const_room*4)(R12), R12
	MOVQ         R12, room-8(SP)
	SUBQ         $64, DI
	MOVQ         $-1, CX
	MOVQ         $0xaaaaaaaaaaaaaaaa, R13
	VPBROADCASTB marks<>+0(SB), Y10
	VPBROADCASTB marks<>+1(SB), Y11
	VPBROADCASTB marks<>+2(SB), Y12
	VPBROADCASTB marks<>+3(SB), Y13
	VMOVDQU      escapes<>(SB), Y14

block:
	CMPQ R9, room-8(SP)
	JHI  full
	CMPQ DX, DI
	JGT  last

load:
	VMOVDQU   (SI)(DX*1), Y0
	VMOVDQU   32(SI)(DX*1), Y1
	VPMINUB   Y0, Y1, Y2
	VPMINUB   Y2, Y13, Y3
	VPCMPEQB  Y2, Y3, Y3
	VPMOVMSKB Y3, R12
	VPCMPEQB  Y0, Y10, Y2
	VPCMPEQB  Y1, Y10, Y3
	VPCMPEQB  Y0, Y11, Y4
	VPCMPEQB  Y1, Y11, Y5
	TESTL     R12, R12
	JNZ       odd             // a control character
	MASK(Y2, Y3, AX)
	MASK(Y4, Y5, BX)
	VPOR      Y0, Y1, Y2
	VPMOVMSKB Y2, R12         // bytes outside ASCII

masked:
	ANDQ      CX, AX
	ANDQ      CX, BX
	ORQ       BX, R12
	ORQ       R8, R12
	JNZ       special

store:
	TESTQ AX, AX
	JZ    next

	// Eight at a time, whether there are so many or not: what is written too much
	// is written over, and no branch needs to guess the number.
	POPCNTQ AX, BX

eight:
	PUT(0)
	PUT(4)
	PUT(8)
	PUT(12)
	PUT(16)
	PUT(20)
	PUT(24)
	PUT(28)
	CMPQ BX, $8
	JHI  many
	LEAQ (R9)(BX*4), R9

next:
	ADDQ $64, DX
	JMP  block

many:
	ADDQ $32, R9
	SUBQ $8, BX
	JMP  eight

	// A backslash, or a byte outside ASCII: how far such bytes reach.
special:
	MOVQ x+0(FP), R15
	CMPL DX, quotes_clean(R15)
	JCC  reach
	MOVL DX, quotes_clean(R15)

reach:
	LEAL 64(DX), R12
	MOVL R12, quotes_again(R15)
	MOVQ BX, R12
	ORQ  R8, R12
	JZ   store

	VPSHUFB  Y0, Y14, Y6
	VPSHUFB  Y1, Y14, Y7
	VPCMPEQB Y0, Y6, Y6
	VPCMPEQB Y1, Y7, Y7
	VPCMPEQB Y0, Y12, Y4
	VPCMPEQB Y1, Y12, Y5
	VPOR     Y4, Y6, Y6
	VPOR     Y5, Y7, Y7
	MASK(Y6, Y7, R11)

known:
	ORQ   AX, R11
	LEAQ  (BX)(BX*1), R10
	ORQ   R8, R10          // the bytes behind backslashes
	MOVQ  BX, R12
	SHRQ  $63, R12         // whether one begins the next block
	TESTQ BX, R10
	JZ    escaped

	// Of a run of backslashes every second one is escaped, and so is the byte
	// behind the run when it is odd: the subtraction carries through a run, and
	// comparing with the odd bits tells at which parity it began.
	MOVQ R8, R10
	NOTQ R10
	ANDQ BX, R10           // backslashes that are not escaped from before
	LEAQ (R10)(R10*1), R12
	ORQ  R13, R12
	SUBQ R10, R12
	XORQ R13, R12          // those that escape, and the bytes behind them
	MOVQ BX, R10
	ORQ  R8, R10
	XORQ R12, R10          // escaped bytes
	ANDQ BX, R12
	SHRQ $63, R12

escaped:
	NOTQ R11
	ANDQ R10, R11
	JNZ  unicode

simple:
	MOVQ R12, R8
	NOTQ R10
	ANDQ R10, AX
	JMP  store

#include "unicode_amd64.h"

last:
	SUBQ DI, DX
	CMPQ DX, $64
	JGE  done
	MOVQ DX, CX
	SHLQ CX, R8
	MOVQ $-1, R12
	SHLQ CX, R12
	MOVQ R12, CX
	MOVQ DI, DX
	JMP  load

done:
	ADDQ DI, DX

full:
	MOVB $1, ok+8(FP)

leave:
	MOVQ x+0(FP), R15
	MOVQ DX, quotes_at(R15)
	MOVQ R8, quotes_escaped(R15)
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
