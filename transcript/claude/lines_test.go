package claude

import (
	"fmt"
	"strings"
)

// The records of the tests below, as short as possible.

func reading(uuid, at string, tokens int) string {
	return message(
		uuid,
		at,
		"msg_"+uuid,
		fmt.Sprintf(`{"input_tokens":%d,"output_tokens":1}`, tokens),
	)
}

func message(uuid, at, id, usage string) string {
	return fmt.Sprintf(
		`{"type":"assistant","uuid":%q,"timestamp":%q,"version":"2.1.0","message":{"id":%q,"model":"claude-opus-4-8","usage":%s}}`,
		uuid,
		at,
		id,
		usage,
	)
}

func boundary(uuid, at, trigger string, pre int, more string) string {
	return fmt.Sprintf(
		`{"type":"system","subtype":"compact_boundary","uuid":%q,"timestamp":%q,"version":"2.1.0","compactMetadata":{"trigger":%q,"preTokens":%d%s}}`,
		uuid,
		at,
		trigger,
		pre,
		more,
	)
}

func summary(uuid, parent, at string) string {
	return fmt.Sprintf(
		`{"type":"user","isCompactSummary":true,"uuid":%q,"parentUuid":%q,"timestamp":%q,"message":{"content":"%s"}}`,
		uuid,
		parent,
		at,
		strings.Repeat("what has been done. ", 20),
	)
}

func prompted(uuid, content string) string {
	return fmt.Sprintf(
		`{"type":"user","uuid":%q,"message":{"role":"user","content":%s}}`,
		uuid,
		content,
	)
}

// side makes a record a subagent's.
func side(line string) string { return `{"isSidechain":true,` + line[1:] }

// at returns a time on one day.
func at(second int) string { return fmt.Sprintf("2026-11-20T08:00:%02d.000Z", second) }
