package supervise

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Reasons why a client is not started again.
const (
	EndsAtOnce   = "this client has no conversation to go on with; start one without it"
	RunsAfar     = "this client's session does not run here; start one that does"
	printsOnly   = "a client that prints one answer is not started again; leave --print out"
	startsInside = "the client's own words are inside a command for a shell; give them to sm run as they are"
	namelessTree = "a worktree without a name is a new one each time, and the work would stay in the old; " +
		"name it, as in --worktree NAME"
	unknownWords = "it is unclear which words are the client's own; write the client by its own name, as claude or codex"
)

// Grammar describes the command line of a client.
type Grammar struct {
	Names []string // of the client
	// Options has a line for each kind of option, with the names after a colon.
	// The kind is the number of values that an option takes: none; one, of any
	// form; maybe, one that does not begin with a dash; named, like maybe, but
	// without the value no other client can be started; many, one and all that
	// follow up to the next one with a dash. Dropped options would restore the
	// old context or set the first prompt. Other kinds are keys of Refused.
	Options    string
	Refused    map[string]string // why a client with an option of this kind is not started again
	Letters    string            // short names
	Commands   string            // subcommands, which end at once
	Foreground string            // an option without which a daemon does the work, "" for none
	Daemon     string            // why a client of a daemon is not started again
}

// Claude returns the grammar of Claude Code 2.1.197, including hidden options.
// Flags without a value are listed so that the word after them is recognized as
// a prompt.
func Claude() *Grammar {
	return &Grammar{
		Names: []string{"claude", "claude-code"},
		Options: `print: print
end: background bg init-only help version
remote: remote cloud
none dropped: continue fork-session reply-on-resume
one dropped: session-id resume-session-at rewind-files prefill prefill-b64
maybe dropped: resume from-pr teleport
none: allow-dangerously-skip-permissions ax-screen-reader bare brief chrome cowork dangerously-skip-permissions debug-to-stderr deep-link-origin disable-slash-commands enable-auth-status enable-auto-mode exclude-dynamic-system-prompt-sections ide include-hook-events include-partial-messages init maintenance mcp-debug no-chrome no-session-persistence plan-mode-required replay-user-messages safe-mode session-mirror strict-mcp-config tmux verbose xaa
one: advisor agent agent-color agent-id agent-name agent-type agents append-system-prompt append-system-prompt-file debug-file deep-link-cwd-b64 deep-link-last-fetch deep-link-repo effort fallback-model input-format json-schema managed-settings max-budget-usd max-thinking-tokens max-turns model name output-format parent-session-id permission-mode permission-prompt-tool plan-mode-instructions plugin-dir plugin-dir-no-mcp plugin-url remote-control-session-name-prefix sdk-url setting-sources settings system-prompt system-prompt-file task-budget team-name teammate-mode thinking thinking-display workload
maybe: debug prompt-suggestions rc remote-control
named: worktree
many: add-dir allowed-tools allowedTools betas channels dangerously-load-development-channels disallowed-tools disallowedTools file mcp-config tools
`,
		Refused: map[string]string{
			"print":  printsOnly,
			"end":    EndsAtOnce,
			"remote": RunsAfar,
		},
		Letters:  "c=continue d=debug h=help n=name p=print r=resume v=version w=worktree",
		Commands: "agents auth auto-mode config doctor gateway install mcp plugin plugins project remote-control setup-token ultrareview update upgrade",
	}
}

// option returns the kind of an option, and whether it is dropped. An unknown
// option may have a value.
func (g *Grammar) option(name string) (kind string, drop bool) {
	for line := range strings.Lines(g.Options) {
		head, names, _ := strings.Cut(line, ":")
		if slices.Contains(strings.Fields(names), name) {
			return strings.CutSuffix(head, " dropped")
		}
	}
	return "maybe", false
}

// is reports whether a word is one of the client's names, possibly with a path
// and a version.
func (g *Grammar) is(word string) bool {
	base, _, _ := strings.Cut(path.Base(word), "@")
	return !strings.Contains(word, "=") && slices.Contains(g.Names, base)
}

// Again returns the arguments that start another client in a fresh session,
// given those of the present client. A first prompt that is not empty is added.
// An error is one line with the reason why there can be no other client.
//
// Arguments that would resume the old session or repeat its first prompt are
// left out. The rules are those of the clients' own parsers: --name=value and
// -nVALUE contain their value; -- ends the options; a word that is neither
// option nor value is the prompt. An unknown option is kept with the next word,
// unless that begins with a dash, since the word may be the option's value.
//
// The client may follow a program that starts it, such as env or node. A
// command for a shell is refused.
func (g *Grammar) Again(argv []string, prompt string) ([]string, error) {
	at, err := g.clientIn(argv)
	if err != nil {
		return nil, err
	}
	r := reader{Grammar: g, words: argv[at+1:]}
	if err := r.read(); err != nil {
		return nil, err
	}
	if g.Foreground != "" && !slices.Contains(r.kept, g.Foreground) {
		return nil, errors.New(g.Daemon)
	}
	again := slices.Concat(argv[:at+1], r.kept)
	if prompt != "" {
		again = append(again, "--", prompt)
	}
	return again, nil
}

// Starts reports whether a command starts the client, directly or through
// another program.
func (g *Grammar) Starts(argv []string) bool {
	at, err := g.clientIn(argv)
	return err == nil && g.is(argv[at])
}

// clientIn returns the position of the client's name.
func (g *Grammar) clientIn(argv []string) (int, error) {
	if len(argv) == 0 {
		return 0, errors.New("there is no client; give one")
	}
	plain := func(word string) bool { return !strings.HasPrefix(word, "-") }
	found := g.is
	switch strings.TrimRight(path.Base(argv[0]), "0123456789.") {
	default:
		return 0, nil
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "ash":
		for _, word := range argv[1:] {
			if plain(word) {
				break
			}
			if !strings.HasPrefix(word, "--") && strings.Contains(word, "c") {
				return 0, errors.New(startsInside)
			}
		}
		found = plain
	case "node", "bun", "deno", "python", "perl", "ruby":
		found = plain
	case "env", "npx", "bunx", "pnpm", "nice", "ionice", "nohup", "setsid", "stdbuf", "timeout", "time",
		"sudo", "doas", "systemd-run", "unshare":
	}
	if i := slices.IndexFunc(argv[1:], found); i >= 0 {
		return i + 1, nil
	}
	return 0, errors.New(unknownWords)
}

// reader reads the client's arguments.
type reader struct {
	*Grammar
	words []string
	kept  []string
}

func (r *reader) read() error {
	for len(r.words) > 0 {
		word := r.words[0]
		r.words = r.words[1:]
		if word == "--" {
			break // the prompt follows
		}
		if !isOption(word) {
			if slices.Contains(strings.Fields(r.Commands), word) {
				return errors.New(EndsAtOnce)
			}
			continue
		}
		name, value, holds := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if !strings.HasPrefix(word, "--") {
			// The rest is the value of a letter that takes one, otherwise more
			// letters.
			_, name, _ = strings.Cut(" "+r.Letters, " "+word[1:2]+"=")
			name, _, _ = strings.Cut(name, " ")
			value = word[2:]
			holds = value != ""
			if kind, _ := r.option(name); holds && kind == "none" {
				r.words = append([]string{"-" + value}, r.words...)
				word = word[:2]
			}
		}
		if err := r.keep(name, word, value, holds); err != nil {
			return err
		}
	}
	return nil
}

// isOption reports whether a word is an option. Like the client, it takes a
// single dash for a word.
func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

// keep keeps an option unless it is dropped or refused, with the values that
// follow it unless the word itself holds one.
func (r *reader) keep(name, word, value string, holds bool) error {
	kind, drop := r.option(name)
	if why := r.Refused[kind]; why != "" {
		return errors.New(why)
	}
	values := []string{value}
	if !holds {
		values = r.take(kind)
	}
	switch empty := len(values) == 0 || holds && value == ""; {
	case empty && kind == "named":
		return errors.New(namelessTree)
	case len(values) == 0 && (kind == "one" || kind == "many"):
		return fmt.Errorf("%.40s has no value; give it one", word) // it would take our prompt
	}
	if drop {
		return nil
	}
	r.kept = append(r.kept, word)
	if !holds {
		r.kept = append(r.kept, values...)
	}
	return nil
}

// take removes an option's values from the words.
func (r *reader) take(kind string) (taken []string) {
	for len(r.words) > 0 && kind != "none" {
		option := isOption(r.words[0])
		if len(taken) > 0 && (kind != "many" || option) ||
			option && (kind == "maybe" || kind == "named") {
			break
		}
		taken = append(taken, r.words[0])
		r.words = r.words[1:]
	}
	return taken
}

// Unknown returns an [Again] for the clients of other providers, whose
// arguments are unknown.
func Unknown(provider string) func([]string, string) ([]string, error) {
	return func([]string, string) ([]string, error) {
		return nil, fmt.Errorf("clients of provider %.40q are not started again; only claude's are",
			provider)
	}
}
