package observer

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"sm/observer/demo"
)

// fleetAtWork returns an observer of the simulated agents of a demo.
func fleetAtWork(t *testing.T) *rig {
	r := newWatched(t)
	_, codex := demo.Dirs(r.dir)
	r.o.Clients[0].Dirs = []string{codex}
	r.o.Prices = demo.Load().Prices
	noErrors(t, os.MkdirAll(codex, 0o700))
	r.start()
	ctx, cancel := context.WithCancel(t.Context())
	player := demo.New(time.Now(), r.dir, r.o.Logger)
	var playing sync.WaitGroup
	playing.Go(func() {
		if err := player.Play(ctx, r.app); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		playing.Wait()
	})
	r.until("agents are at work", func() bool {
		n := 0
		for _, s := range r.sessions() {
			if s.IsActive && s.TokensUsed != nil {
				n++
			}
		}
		return n > 4
	})
	return r
}

// crowded returns an observer of this number of agents in a few projects, each at another
// place of its cycle.
func crowded(t testing.TB, agents int) *rig {
	r := newRig(t)
	tasks := [...]string{
		"Move the cart to the new API", "Find out why CI is slow", "Write the release notes", "Mend the flaky login test", "Rename accounts to customers",
		"Cache the search results", "Bring the docs up to date", "Split the billing job", "Review the payment form", "Load-test the gateway", "Drop the old importer",
	}
	for i := range agents {
		cwd := "/home/dev/" + [...]string{
			"shop",
			"ledger",
			"handbook",
			"web",
			"infra",
			"search",
			"mobile",
		}[i%7]
		lines := []string{prompt(
			ago(40*time.Minute),
			fmt.Sprint("p", i),
			tasks[i*5%len(tasks)],
		)}
		for k := range 24 {
			at := ago(time.Duration(24-k)*90*time.Second + time.Duration(i%17)*time.Minute)
			lines = append(
				lines,
				replyOf(
					"claude-sonnet-4-5",
					cwd,
					at,
					fmt.Sprint("m", i, "-", k),
					18_000+(1_000+i*7919%5_000)*(k+1),
					1,
				),
			)
		}
		if i%(agents/25) != 0 {
			lines = append(
				lines,
				fmt.Sprintf(
					`{"type":"system","subtype":"turn_duration","uuid":"t%d","timestamp":%q,"version":"2.1.197"}`,
					i,
					ago(time.Duration(i%17)*time.Minute),
				),
			)
		}
		r.write(uuid(i), lines...)
	}
	r.start()
	for i := range 24 {
		r.client(
			6000+i,
			uuid(i*(agents/25)),
			`,"status":"`+[...]string{"busy", "busy", "idle"}[i%3]+`"`,
		)
	}
	r.client(6100, uuid(7), `,"status":"waiting","waitingFor":"dialog open"`)
	r.until("the clients are known", func() bool {
		return r.session(uuid(7)).State == "waiting" &&
			r.session(uuid(23*(agents/25))).State == "idle"
	})
	return r
}

// TestScreenshots writes the pictures of the README to the folder SM_SCREENSHOTS.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SM_SCREENSHOTS")
	if dir == "" {
		t.Skip("SM_SCREENSHOTS is not set; see make screenshots")
	}
	noErrors(t, os.MkdirAll(dir, 0o755))
	c := startChromium(t)
	fleet := fleetAtWork(t)
	fleet.picture(t, c, dir, "light", "/", 800, "")
	fleet.picture(t, c, dir, "session", "/?session="+fleet.sessions()[0].ID, 1100, `const box = document.querySelector('.reader').getBoundingClientRect();
		document.querySelector('.reader').dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: box.left + .88 * box.width}))`)
	crowded(t, 500).picture(
		t,
		c,
		dir,
		"crowd",
		"/?group=project",
		800,
		`document.querySelector('#dense').click()`,
	)
}

// picture opens the page, runs a script, and writes a screenshot.
func (r *rig) picture(
	t *testing.T,
	c chromium,
	dir, name, path string,
	height int64,
	script string,
) {
	t.Helper()
	b := c.open(t, r, path, 1280, height)
	b.live()
	b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
		`{ document.documentElement.dataset.theme = "light"; %s }`,
		script,
	)))
	b.quiet()
	picture := b.screenshot()
	palette, nearest := paletteOf([]image.Image{picture}, 256)
	small := image.NewPaletted(picture.Bounds(), palette)
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			small.SetColorIndex(x, y, nearest(picture.At(x, y)))
		}
	}
	var out bytes.Buffer
	noErrors(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small))
	noErrors(t, os.WriteFile(filepath.Join(dir, name+".png"), out.Bytes(), 0o644))
	if out.Len() > 150_000 {
		t.Errorf("%s.png has %d bytes; the limit is 150 kB", name, out.Len())
	}
}

// screenshot returns what the browser shows.
func (b *browser) screenshot() image.Image {
	b.t.Helper()
	file, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	noErrors(b.t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	noErrors(b.t, err)
	return picture
}
