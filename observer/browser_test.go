package observer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is one page and its console's complaints.
type browser struct {
	t    testing.TB
	ctx  context.Context
	base string

	mu         sync.Mutex
	complaints []string
}

// chromium is one headless Chromium for several tests.
type chromium struct{ ctx context.Context }

func startChromium(t *testing.T) chromium {
	t.Helper()
	binary, err := exec.LookPath("chromium")
	needs(t, "the program chromium (Debian's package chromium)", err == nil)
	dir, err := os.MkdirTemp("/tmp", "smchrome")
	noErrors(t, err)

	ctx, end := chromedp.NewExecAllocator(
		context.Background(),
		chromedp.ExecPath(binary),
		chromedp.UserDataDir(dir),
		chromedp.NoFirstRun,
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Headless,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(patience),
	)
	ctx, endTab := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has ended
		endTab()
		end()
		_ = os.RemoveAll(dir)
	})
	noErrors(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return chromium{ctx}
}

// open opens the page of an observer in a new window of a size in pixels.
func (c chromium) open(t *testing.T, r *rig, path string, width, height int64) *browser {
	t.Helper()
	ctx, end := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &browser{t: t, ctx: ctx, base: "http://" + r.tcp().String()}
	noErrors(t, chromedp.Listen(ctx, b.listen))
	_, err := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	noErrors(t, err)
	b.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(b.base+path))
	return b
}

// TestBrowser tests the page in Chromium.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	c := startChromium(t)
	for name, test := range map[string]func(*testing.T, chromium){
		"address":               browserAddress,
		"bell":                  browserBell,
		"clicks during updates": browserClicksDuringUpdates,
		"empty":                 browserEmpty,
		"gone":                  browserGone,
		"held order":            browserHeldOrder,
		"hostile":               browserHostile,
		"keyboard":              browserKeyboard,
		"names":                 browserNames,
		"narrow":                browserNarrow,
		"readout":               browserReadout,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// listen records errors and warnings of the console, including violations of the policy.
func (b *browser) listen(event any) {
	text := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if level := fmt.Sprint(e.Entry.Level); level == "error" || level == "warning" {
			text = fmt.Sprint(e.Entry.Source, ": ", e.Entry.Text, " ", e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text = fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		text = fmt.Sprint("console.", e.Type)
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.complaints = append(b.complaints, text)
	}
}

// quiet fails the test if the console has complaints.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.complaints {
		b.t.Errorf("console: %s", c)
	}
	b.complaints = nil
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	noErrors(b.t, chromedp.Do(ctx, actions...))
}

// eval returns the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
		if err == nil {
			return v
		}
		if !pageReplaced(err) || ctx.Err() != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// until waits until an expression holds; it is evaluated in each frame. If a page that is
// loaded replaces the present one, the new one is used.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(
			ctx,
			chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(patience)),
		)
		if err == nil {
			return
		}
		if pageReplaced(err) && ctx.Err() == nil {
			continue
		}
		text, _ := chromedp.Run(
			b.ctx,
			chromedp.Evaluate[string](`document.body.innerText.slice(0, 2000)`),
		)
		b.t.Fatalf(
			"waited in vain: %s: %v\n%s\n%s",
			what,
			err,
			strings.Join(b.complaints, "\n"),
			text,
		)
	}
}

// pageReplaced reports whether an evaluation failed because its page was left. The words are
// Chromium's (V8's inspector, error -32000); its protocol has no code for it.
func pageReplaced(err error) bool {
	text := err.Error()
	return strings.Contains(text, "Cannot find context with specified id") ||
		strings.Contains(text, "Execution context was destroyed") ||
		strings.Contains(text, "Inspected target navigated or closed")
}

// press presses keys one after another. A letter that the page handles is not typed too, as
// with a keyboard; the library would send it.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		if len(key) != 1 || key < " " {
			b.do(chromedp.KeyEvent(key))
			continue
		}
		for _, p := range []input.DispatchKeyEventParams{
			{
				Type: input.DispatchKeyEventTypeKeyDown,
				Key:  key,
				Text: key,
			}, {
				Type: input.DispatchKeyEventTypeKeyUp,
				Key:  key,
			},
		} {
			_, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, p)
			noErrors(b.t, err)
		}
	}
}

// live waits until the page has its event stream.
func (b *browser) live() {
	b.t.Helper()
	b.until("the page is live", `document.querySelector('#live.on') !== null`)
}
