package observer

import (
	"fmt"
	"strings"
)

// cut returns a reply to a request for which the client has removed tool results of this many
// tokens.
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
