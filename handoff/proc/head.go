package proc

// A Head keeps the first bytes of a program's output and discards the rest without an error.
type Head struct {
	Kept []byte // not a bytes.Buffer: io.Copy would use its ReadFrom, which has no limit
	Left int    // how many more bytes to keep
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.Left)
	h.Left -= n
	h.Kept = append(h.Kept, p[:n]...)
	return len(p), nil
}
