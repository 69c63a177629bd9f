//go:build !amd64 || purego

package jsonwalk

func (x *quotes) fillFast() bool { return false }
