package proc

// A Head keeps the first bytes of what a program prints, and takes the rest without an error, so that the program goes on.
type Head struct {
	Kept []byte // not a bytes.Buffer: of that io.Copy would use ReadFrom, which knows no bound
	Left int    // how many more bytes to keep
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), h.Left)
	h.Left -= n
	h.Kept = append(h.Kept, p[:n]...)
	return len(p), nil
}
