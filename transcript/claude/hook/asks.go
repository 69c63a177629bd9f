package hook

import (
	"strings"
	"unicode"
)

// maxTool limits the name of a tool in a reason, in bytes.
const maxTool = 64

// Asks returns, in a few words, the request of the client to a person:
// "permission: Bash", "permission", "plan", "question"; "" for none. A client
// at its prompt (idle_prompt) has no dialog open: it is idle. Notifications of
// clients before 2.0.77 have no type, so the message decides. Codex has a hook
// for permissions; the same hook of Claude Code does not count, because its
// rules may decide without a person.
func (p *Payload) Asks() string {
	switch {
	case p.Event == PermissionRequest && p.SM.Client != "":
		return permissionFor(p.ToolName)
	case p.Event != Notification:
		return ""
	}
	switch p.NotificationType {
	case "permission_prompt", "worker_permission_prompt":
		return permission(p.Message)
	case "elicitation_dialog", "elicitation_url_dialog":
		return "question"
	case "":
		if strings.Contains(p.Message, "needs your permission") ||
			strings.Contains(p.Message, "needs your approval") {
			return permission(p.Message)
		}
	}
	return ""
}

// permission returns the request in a message.
func permission(message string) string {
	_, tool, _ := strings.Cut(message, " permission to use ")
	if strings.Contains(message, "approval for the plan") {
		tool = "ExitPlanMode"
	}
	return permissionFor(tool)
}

// permissionFor returns the request for a tool, "permission" for an unknown
// tool.
func permissionFor(tool string) string {
	switch {
	case tool == "AskUserQuestion":
		return "question"
	case tool == "ExitPlanMode":
		return "plan"
	case tool != "" && len(tool) <= maxTool && !strings.ContainsFunc(tool, unicode.IsControl):
		return "permission: " + tool
	}
	return "permission"
}
