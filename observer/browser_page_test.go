package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	webpage "sm/dashboards/page"
)

// rowOf returns an expression for the row of an agent.
func rowOf(agent string) string {
	return fmt.Sprintf(`document.getElementById(%q)`, webpage.Key(agent))
}

// says returns an expression that holds if the row of an agent shows a text.
func says(agent, text string) string {
	return fmt.Sprintf(`%s?.textContent.includes(%q)`, rowOf(agent), text)
}

// fitsWidth fails the test if the page scrolls sideways.
func (b *browser) fitsWidth(where string) {
	b.t.Helper()
	if wide := eval[[]int](
		b,
		`[document.documentElement.scrollWidth, innerWidth]`,
	); wide[0] > wide[1] {
		b.t.Errorf("%s: the page is %d pixels wide, the window %d", where, wide[0], wide[1])
	}
}

// someAgents returns an observer of a few agents of all levels, called a to f.
func someAgents(t *testing.T) *rig {
	r := newRig(t)
	for i, tokens := range []int{20_000, 85_000, 105_000, 140_000, 30_000} {
		r.write(uuid(i), prompt(
			ago(3*time.Minute),
			fmt.Sprint("p", i),
			"go on",
		), reply(
			ago(2*time.Minute),
			fmt.Sprint("l", i),
			15_000,
			1,
		),
			reply(ago(time.Minute), fmt.Sprint("m", i), tokens, 1))
	}
	r.write(
		uuid(5),
		reply(ago(2*time.Minute), "m5", 150_000, 1),
		boundary(ago(time.Minute), "b5", "auto", 151_000),
	)
	r.start()
	for i := range 6 {
		r.joins(uuid(i), fmt.Sprintf(`,"name":%q`, string(rune('a'+i))))
	}
	r.client(4711, uuid(4), `,"status":"waiting","waitingFor":"permission prompt"`)
	r.until(
		"the client is known",
		func() bool { return r.session(uuid(4)).State == "waiting" },
	)
	return r
}

// names is an expression for the names of the visible rows, in order.
const names = `[...document.querySelectorAll('#rows > tr:not([hidden]) a')].map(a => a.textContent).join('')`

// focused is an expression for the focused element.
const focused = `(e => e.closest('#rows tr') ? e.textContent : e.id || e.dataset.sort || e.dataset.pressure || e.tagName)(document.activeElement)`

// browserKeyboard tests that everything works without a mouse.
func browserKeyboard(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 800)
	b.live()
	step := func(what, expression string, want any) {
		t.Helper()
		if got := eval[any](b, expression); !cmp.Equal(want, got) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	step("at first", names, "edcbaf")
	b.press("j")
	step("j goes to the first", focused, "e")
	b.press("j", "j")
	step("j goes down", focused, "c")
	step(
		"and shows where it is",
		`getComputedStyle(document.activeElement.closest('tr')).outlineStyle`,
		"solid",
	)
	b.press("k")
	step("k goes up", focused, "d")
	b.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp, kb.End)
	step("the arrows and End", focused, "f")
	b.press(kb.Home, kb.ArrowDown)
	step("Home", focused, "d")
	b.do(chromedp.Evaluate[chromedp.Void](`getSelection().selectAllChildren(document.querySelector('footer')), window.same = true`))
	b.press(kb.Enter)
	b.until(
		"the agent is shown",
		`!document.querySelector('#detail').hidden && document.querySelector('#detail h2').textContent.endsWith('d')`,
	)
	step("in the same page, for any selection", `window.same`, true)
	step("in the address, too", `new URL(location).searchParams.get('session')`, uuid(3))
	step("the row shows it", `document.querySelector('#rows tr.open a').innerText`, "d")
	step("the focus is in it", focused, "who")
	b.press("k", kb.Tab)
	step("Tab goes from the row to it", `document.activeElement.className`, "close")
	b.do(chromedp.Click(chromedp.CSS("#" + webpage.Key(uuid(1)))))
	b.until(
		"another row takes its place",
		`document.querySelector('#detail h2').textContent.endsWith('b') && document.querySelector('#detail .big') !== null`,
	)
	b.do(chromedp.NavigateBack())
	b.until("back shows the first again", `document.querySelector('#detail h2').textContent.endsWith('d')`)
	b.press(kb.Escape)
	b.until(
		"it is closed",
		`document.querySelector('#detail').hidden && location.search === ''`,
	)
	step("and the focus is where it was", focused, "d")
	b.do(chromedp.NavigateBack())
	b.until(
		"back opens it again",
		`!document.querySelector('#detail').hidden && location.search !== ''`,
	)
	b.do(chromedp.NavigateForward())
	b.until(
		"and forward closes it",
		`document.querySelector('#detail').hidden && location.search === ''`,
	)

	b.press("/")
	step("/ goes to the filter", focused, "find")
	b.press("w", "e", "b")
	step("all are of one project", names, "edcbaf")
	b.press(" ", "w", "a", "i", "t")
	step("the waiting ones", names, "e")
	step("is counted", `document.querySelector('#shown').textContent`, "1 of 6 agents shown")
	b.press("z")
	step("no agent matches", `document.querySelector('#none').hidden`, false)
	b.press(kb.Escape)
	step("Escape clears the filter", names, "edcbaf")
	b.press(kb.Escape)
	step("and then leaves it for the row that was there last", focused, "e")

	b.do(chromedp.Focus(chromedp.CSS(`[data-sort="name"]`)))
	b.press(kb.Enter)
	step("by name", names, "abcdef")
	step(
		"announced",
		`document.querySelector('[aria-sort]').textContent + document.querySelector('[aria-sort]').ariaSort`,
		"Agentascending",
	)
	b.press(kb.Enter)
	step("and back", names, "fedcba")
	b.press(kb.Tab)
	step("Tab continues", focused, "order")
	b.press(kb.Enter)
	step("by need", names, "edcbaf")

	b.do(chromedp.Focus(chromedp.CSS(`.chip[data-pressure="calm"]`)))
	b.press(kb.Enter)
	step("one pressure", names, "ba")
	step(
		"is pressed",
		`document.querySelector('.chip[data-pressure="calm"]').getAttribute('aria-pressed')`,
		"true",
	)
	r.write(uuid(0), reply(ago(0), "n0", 21_000, 1))
	b.until(
		"an update keeps the filter",
		says(uuid(0), "21k")+` && (`+names+`) === 'ba'`,
	)
	step("and the focus", focused, "calm")
	b.press(kb.Enter)
	step("and all again", names, "edcbaf")

	// Tab reaches one row, the arrows the others.
	step(
		"one stop for all rows",
		`document.querySelectorAll('#rows a[tabindex="0"]').length`,
		float64(1),
	)
	b.press("j")
	at := eval[string](b, focused)
	r.write(uuid(2), reply(ago(0), "n2", 106_000, 1))
	b.until("a row changes", says(uuid(2), "106k"))
	step("and the focus stays", focused, at)

	step("as the system", `document.documentElement.dataset.theme || ''`, "")
	b.press("t")
	step("light", `document.documentElement.dataset.theme`, "light")
	b.press("t")
	step("dark", `getComputedStyle(document.documentElement).colorScheme`, "dark")
	b.do(chromedp.Reload())
	b.live()
	step("kept", `document.documentElement.dataset.theme`, "dark")
	b.quiet()
}

// browserBell tests a notification of each agent that begins to wait, if the user has enabled
// them.
func browserBell(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 800)
	b.before(`window.notes = [];
		window.Notification = class {
			static permission = localStorage.allowed || 'default';
			static async requestPermission() { this.permission = localStorage.allowed = 'granted'; }
			constructor(title) { notes.push(title); window.note = this; }
			close() { this.closed = true; }
		}`)
	b.live()
	bell := `document.querySelector('#bell')`
	b.do(chromedp.Click(chromedp.CSS("#bell")))
	b.until("it is on", bell+`.ariaPressed === 'true'`)
	b.do(chromedp.Reload())
	b.live()
	r.client(4712, uuid(0), `,"status":"waiting","waitingFor":"permission: Bash"`)
	b.until("an agent begins to wait", `notes.join() === 'web: a waits: permission: Bash'`)
	b.do(chromedp.Evaluate[chromedp.Void](`note.onclick(), note.closed = false`))
	b.until("a click opens it", `document.querySelector('#detail h2').textContent.endsWith('a')`)
	r.write(uuid(2), reply(ago(0), "n2", 106_000, 1))
	b.until("an update does not repeat a notification", says(uuid(2), "63%")+` && notes.length === 1`)
	r.o.Listen = []string{r.tcp().String()}
	r.stop()
	b.until("the observer is gone", `!document.querySelector('#gone').hidden`)
	b.mu.Lock()
	b.complaints = nil // about refused connections
	b.mu.Unlock()
	r.start()
	b.live()
	b.until("it waits still", rowOf(uuid(0))+`?.matches('.s-waiting') && `+rowOf(uuid(4))+`?.matches('.s-waiting')`)
	r.client(4712, uuid(0), `,"status":"busy"`)
	b.until("when it continues, the notification ends", `notes.length === 1 && note.closed`)
	r.client(4712, uuid(0), `,"status":"waiting","waitingFor":"a plan"`)
	b.until("it waits again", `notes[1] === 'web: a waits: a plan'`)
	b.do(chromedp.Evaluate[chromedp.Void](`localStorage.allowed = 'denied'`), chromedp.Reload())
	b.until("denied, it explains", bell+`.title.includes('allow them in the settings')`)
	b.quiet()
}

// browserGone tests that the page shows that its observer is down, and connects to the next
// one.
func browserGone(t *testing.T, c chromium) {
	r := someAgents(t)
	b := c.open(t, r, "/", 1280, 800)
	b.live()
	r.o.Listen = []string{r.tcp().String()}
	r.stop()
	b.until(
		"it is shown",
		`!document.querySelector('#gone').hidden && document.querySelector('#live').textContent.includes('not live')`,
	)
	if text := eval[string](
		b,
		`document.querySelector('#gone').textContent`,
	); !strings.Contains(
		text,
		"The observer is gone. Its last answer was at ",
	) {
		t.Errorf("got %q", text)
	}
	if title := eval[string](b, `document.title`); title != "sm – not live" {
		t.Errorf("got title %q", title)
	}
	if n := eval[int](b, `document.querySelectorAll('#rows tr').length`); n != 6 {
		t.Errorf("got %d rows", n)
	}
	b.mu.Lock()
	b.complaints = nil // about refused connections
	b.mu.Unlock()
	r.write(uuid(0), reply(ago(0), "n0", 133_000, 1))
	r.start()
	b.until(
		"it is live again",
		`document.querySelector('#gone').hidden && document.querySelector('#live.on') !== null`,
	)
	b.until("and up to date", says(uuid(0), "133k"))
}

// browserEmpty tests that without agents the page shows the next step, and the first agent
// when it appears.
func browserEmpty(t *testing.T, c chromium) {
	r := newRig(t).start()
	b := c.open(t, r, "/", 1280, 800)
	b.live()
	if text := eval[string](
		b,
		`document.querySelector('.empty').innerText`,
	); !strings.Contains(text, "Start claude in any folder") ||
		!strings.Contains(text, r.projects) {
		t.Errorf("got %s", text)
	}
	if shown := eval[bool](b, `document.querySelector('#agents').checkVisibility()`); shown {
		t.Error("got an empty table")
	}
	if text := eval[string](
		b,
		`document.querySelector('.empty').innerText`,
	); !strings.Contains(
		text,
		"sm observe --demo",
	) {
		t.Errorf("the demo is missing: %s", text)
	}
	r.write(uuid(1), reply(ago(0), "m1", 50_000, 1))
	b.until(
		"the first one",
		says(
			uuid(1),
			"50k",
		)+` && document.querySelector('.empty') === null && document.querySelector('#agents').checkVisibility()`,
	)
	b.do(chromedp.Click(chromedp.CSS("#rows tr a")))
	const offers = `(shown => (e => e && e.checkVisibility() === shown)(document.querySelector('[data-copy^="sm send"]')) &&
		document.querySelector('.unreached').checkVisibility() === shown)`
	b.until("nothing is offered while only watching", offers+`(false)`)
	r.fire("other", uuid(2), "SessionStart", `,"source":"startup"`)
	b.until("a message is offered, and why it gets no notices", offers+`(true)`)
	b.quiet()
}

// browserHostile tests that texts of transcripts stay texts.
func browserHostile(t *testing.T, c chromium) {
	r := newRig(t)
	cwd := `/home/dev/<script>pwned=1</script>`
	r.write(
		uuid(1),
		replyOf(`<img src=x onerror=pwned=2>`, cwd, ago(time.Minute), "m1", 50_000, 1),
	)
	r.write(
		uuid(2),
		replyOf(
			"m",
			`/x/`+strings.Repeat("very-long-", 400),
			ago(time.Minute),
			"m2",
			60_000,
			1,
		),
	)
	r.write(
		uuid(3),
		replyOf("\u202egpj.exe", "/x/\u2066\u200b", ago(time.Minute), "m3", 70_000, 1),
	)
	r.start()
	r.client(
		4711,
		uuid(1),
		`,"status":"waiting","waitingFor":"<b onmouseover=pwned=3>now</b>","name":"</a><script>pwned=4</script>"`,
	)
	r.client(
		4712,
		uuid(2),
		fmt.Sprintf(`,"status":"busy","name":%q`, strings.Repeat("W", 4000)),
	)
	r.until(
		"the clients are known",
		func() bool {
			return r.session(uuid(2)).State == "busy" &&
				r.session(uuid(1)).State == "waiting"
		},
	)
	b := c.open(t, r, "/", 500, 844)
	for _, path := range []string{
		"/",
		"/?session=" + uuid(1),
		"/?session=" + uuid(2),
		`/?session=%22%3E%3Cscript%3Epwned%3D5%3C%2Fscript%3E`,
	} {
		b.do(chromedp.Navigate(b.base + path))
		b.live()
		b.until("names show", says(uuid(1), "pwned=4"))
		r.write(
			uuid(3),
			replyOf(
				"m",
				"/x/<svg onload=pwned=6>",
				ago(0),
				fmt.Sprint("n", time.Now().UnixNano()),
				71_000,
				1,
			),
		)
		b.until("an update arrives", says(uuid(3), "71k"))
		if got := eval[string](
			b,
			`typeof pwned + document.querySelectorAll('#rows script, #rows img, #rows b[onmouseover], #detail script').length`,
		); got != "undefined0" {
			t.Errorf("%s: %s", path, got)
		}
		b.fitsWidth(path)
		b.quiet()
	}
}
