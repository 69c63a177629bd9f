package observer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	webpage "sm/dashboards/page"
)

// received makes a page keep the data of the last event in window.received.
const received = `{
	const add = EventSource.prototype.addEventListener;
	EventSource.prototype.addEventListener = function (name, f) {
		return add.call(this, name, (event) => { f(event); window.received = event.data; });
	};
}`

// before loads the page again with a script that runs before its own.
func (b *browser) before(script string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{
		Source: script,
	})
	noErrors(b.t, err)
	b.do(chromedp.Reload())
}

// A point is a place in the window of a browser.
type point struct{ x, y float64 }

// middle returns the middle of an element.
func (b *browser) middle(selector string) point {
	b.t.Helper()
	at := eval[map[string]float64](
		b,
		fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().toJSON()`, selector),
	)
	return point{at["left"] + at["width"]/2, at["top"] + at["height"]/2}
}

// mouse sends one event of the left button.
func (b *browser) mouse(kind input.DispatchMouseEventType, at point) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type:       kind,
		X:          at.x,
		Y:          at.y,
		Button:     input.MouseButtonLeft,
		ClickCount: 1,
	})
	noErrors(b.t, err)
}

func browserClicksDuringUpdates(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 1600)
	b.before(received)
	b.live()

	for i, c := range []struct {
		name, selector, search string
		agent                  string
		tokens                 int
	}{
		{
			"chip whose count changes",
			`.chip[data-pressure="calm"]`,
			"?pressure=calm",
			uuid(0),
			120_000,
		},
		{"the same chip again", `.chip[data-pressure="calm"]`, "", uuid(0), 21_000},
		{
			"row that moves to the top",
			"#" + webpage.Key(uuid(1)) + " .c-context",
			"?session=" + uuid(1),
			uuid(1),
			159_000,
		},
		{
			"row that moves down",
			"#" + webpage.Key(uuid(1)) + " .c-pressure",
			"",
			uuid(1),
			86_000,
		},
	} {
		b.until(c.name+": the layout is stable", fmt.Sprintf(`(() => {
			const was = window.lastTop;
			window.lastTop = document.querySelector(%q).getBoundingClientRect().top;
			return window.lastTop === was;
		})()`, c.selector))
		at := b.middle(c.selector)
		b.mouse(input.DispatchMouseEventTypeMousePressed, at)
		r.write(c.agent, reply(ago(0), fmt.Sprint("n", i), c.tokens, 1))
		text := fmt.Sprintf("%dk", c.tokens/1000)
		b.until(
			c.name+": the update arrives",
			fmt.Sprintf(`window.received.includes(%q)`, text),
		)
		b.until(
			c.name+": a few frames pass",
			`(window.drawn = (window.drawn ?? 0) + 1) % 5 === 0`,
		)
		b.mouse(input.DispatchMouseEventTypeMouseReleased, at)
		if got := eval[string](b, `location.search`); got != c.search {
			t.Errorf("%s: got address %q, want %q", c.name, got, c.search)
		}
		if strings.HasPrefix(c.search, "?session=") {
			b.until(
				c.name+": the detail is open",
				`document.querySelector('#detail .big') !== null`,
			)
		}
		if c.search != "?pressure=calm" {
			b.until(c.name+": the update is drawn", says(c.agent, text))
		}
	}
	b.quiet()
}
