package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// diffContext is the number of equal lines around a change.
const diffContext = 3

// unifiedDiff tells how to get from one text to the other, as diff -u does; "" for equal texts.
func unifiedDiff(name, before, after string) string {
	a, b := splitLines(before), splitLines(after)
	edits := diffLines(a, b)
	var out strings.Builder
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i++
			continue
		}
		from := max(i-diffContext, 0)
		to, equal := i, 0
		for ; to < len(edits) && equal <= 2*diffContext; to++ {
			if equal++; edits[to].op != ' ' {
				equal = 0
			}
		}
		to -= max(equal-diffContext, 0)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
		}
		writeHunk(&out, edits, from, to)
		i = to
	}
	return out.String()
}

func writeHunk(out *strings.Builder, edits []edit, from, to int) {
	var counts [2]int
	for _, e := range edits[from:to] {
		if e.op != '+' {
			counts[0]++
		}
		if e.op != '-' {
			counts[1]++
		}
	}
	start := func(first, count int) string {
		if count == 0 { // the line before
			return fmt.Sprintf("%d,0", first)
		}
		return fmt.Sprintf("%d,%d", first+1, count)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", start(edits[from].a, counts[0]), start(edits[from].b, counts[1]))
	for _, e := range edits[from:to] {
		out.WriteByte(e.op)
		out.WriteString(e.line)
		if !strings.HasSuffix(e.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

func splitLines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// An edit is one line of the comparison: kept ' ', taken out '-', put in '+'. a and b count the lines before it.
type edit struct {
	op   byte
	line string
	a, b int
}

// diffLines gives the lines of both texts in one sequence.
func diffLines(a, b []string) []edit {
	var all []edit
	x, y := 0, 0
	add := func(op byte, line string) {
		all = append(all, edit{op, line, x, y})
		if op != '+' {
			x++
		}
		if op != '-' {
			y++
		}
	}
	for _, op := range script(a, b) {
		if op == '+' {
			add(op, b[y])
		} else {
			add(op, a[x])
		}
	}
	return all
}

// maxEdits bounds what script looks for: its cost in memory is that of the square.
const maxEdits = 2000

// script is a shortest way from a to b, an operation a line, by Myers' greedy algorithm. Beyond maxEdits the way goes
// over the whole.
func script(a, b []string) []byte {
	limit := len(a) + len(b)
	ends := make([]int, 2*limit+2) // by diagonal, how far it is known to lead into a
	var trace [][]int              // ends before each round, of the diagonals that it uses
	for d := 0; d <= min(limit, maxEdits); d++ {
		trace = append(trace, slices.Clone(ends[limit-d:limit+d+1]))
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x, _ = step(trace[d], d, k)
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if ends[limit+k] = x; x >= len(a) && x-k >= len(b) {
				return walkBack(trace, len(a), len(b))
			}
		}
	}
	return slices.Concat(bytes.Repeat([]byte("-"), len(a)), bytes.Repeat([]byte("+"), len(b)))
}

// step says where a round enters diagonal k: from above by putting a line in, from the left by taking one out.
func step(ends []int, d, k int) (x int, op byte) {
	if k == -d || k != d && ends[d+k-1] < ends[d+k+1] {
		return ends[d+k+1], '+'
	}
	return ends[d+k-1] + 1, '-'
}

func walkBack(trace [][]int, x, y int) []byte {
	var ops []byte
	for d := len(trace) - 1; d >= 0; d-- {
		enter, op := 0, byte(0)
		if d > 0 {
			enter, op = step(trace[d], d, x-y)
		}
		for ; x > enter; x, y = x-1, y-1 {
			ops = append(ops, ' ')
		}
		switch op {
		case '+':
			y--
		case '-':
			x--
		}
		if op != 0 {
			ops = append(ops, op)
		}
	}
	slices.Reverse(ops)
	return ops
}
