package observer

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// browserNames tests that all elements have names for a screen reader.
func browserNames(t *testing.T, c chromium) {
	b := c.open(t, someAgents(t), "/", 1280, 800)
	b.live()
	b.names(map[string]int{
		"table":        1,
		"columnheader": 8,
		"row":          7,
		"rowheader":    6,
		"cell":         42,
		"searchbox":    1,
		"image":        12, // a bar and a curve for each
	})
	if lang := eval[string](b, `document.documentElement.lang`); lang != "en" {
		t.Errorf("got language %q", lang)
	}
	b.do(chromedp.Click(chromedp.CSS("#rows tr")))
	b.until("one is shown", `document.querySelector('.chart') !== null`)
	b.names(map[string]int{"row": 7, "slider": 1, "heading": 5, "region": 1, "image": 2})
	b.quiet()
}

// names checks that all elements have names, and the number of elements of each role.
func (b *browser) names(want map[string]int) {
	t := b.t
	t.Helper()
	tree, err := chromedp.Call(
		b.ctx,
		accessibility.GetFullAXTree,
		accessibility.GetFullAXTreeParams{},
	)
	noErrors(t, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		var s string
		if json.Unmarshal(v.Value, &s) != nil {
			return ""
		}
		return s
	}
	count := map[string]int{}
	named := map[string]bool{
		"button":       true,
		"link":         true,
		"searchbox":    true,
		"columnheader": true,
		"rowheader":    true,
		"image":        true,
		"img":          true,
		"table":        true,
		"group":        true,
		"region":       true,
	}
	for _, n := range tree.Nodes {
		role := text(n.Role)
		name := strings.TrimSpace(text(n.Name))
		if n.Ignored {
			continue
		}
		count[role]++
		if named[role] && name == "" {
			t.Errorf("a %s has no name: %+v", role, n.Properties)
		}
	}
	for role, want := range want {
		if count[role] != want {
			t.Errorf("%d of role %s, want %d", count[role], role, want)
		}
	}
}

// browserNarrow tests that on a telephone's screen nothing scrolls sideways, and that
// controls are large enough to touch.
func browserNarrow(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 390, 844)
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.live()
	b.fitsWidth("all")
	b.until("nine agents would be visible", `(() => {
		const row = document.querySelector('#rows tr').getBoundingClientRect();
		return row.top < 120 && row.top + 9 * (row.height + 6) < 844;
	})()`)
	b.names(map[string]int{"row": 6, "rowheader": 6, "cell": 24}) // it still is a table
	b.do(chromedp.Click(chromedp.CSS("#rows tr a")))
	b.until(
		"one is shown in place of the list",
		`document.querySelector('.chart') !== null && !document.querySelector('#agents').checkVisibility()`,
	)
	b.fitsWidth("one")
	for _, small := range eval[[]string](
		b,
		`[...document.querySelectorAll('button, input, a.close')].filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML)`,
	) {
		t.Errorf("too small to touch: %s", small)
	}
	b.do(chromedp.Click(chromedp.CSS(".close")))
	r.write(uuid(0), reply(ago(0), "n0", 155_000, 1))
	b.until("an update arrives", says(uuid(0), "155k"))
	if got := eval[string](b, names); got != "eadcbf" {
		t.Errorf("after closing the detail by mouse: got order %s", got)
	}
	b.quiet()
}
