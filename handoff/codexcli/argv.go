package codexcli

import "sm/handoff/supervise"

// Arguments returns the grammar of Codex CLI 0.169.0.
func Arguments() *supervise.Grammar {
	return &supervise.Grammar{
		Names: []string{"codex"},
		Options: `remote: remote
tree: worktree
end: help version
none dropped: last all include-non-interactive
many dropped: image
none: strict-config oss approve-for-me dangerously-bypass-approvals-and-sandbox dangerously-bypass-hook-trust full-auto search no-alt-screen no-daemon
one: config enable disable remote-auth-token-env model local-provider profile sandbox cd add-dir ask-for-approval
`,
		Refused: map[string]string{
			"remote": supervise.RunsAfar,
			"tree": "a worktree would be another one, and the work would stay in the old; " +
				"start the client in a worktree, without --worktree",
			"end": supervise.EndsAtOnce,
		},
		Letters: "c=config i=image m=model p=profile s=sandbox C=cd a=ask-for-approval h=help V=version",
		Commands: "agents exec e review login logout mcp plugin app-server remote-control completion update doctor sandbox debug apply a queue archive " +
			"delete migrate-rollouts migrate-nfs-db unarchive cloud exec-server features help mcp-server proto",
		Foreground: "--no-daemon",
		Daemon:     "its threads live on in Codex's daemon; start it with codex --no-daemon",
	}
}
