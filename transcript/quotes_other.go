//go:build !amd64 || purego

package transcript

func (x *quotes) fillFast() bool { return false }
