package observer

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// browserAddress tests that filter, order and groups are in the address and apply when it is
// loaded.
func browserAddress(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 800)
	b.live()
	want := func(what, search, shown string) {
		t.Helper()
		if got := eval[[]string](
			b,
			`[location.search, `+names+`]`,
		); !cmp.Equal(
			[]string{search, shown},
			got,
		) {
			t.Errorf("%s: got %q, want %q", what, got, []string{search, shown})
		}
	}
	click := func(selector string) { b.do(chromedp.Click(chromedp.CSS(selector))) }
	want("at first", "", "edcbaf")
	click(`[data-sort="name"]`)
	want("by name", "?sort=name", "abcdef")
	click(`[data-sort="name"]`)
	want("and back", "?sort=-name", "fedcba")
	click(`.chip[data-pressure="calm"]`)
	want("the calm ones", "?pressure=calm&sort=-name", "ba")
	if got := eval[string](b, `document.querySelector('.sums').innerText`); !strings.HasPrefix(got, "2 of 6 agents") {
		t.Errorf("got counts %q", got)
	}
	click(`.chip[data-state="work"]`)
	want("that work", "?state=work&pressure=calm&sort=-name", "ba")
	click(`#group`)
	want("in groups", "?state=work&pressure=calm&sort=-name&group=project", "ba")
	if text := eval[string](
		b,
		`document.querySelector('#rows > tr.group').textContent`,
	); text != "web 2 agents, 2 at work" {
		t.Errorf("got group %q", text)
	}
	b.press("j", "j")
	if at := eval[string](b, focused); at != "a" {
		t.Errorf("got focus %q", at)
	}
	b.do(chromedp.Reload())
	b.live()
	want("loaded again", "?state=work&pressure=calm&sort=-name&group=project", "ba")
	pressed := `[...document.querySelectorAll('[aria-pressed="true"]')].map(e => e.dataset.state || e.dataset.pressure || e.id).join()`
	if got := eval[string](b, pressed); got != "group,work,calm" {
		t.Errorf("got pressed buttons %s", got)
	}
	b.press(kb.Escape)
	want("Escape shows all", "?sort=-name&group=project", "fedcba")
	b.press("g", "/", "w", "a", "i", "t")
	want("a word", "?find=wait&sort=-name", "e")
	b.press(kb.Enter, kb.Enter)
	b.until("opened", `!document.querySelector('#detail').hidden`)
	want("with one opened", "?session="+uuid(4)+"&find=wait&sort=-name", "e")
	b.do(chromedp.NavigateBack())
	b.until("back closes it", `document.querySelector('#detail').hidden`)
	want("and leaves the rest", "?find=wait&sort=-name", "e")
	b.quiet()
}

// browserHeldOrder tests that no row moves while the pointer is over the list.
func browserHeldOrder(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 800)
	b.live()
	button := `[...document.querySelectorAll('#held:not([hidden])')].map(e => e.innerText).join()`
	b.mouse(input.DispatchMouseEventTypeMouseMoved, b.middle("#rows tr:nth-child(3)"))
	r.write(uuid(0), reply(ago(0), "n0", 155_000, 1))
	r.write(uuid(6), reply(ago(0), "n6", 20_000, 1))
	b.until("the changes are shown", says(uuid(0), "155k")+` && (`+names+`) === 'edcbaf'`)
	b.until("the button shows the number", button+` === 'order changed, 1 new'`)
	b.press("o")
	b.until("o applies the order", `(`+names+`).startsWith('ea') && `+button+` === ''`)
	r.write(uuid(3), reply(ago(0), "n3", 160_000, 1))
	b.until("it has changed again", button+` === 'order changed'`)
	b.mouse(input.DispatchMouseEventTypeMouseMoved, point{5, 5})
	b.until("it applies without the pointer", `(`+names+`).startsWith('ed')`)
	b.press("g")
	heading := `document.querySelector('#rows .group')`
	b.do(chromedp.Evaluate[chromedp.Void](`window.heading = ` + heading))
	r.write(uuid(5), reply(ago(0), "n5", 50_000, 1))
	b.until("the heading of a group stays the same", says(uuid(5), "50k")+` && `+heading+` === window.heading`)
	b.quiet()
}

// browserReadout tests that the curve shows the figures at the pointer, and by the arrow
// keys.
func browserReadout(t *testing.T, c chromium) {
	r := someAgents(t)
	r.fire("d", uuid(3), "PostToolUse", "")
	r.write(
		uuid(3),
		boundary(ago(30*time.Second), "b3", "auto", 141_000),
		reply(ago(0), "n3", 131_000, 1),
	)
	b := c.open(t, r, "/?session=d", 1280, 1200)
	b.live()
	b.until(
		"the curve is up to date",
		`document.querySelector('.big')?.textContent.includes('131k of 200k') && document.querySelector('.plot').dataset.plot.includes('critical')`,
	)
	box := eval[map[string]float64](
		b,
		`document.querySelector('.reader').getBoundingClientRect().toJSON()`,
	)
	hover := func(share float64) string {
		t.Helper()
		for _, off := range []float64{1, 0} {
			b.mouse(input.DispatchMouseEventTypeMouseMoved, point{
				box["left"] + share*(box["width"]-2) + 1 - off,
				box["top"] + box["height"]/2,
			})
		}
		b.until("the readout is shown", `document.querySelector('.readout').checkVisibility()`)
		return eval[string](
			b,
			`[...document.querySelector('.readout').children].map(e => e.textContent).join('\n')`,
		)
	}
	for _, c := range []struct {
		share float64
		want  []string
	}{
		{0, []string{"15k tokens", "% of the way to compaction"}},
		{0.5, []string{"140k tokens"}},
		{1, []string{"131k tokens", "notice: critical at 131k"}},
	} {
		got := hover(c.share)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("at %v: got %q, want %q", c.share, got, want)
			}
		}
	}
	if cut := eval[int](
		b,
		`document.querySelector('.chart path.now').getAttribute('d').split('M').length - 1`,
	); cut != 1 {
		t.Errorf("present cycle: got %d lines", cut)
	}
	if d := eval[string](
		b,
		`document.querySelector('.chart path.earlier:not(.area)').getAttribute('d')`,
	); !strings.HasPrefix(
		d,
		"M0 ",
	) {
		t.Errorf("earlier cycles: got %q", d)
	}
	b.mouse(input.DispatchMouseEventTypeMouseMoved, point{5, 5})
	b.until(
		"without a pointer nothing is read",
		`!document.querySelector('.readout').checkVisibility()`,
	)
	b.do(chromedp.Focus(chromedp.CSS(".reader")))
	b.press(kb.Home)
	value := `document.querySelector('.reader').ariaValueText`
	if got := eval[string](b, value); !strings.HasPrefix(got, "15k tokens") {
		t.Errorf("Home: got %q", got)
	}
	b.press(kb.ArrowRight)
	if got := eval[string](b, value); !strings.HasPrefix(got, "140k tokens") {
		t.Errorf("arrow: got %q", got)
	}
	r.write(uuid(3), reply(ago(0), "n4", 132_000, 1))
	b.until("an update arrives", `document.querySelector('.big').textContent.includes('132k of 200k')`)
	if got := eval[string](
		b,
		value+` + document.activeElement.className`,
	); !strings.HasPrefix(got, "140k tokens") ||
		!strings.HasSuffix(got, "reader") {
		t.Errorf("an update moves the readout to %q", got)
	}
	b.quiet()
}
