package tmux

// terminal is what the kernel says of a terminal at one moment.
type terminal struct {
	device uint64
	// lines is that the kernel gathers what is typed into lines, with its own editing; echo
	// that it shows what is typed. A program that reads keys has switched off both.
	lines, echo bool
	// kill is the key that erases a line being gathered, 0 for none.
	kill byte
	// unread is the number of bytes that came in and that no program has read, without those
	// of a line that is being gathered.
	unread int
}

func (t terminal) raw() bool { return !t.lines && !t.echo }
