package top

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"sm/observer/api"
)

// TestTable checks that wider terminals show more columns, names before less important ones,
// and that sessions that wait for a person come first.
func TestTable(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		60:  "NAME ID CONTEXT PRESSURE REPLIES STATE",
		80:  "PROJECT NAME ID CONTEXT PRESSURE REPLIES STATE FLAGS",
		120: "PROJECT NAME ID CONTEXT PRESSURE TOKENS REPLIES STATE FLAGS SEEN",
		200: "PROJECT NAME ID CONTEXT PRESSURE TOKENS REPLIES CMP STATE CYCLE FLAGS SEEN COST MODEL",
	} {
		all := topFleet().Sessions
		Sort(all, ByUrgency, false)
		lines := tableOf(t, width, all)
		text := strings.Join(lines, "\n")
		if len(lines) != 8 || strings.Join(strings.Fields(lines[0]), " ") != want ||
			!strings.Contains(lines[1], "asks") ||
			strings.Contains(text, "gone") {
			t.Errorf("in %d cells:\n%s", width, text)
		}
	}
}

// tableOf returns the lines of a table, which must fit into the width.
func tableOf(t *testing.T, width int, all []api.Session) []string {
	t.Helper()
	var b strings.Builder
	if err := (Table{Width: width}).Write(&b, all, topNow); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for _, line := range lines {
		if n := ansi.StringWidth(line); n > width {
			t.Errorf("%d cells in %d: %s", n, width, line)
		}
	}
	return lines
}

// TestTableIDs checks that each line has the whole text that selects its session in a
// command, for any name of the session.
func TestTableIDs(t *testing.T) {
	t.Parallel()
	var all []api.Session
	for _, names := range [][4]string{ // id, label, name, title
		{
			"12345678-1111-4111-8111-111111111111",
			"12345678",
			"",
			"Train the ranking model on last week's clicks",
		},
		{"abcdef01-23aa-4111-8111-111111111111", "abcdef01-2", "", "Mend the build"},
		{
			"abcdef01-23bb-4111-8111-111111111111",
			"the-agent-that-mends-the-build",
			"the-agent-that-mends-the-build",
			"",
		},
		{
			"99999999-1111-4111-8111-111111111111",
			"worker",
			"worker",
			"A title, which its name is better than",
		},
		{"88888888-1111-4111-8111-111111111111", "worker-2", "worker-2", ""},
		{"short", "", "", "No label and a short id"},
		{"77777777-1111-4111-8111-111111111111", "two\nlines", "two\nlines", ""},
	} {
		s := topSession("x", 10_000, "{}")
		s.ID = names[0]
		s.SessionID = names[0]
		s.Label = names[1]
		s.Name = names[2]
		s.Title = names[3]
		all = append(all, s)
	}
	want := strings.Split("12345678,abcdef01-2,abcdef01-23b,,,short,77777777", ",")
	for _, width := range []int{60, 80, 120, 200} {
		lines := tableOf(t, width, all)
		at := strings.Index(lines[0], "ID ")
		for i, line := range lines[1:] {
			got, _, _ := strings.Cut(string([]rune(line)[at:]), " ")
			if got != want[i] || got == "" && !strings.Contains(line, all[i].Name) {
				t.Errorf("in %d cells: %q, want %q, in\n%s", width, got, want[i], line)
			}
		}
	}
}

// TestLongIDs checks that sm top shows ids with the same beginning as far as commands need
// them, or not at all.
func TestLongIDs(t *testing.T) {
	t.Parallel()
	x := newModel(false)
	x.height = 12
	ids := []string{"01a200a2-c691-7de0-a3", "01a200a2-c691-7de0-a4"}
	var all api.Sessions
	for _, id := range ids {
		s := topSession("x", 10_000, "{}")
		s.ID = id + "25-4ece90591c2c"
		s.SessionID = s.ID
		s.Label = id
		s.Name = ""
		s.Title = "Move the backups to object storage"
		all.Sessions = append(all.Sessions, s)
	}
	x.poll(all, nil, topNow)
	for x.Width = range 201 {
		for _, id := range ids {
			text := x.screen()
			if shown := strings.Contains(text, " "+id+" "); shown != strings.Contains(text, " ID ") || !shown && x.Width == 200 {
				t.Errorf("no %s in\n%s", id, text)
			}
		}
	}
}

// TestCheckName checks that each order has a name, and that the error lists all.
func TestCheckName(t *testing.T) {
	err := CheckName("order", "fullest", Orders())
	if CheckName("order", "replies", Orders()) != nil || err == nil ||
		!strings.Contains(err.Error(), strings.Join(Orders(), ", ")) {
		t.Errorf("an unknown order: %v", err)
	}
}
