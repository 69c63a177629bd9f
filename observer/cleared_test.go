package observer

import (
	"fmt"
	"strings"
)

// cut is a reply to a request that the client has left tool results of so many tokens out of.
func cut(tokens int, reply string) string {
	return strings.Replace(
		reply,
		`"usage":`,
		fmt.Sprintf(
			`"context_management":{"client_cut_tool_uses":3,"client_estimated_cleared_input_tokens":%d},"usage":`,
			tokens,
		),
		1,
	)
}
