// Part of fillWide and of fillWide64, which name the registers: behind the backslashes of R11 no simple escape stands.
// It goes on at simple, or at strange with R8 saved.
	// Escapes that are not simple must be \u with four hexadecimal digits.
unicode:
	MOVQ R8, saved-16(SP)
	MOVQ x+0(FP), R15
	MOVB $1, quotes_unicode(R15)

each:
	BSFQ R11, BX
	ADDQ DX, BX
	LEAQ -60(BX), R15
	CMPQ R15, DI              // the fourth byte behind must be in b
	JGE  strange
	CMPB (SI)(BX*1), $'u'
	JNE  strange
	MOVL $4, R15

digit:
	INCQ    BX
	MOVBLZX (SI)(BX*1), R8
	SUBL    $'0', R8
	CMPL    R8, $9
	JLS     hex
	ORL     $0x20, R8         // letters are 0x11.. and 0x31.. now
	SUBL    $0x31, R8
	CMPL    R8, $5
	JHI     strange

hex:
	DECL R15
	JNZ  digit
	LEAQ -1(R11), R15
	ANDQ R15, R11
	JNZ  each
	JMP  simple
