//go:build !linux

package tmux

func readTerminal(string) (terminal, error) { return terminal{}, errNoProc }

func flush(string) error { return errNoProc }
