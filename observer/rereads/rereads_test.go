package rereads

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/transcript"
)

// view returns an agent in a folder, whose newest bill has files that were read again, each
// with its tokens.
func view(
	agent, folder string,
	kind transcript.Billed,
	files ...transcript.Reread,
) fleet.View {
	return fleet.View{
		Session: transcript.Session{CWD: folder},
		Agent:   fleet.Agent{ID: agent},
		Bill:    &transcript.Bill{Kind: kind, Files: files},
	}
}

func file(name string, tokens int64) transcript.Reread {
	return transcript.Reread{Name: name, Tokens: tokens}
}

func TestNames(t *testing.T) {
	t.Parallel()
	const compaction = transcript.BilledCompaction
	long := strings.Repeat("a", maxLength)
	for name, c := range map[string]struct {
		all  []fleet.View
		want []string
	}{
		"nobody": {nil, nil},
		"no bill, no compaction": {[]fleet.View{
			{
				Agent:   fleet.Agent{ID: "web"},
				Session: transcript.Session{CWD: "/p"},
			}, view("web", "/p", transcript.BilledClear, file("a.go", 9)),
		}, nil},
		"most tokens first, then by name": {[]fleet.View{
			view("web", "/p", compaction, file("b.go", 5), file("a.go", 5), file("c.go", 50)),
		}, []string{"c.go", "a.go", "b.go"}},
		"sums over the sessions of an agent": {[]fleet.View{
			view(
				"web",
				"/p",
				compaction,
				file("a.go", 5),
				file("b.go", 9),
			), view(
				"web",
				"/q",
				compaction,
				file("a.go", 5),
			),
		}, []string{"a.go", "b.go"}},
		"free ones count": {[]fleet.View{
			view(
				"web",
				"/p",
				compaction,
				file("a.go", 0),
				file("b.go", 0),
			), view(
				"web",
				"/p",
				compaction,
				file("b.go", 0),
			),
		}, []string{"b.go", "a.go"}},
		"five at most": {[]fleet.View{
			view(
				"web",
				"/p",
				compaction,
				file("1", 7),
				file("2", 6),
				file("3", 5),
				file("4", 4),
				file("5", 3),
				file("6", 2),
			),
		}, []string{"1", "2", "3", "4", "5"}},
		"own files before others'": {[]fleet.View{
			view(
				"web",
				"/p",
				compaction,
				file("a.go", 1),
			), view(
				"api",
				"/p",
				compaction,
				file("b.go", 99),
			),
		}, []string{"a.go"}},
		"files of others in its project": {[]fleet.View{
			view(
				"api",
				"/p",
				compaction,
				file("b.go", 1),
			), view(
				"api",
				"/other",
				compaction,
				file("c.go", 99),
			),
		}, []string{"b.go"}},
		"an empty name": {[]fleet.View{
			view(
				"web",
				"/p",
				compaction,
				file("", 9),
			), view(
				"api",
				"/p",
				compaction,
				file("", 9),
				file("b.go", 1),
			),
		}, []string{"b.go"}},
		"no instructions, no shell": {[]fleet.View{
			view("web", "/p", compaction, file("a b.go; $(rm -rf x)`\"\n<é", 1)),
		}, []string{"a_b.go____rm_-rf_x_____é"}},
		"a long name keeps its end": {[]fleet.View{
			view("web", "/p", compaction, file("dir/"+long, 1)),
		}, []string{long}},
	} {
		got := Names(new(view("web", "/p", transcript.BilledClear)), slices.Values(c.all))
		if diff := cmp.Diff(c.want, got); diff != "" && len(got)+len(c.want) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestNamesWithoutFolder tests that agents without a known folder do not share a project.
func TestNamesWithoutFolder(t *testing.T) {
	t.Parallel()
	all := []fleet.View{view("api", "", transcript.BilledCompaction, file("b.go", 1))}
	if got := Names(&fleet.View{Agent: fleet.Agent{ID: "web"}}, slices.Values(all)); len(got) > 0 {
		t.Errorf("got %q, want none", got)
	}
}
