package observer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// browserNames: all elements have names for a screen reader.
func browserNames(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/?session=d", 1280, 800)
	b.live()
	b.until("one is shown", `!document.querySelector('#detail').hidden`)
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
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
		if role == "image" && strings.Contains(name, "of the window") && !strings.Contains(name, "%") {
			t.Errorf("a bar is called %q", name)
		}
	}
	for role, want := range map[string]int{
		"table":        1,
		"columnheader": 8,
		"row":          7,
		"rowheader":    6,
		"cell":         42,
		"searchbox":    1,
		"slider":       1,
		"heading":      4,
	} {
		if count[role] != want {
			t.Errorf("%d of role %s, want %d", count[role], role, want)
		}
	}
	if images := count["image"] + count["img"]; images < 13 { // a bar and a curve for each, and the chart
		t.Errorf("%d images with names", images)
	}
	if lang := eval[string](b, `document.documentElement.lang`); lang != "en" {
		t.Errorf("the language is %q", lang)
	}
	b.quiet()
	r.stop()
}

// contrasts finds all texts that are shown, and the contrast of each to what is behind
// it: that of WCAG 2, of colours as they are computed.
const contrasts = `(() => {
	const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
	const rgba = (colour) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = colour;
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
		return [r, g, b, a / 255];
	};
	const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
	const light = (c) => {
		const [r, g, b] = c.map((x) => (x /= 255) <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b;
	};
	const behind = (e) => {
		if (!e) return [255, 255, 255, 1];
		const c = rgba(getComputedStyle(e).backgroundColor);
		return c[3] === 1 ? c : over(c, behind(e.parentElement));
	};
	const found = [];
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walk.nextNode(); n; n = walk.nextNode()) {
		const e = n.parentElement, style = getComputedStyle(e);
		if (!n.data.trim() || e.closest('script, style, title, noscript, .unseen, .skip') || !e.checkVisibility()) continue;
		const back = behind(e), front = over(rgba(e.closest('svg') ? style.fill : style.color), back);
		let seen = front;
		for (let p = e; p; p = p.parentElement) {
			const o = +getComputedStyle(p).opacity;
			if (o < 1) seen = over([...seen.slice(0, 3), o], behind(p.parentElement));
		}
		const [x, y] = [light(seen), light(back)].sort((a, b) => b - a);
		found.push({text: n.data.trim().slice(0, 40), ratio: (x + .05) / (y + .05)});
	}
	return found;
})()`

// browserContrast: in both themes each text can be read, live or not.
func browserContrast(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/?session=d", 1280, 1200)
	b.live()
	b.until("one is shown", `!document.querySelector('#detail').hidden`)
	check := func(when string) {
		t.Helper()
		for _, theme := range []string{"light", "dark"} {
			b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.documentElement.dataset.theme = %q`, theme)))
			list := eval[[]struct {
				Text  string
				Ratio float64
			}](b, contrasts)
			least := 100.0
			for _, x := range list {
				if least = min(least, x.Ratio); x.Ratio < 4.5 {
					t.Errorf("%s, %s: %q has a contrast of %.2f", when, theme, x.Text, x.Ratio)
				}
			}
			if t.Logf("%s, %s: %d texts, the least contrast is %.2f", when, theme, len(list), least); len(list) < 100 {
				t.Errorf("%s, %s: only %d texts", when, theme, len(list))
			}
		}
	}
	check("live")
	b.do(
		chromedp.Click(chromedp.CSS(`.chip[data-pressure="high"]`)),
		chromedp.Click(chromedp.CSS(`.chip[data-pressure="rising"]`)),
	)
	check("one pressure")
	b.do(chromedp.Click(chromedp.CSS(`.chip[data-pressure="rising"]`)))
	b.quiet()
	r.stop()
	b.until("the observer is gone", `!document.querySelector('#gone').hidden`)
	check("gone")
}

// browserNarrow: on a telephone's screen nothing has to be pushed sideways, and what
// is to be touched is large enough.
func browserNarrow(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 390, 844)
	b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	b.live()
	b.fitsWidth("all")
	b.do(chromedp.Click(chromedp.CSS("#rows tr a")))
	b.until("one is shown", `!document.querySelector('#detail').hidden && document.querySelector('.chart') !== null`)
	b.fitsWidth("one")
	for _, small := range eval[[]string](
		b,
		`[...document.querySelectorAll('button, input, a.close')].filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML)`,
	) {
		t.Errorf("too small to be touched: %s", small)
	}
	if role := eval[string](b, `getComputedStyle(document.querySelector('#rows tr')).display`); role != "grid" {
		t.Errorf("rows are laid out as %s", role)
	}
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	noErrors(t, err)
	cells := 0
	for _, n := range tree.Nodes {
		if n.Role != nil && string(n.Role.Value) == `"cell"` {
			cells++
		}
	}
	if cells != 42 {
		t.Errorf("%d cells: it is no table any more", cells)
	}
	b.quiet()
	r.stop()
}
