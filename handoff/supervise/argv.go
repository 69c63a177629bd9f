package supervise

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// values is how many values an option takes.
type values int

const (
	none  values = iota
	one          // whatever it looks like
	maybe        // one that does not begin with a dash
	named        // the same, and without it there is no other client
	many         // one, and all that follow up to the next with a dash
)

// option describes an option of the client.
type option struct {
	values values
	drop   bool   // it would restore the old context, or set the first prompt
	alone  string // why a client with this option is not started again
}

const (
	printsOnly   = "a client that prints one answer is not started again; leave --print out"
	endsAtOnce   = "this client has no conversation to go on with; start one without it"
	runsAfar     = "this client's session does not run here; start one that does"
	startsInside = "the client's own words stand inside a command for a shell; give them to sm run as they are"
	namelessTree = "a worktree without a name is a new one each time, and the work would stay in the old; " +
		"name it, as in --worktree NAME"
	unknownWords = "it cannot be told which words are the client's own; write the client by its own name, as claude or codex"
)

// options are those of client 2.1.197, hidden ones included. Flags without a value are listed
// so that the word after them is recognized as a prompt.
func options() map[string]option {
	table := map[string]option{
		"print":      {alone: printsOnly},
		"background": {alone: endsAtOnce},
		"bg":         {alone: endsAtOnce},
		"init-only":  {alone: endsAtOnce},
		"help":       {alone: endsAtOnce},
		"version":    {alone: endsAtOnce},
		"remote":     {alone: runsAfar},
		"cloud":      {alone: runsAfar},
	}
	add(table, true, map[values]string{
		none:  "continue fork-session reply-on-resume",
		one:   "session-id resume-session-at rewind-files prefill prefill-b64",
		maybe: "resume from-pr teleport",
	})
	add(table, false, map[values]string{
		none: "allow-dangerously-skip-permissions ax-screen-reader bare brief chrome cowork dangerously-skip-permissions " +
			"debug-to-stderr deep-link-origin disable-slash-commands enable-auth-status enable-auto-mode " +
			"exclude-dynamic-system-prompt-sections ide include-hook-events include-partial-messages init maintenance " +
			"mcp-debug no-chrome no-session-persistence plan-mode-required replay-user-messages safe-mode session-mirror " +
			"strict-mcp-config tmux verbose xaa",
		one: "advisor agent agent-color agent-id agent-name agent-type agents append-system-prompt append-system-prompt-file " +
			"debug-file deep-link-cwd-b64 deep-link-last-fetch deep-link-repo effort fallback-model input-format json-schema " +
			"managed-settings max-budget-usd max-thinking-tokens max-turns model name output-format parent-session-id " +
			"permission-mode permission-prompt-tool plan-mode-instructions plugin-dir plugin-dir-no-mcp plugin-url " +
			"remote-control-session-name-prefix sdk-url setting-sources settings system-prompt system-prompt-file task-budget " +
			"team-name teammate-mode thinking thinking-display workload",
		maybe: "debug prompt-suggestions rc remote-control",
		named: "worktree",
		many: "add-dir allowed-tools allowedTools betas channels dangerously-load-development-channels disallowed-tools " +
			"disallowedTools file mcp-config tools",
	})
	return table
}

// add adds options by the values that they take.
func add(table map[string]option, drop bool, names map[values]string) {
	for takes, list := range names {
		for name := range strings.FieldsSeq(list) {
			table[name] = option{values: takes, drop: drop}
		}
	}
}

// letters are the short names.
func letters() map[byte]string {
	return map[byte]string{
		'c': "continue", 'd': "debug", 'h': "help", 'n': "name", 'p': "print", 'r': "resume", 'v': "version", 'w': "worktree",
	}
}

// commands are the client's subcommands, from its help.
func commands() []string {
	return []string{
		"agents", "auth", "auto-mode", "config", "doctor", "gateway", "install", "mcp", "plugin", "plugins", "project",
		"remote-control", "setup-token", "ultrareview", "update", "upgrade",
	}
}

// Again turns the arguments that started a Claude Code client into those that start another
// one in a fresh session, with a first prompt unless that is empty. An error is one line with
// the reason why there can be no other client.
//
// What would resume the old session or repeat its first prompt is left out. The rules are those
// of the client's own parser (commander): --name=value and -nVALUE contain their value; -- ends
// the options; what is neither option nor value is the prompt. An unknown option is kept with
// the next word, unless that begins with a dash, since it may be the option's value.
//
// The client may follow a program that starts it, such as env or node. A command for a shell
// is refused.
func Again(argv []string, prompt string) ([]string, error) {
	r := reader{options: options(), letters: letters(), commands: commands()}
	return r.again(argv, prompt, isClaude)
}

func (r *reader) again(argv []string, prompt string, is func(word string) bool) ([]string, error) {
	at, err := clientIn(argv, is)
	if err != nil {
		return nil, err
	}
	r.words = argv[at+1:]
	if err := r.read(); err != nil {
		return nil, err
	}
	if r.foreground != "" && !slices.Contains(r.kept, r.foreground) {
		return nil, errors.New(inDaemon)
	}
	again := slices.Concat(argv[:at+1], r.kept)
	if prompt != "" {
		again = append(again, "--", prompt)
	}
	return again, nil
}

// clientIn returns the position of the client's name, which is recognizes.
func clientIn(argv []string, is func(word string) bool) (int, error) {
	if len(argv) == 0 {
		return 0, errors.New("there is no client; give one")
	}
	switch strings.TrimRight(path.Base(argv[0]), "0123456789.") {
	default:
		return 0, nil
	case "sh", "bash", "dash", "zsh", "ksh", "fish", "ash":
		for i, word := range argv[1:] {
			switch {
			case !strings.HasPrefix(word, "-"):
				return i + 1, nil
			case !strings.HasPrefix(word, "--") && strings.Contains(word, "c"):
				return 0, errors.New(startsInside)
			}
		}
	case "node", "bun", "deno", "python", "perl", "ruby":
		if i := slices.IndexFunc(argv[1:], func(word string) bool { return !strings.HasPrefix(word, "-") }); i >= 0 {
			return i + 1, nil
		}
	case "env", "npx", "bunx", "pnpm", "nice", "ionice", "nohup", "setsid", "stdbuf", "timeout", "time",
		"sudo", "doas", "systemd-run", "unshare":
		if i := slices.IndexFunc(argv[1:], is); i >= 0 {
			return i + 1, nil
		}
	}
	return 0, errors.New(unknownWords)
}

func isClaude(word string) bool { return names(word, "claude", "claude-code") }

// names reports whether a word is one of a client's names, maybe with a path and a version.
func names(word string, client ...string) bool {
	base, _, _ := strings.Cut(path.Base(word), "@")
	return !strings.Contains(word, "=") && slices.Contains(client, base)
}

// reader reads the client's arguments.
type reader struct {
	words      []string
	options    map[string]option
	letters    map[byte]string
	commands   []string // subcommands, which end at once
	foreground string   // an option without which a daemon does the work, "" for none
	kept       []string
}

func (r *reader) read() error {
	for len(r.words) > 0 {
		word := r.words[0]
		r.words = r.words[1:]
		var err error
		switch {
		case word == "--":
			return nil // what follows is the prompt
		case !isOption(word):
			if slices.Contains(r.commands, word) {
				return errors.New(endsAtOnce)
			}
		case strings.HasPrefix(word, "--"):
			err = r.long(word)
		default:
			err = r.short(word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOption is the client's own test: a dash alone is a word.
func isOption(word string) bool { return len(word) > 1 && word[0] == '-' }

func (r *reader) long(word string) error {
	name, value, holds := strings.Cut(word[2:], "=")
	o := r.option(name)
	switch {
	case o.alone != "":
		return errors.New(o.alone)
	case holds && value == "" && o.values == named:
		return errors.New(namelessTree)
	case holds:
		r.keep(o, word)
		return nil
	}
	return r.keepTaken(o, word)
}

// option looks up an option. An unknown one may have a value.
func (r *reader) option(name string) option {
	if o, known := r.options[name]; known {
		return o
	}
	return option{values: maybe}
}

// short reads letters after one dash. The rest is the value of a letter that takes one, else
// it is read as a word of its own.
func (r *reader) short(word string) error {
	o := r.option(r.letters[word[1]])
	switch {
	case o.alone != "":
		return errors.New(o.alone)
	case len(word) == 2:
		return r.keepTaken(o, word)
	case o.values == none:
		r.keep(o, word[:2])
		r.words = append([]string{"-" + word[2:]}, r.words...)
	default:
		r.keep(o, word)
	}
	return nil
}

// take removes an option's values from the words.
func (r *reader) take(v values) (taken []string) {
	for len(r.words) > 0 {
		switch {
		case v == none, (v == maybe || v == named) && (len(taken) == 1 || isOption(r.words[0])),
			v == one && len(taken) == 1,
			v == many && len(taken) > 0 && isOption(r.words[0]):
			return taken
		}
		taken = append(taken, r.words[0])
		r.words = r.words[1:]
	}
	return taken
}

// keepTaken keeps an option with its values.
func (r *reader) keepTaken(o option, word string) error {
	taken := r.take(o.values)
	if len(taken) == 0 && o.values == named {
		return errors.New(namelessTree)
	}
	if len(taken) == 0 && (o.values == one || o.values == many) {
		return fmt.Errorf("%.40s has no value; give it one", word) // it would take our prompt
	}
	r.keep(o, word, taken...)
	return nil
}

func (r *reader) keep(o option, word string, values ...string) {
	if !o.drop {
		r.kept = append(append(r.kept, word), values...)
	}
}

// Unknown is [Again] for clients of other providers, whose arguments are unknown.
func Unknown(provider string) func([]string, string) ([]string, error) {
	return func([]string, string) ([]string, error) {
		return nil, fmt.Errorf("clients of provider %.40q are not started again; only claude's are", provider)
	}
}
