package supervise

const (
	newTree = "a worktree would be another one, and the work would stay in the old; " +
		"start the client in a worktree, without --worktree"
	inDaemon = "its threads live on in Codex's daemon; start it with codex --no-daemon"
)

// codexOptions are those of client 0.169.0.
func codexOptions() map[string]option {
	table := map[string]option{
		"remote":   {alone: runsAfar},
		"worktree": {alone: newTree},
		"help":     {alone: endsAtOnce},
		"version":  {alone: endsAtOnce},
	}
	add(table, true, map[values]string{none: "last all include-non-interactive", many: "image"})
	add(table, false, map[values]string{
		none: "strict-config oss approve-for-me dangerously-bypass-approvals-and-sandbox dangerously-bypass-hook-trust full-auto search no-alt-screen no-daemon",
		one:  "config enable disable remote-auth-token-env model local-provider profile sandbox cd add-dir ask-for-approval",
	})
	return table
}

func codexLetters() map[byte]string {
	return map[byte]string{
		'c': "config", 'i': "image", 'm': "model", 'p': "profile", 's': "sandbox",
		'C': "cd", 'a': "ask-for-approval", 'h': "help", 'V': "version",
	}
}

// codexCommands are the client's subcommands that are not a conversation.
func codexCommands() []string {
	return []string{
		"agents", "exec", "e", "review", "login", "logout", "mcp", "plugin", "app-server", "remote-control", "completion", "update",
		"doctor", "sandbox", "debug", "apply", "a", "queue", "archive", "delete", "migrate-rollouts", "migrate-nfs-db", "unarchive",
		"cloud", "exec-server", "features", "help", "mcp-server", "proto",
	}
}

// AgainCodex is [Again] for clients of Codex CLI. A client that uses the daemon is not started
// again, since its threads do not end with it.
func AgainCodex(argv []string, prompt string) ([]string, error) {
	r := reader{
		options:    codexOptions(),
		letters:    codexLetters(),
		commands:   codexCommands(),
		foreground: "--no-daemon",
	}
	return r.again(argv, prompt, isCodex)
}

func isCodex(word string) bool { return names(word, "codex") }

// StartsCodex reports whether a command starts the Codex client, directly or by another program.
func StartsCodex(argv []string) bool {
	at, err := clientIn(argv, isCodex)
	return err == nil && isCodex(argv[at])
}
