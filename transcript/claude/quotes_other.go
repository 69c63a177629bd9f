//go:build !amd64 || purego

package claude

func (x *quotes) fillFast() bool { return false }
