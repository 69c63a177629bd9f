package hook

import (
	"strings"
	"unicode"
)

// maxTool bounds the name of a tool in a reason, in bytes.
const maxTool = 64

// Asks returns what the client asks a person for, in a few words: "permission:
// Bash", "permission", "plan", "question"; "" if it does not. A client at its
// prompt (idle_prompt) has no dialog open: it is idle. Clients before 2.0.77 give
// a Notification no type, so the message decides. Codex has a hook for permission;
// that hook of Claude Code does not count, as its rules may decide without a
// person.
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

// permission is what a message asks leave for.
func permission(message string) string {
	_, tool, _ := strings.Cut(message, " permission to use ")
	if strings.Contains(message, "approval for the plan") {
		tool = "ExitPlanMode"
	}
	return permissionFor(tool)
}

// permissionFor is what a client asks leave for by a tool's name, "" for none known.
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
