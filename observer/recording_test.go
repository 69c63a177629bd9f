package observer

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/gif"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// recording records the animation of the README: a demo in a terminal, and its page.
type recording struct {
	*browser
	tmux        string                 // the socket
	page        atomic.Pointer[string] // the terminal as HTML
	environment []string               // of the shell
	frames      []image.Image
	delays      []int // hundredths of a second
}

const (
	recordedWidth  = 1040
	recordedHeight = 620
)

// TestRecording writes the animation of the README to the folder SM_SCREENSHOTS. It runs ../bin/sm.
func TestRecording(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("SM_SCREENSHOTS")
	if dir == "" {
		t.Skip("SM_SCREENSHOTS is not set; see make screenshots")
	}
	r := newRecording(t)
	address := r.types("sm observe --demo", `http://\S+`)
	r.terminal(200)
	r.shell("new-window")
	r.types("sm status", `^\$$`)
	r.terminal(400)
	r.types("sm top", `sm top .*imminent`)
	r.seconds(5, r.terminal)

	r.do(chromedp.Navigate(address))
	r.base = strings.TrimSuffix(address, "/")
	r.live()
	r.seconds(5, r.keep)
	r.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('#rows a')[1].click()`))
	r.until("the detail", `document.querySelector('.chart') !== null`)
	r.seconds(4, r.keep)
	r.delays[len(r.delays)-1] = 300

	var out bytes.Buffer
	noErrors(t, gif.EncodeAll(&out, animate(r.frames, r.delays)))
	noErrors(t, os.WriteFile(filepath.Join(dir, "recording.gif"), out.Bytes(), 0o644))
	if out.Len() > 500_000 {
		t.Errorf("the recording has %d bytes; the limit is 500 kB", out.Len())
	}
}

// newRecording starts a shell with its own home in tmux, and a browser.
func newRecording(t *testing.T) *recording {
	t.Helper()
	bin, err := filepath.Abs("../bin")
	noErrors(t, err)
	_, err = exec.LookPath(filepath.Join(bin, "sm"))
	needs(t, "bin/sm (make build)", err == nil)
	home, err := os.MkdirTemp("/tmp", "smrec")
	noErrors(t, err)
	ctx, end := chromedp.NewContext(startChromium(t).ctx, chromedp.WithNewBrowserContext())
	r := &recording{browser: &browser{t: t, ctx: ctx}, tmux: filepath.Join(home, "tmux")}
	t.Cleanup(func() {
		end()
		_ = exec.Command("tmux", "-S", r.tmux, "kill-server").Run()
		_ = os.RemoveAll(home)
	})
	noErrors(t, chromedp.Do(ctx, chromedp.EmulateViewport(recordedWidth, recordedHeight)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, *r.page.Load())
	}))
	t.Cleanup(server.Close)
	r.base = server.URL
	r.environment = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "PS1=$ "}
	r.shell("-f", "/dev/null", "new-session", "-d", "-x", "112", "-y", "32", ";", "set", "-g", "status", "off", ";", "new-window")
	return r
}

// shell runs a tmux command that starts a shell.
func (r *recording) shell(args ...string) {
	r.sh(append(append(args, "env", "-i"), append(r.environment, "sh")...)...)
	r.line(`^\$`)
}

func (r *recording) sh(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", r.tmux}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// line waits for a pattern on the screen and returns what matches.
func (r *recording) line(pattern string) (found string) {
	r.t.Helper()
	for end := time.Now().Add(patience); found == ""; time.Sleep(20 * time.Millisecond) {
		screen := r.sh("capture-pane", "-p")
		if time.Now().After(end) {
			r.t.Fatalf("no %s in\n%s", pattern, screen)
		}
		found = regexp.MustCompile("(?m)" + pattern).FindString(screen)
	}
	return found
}

// seconds keeps a frame each second.
func (r *recording) seconds(n int, frame func(delay int)) {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for range n {
		frame(100)
		<-second.C
	}
}

// types types a command, three characters a frame, and starts it. It waits for a pattern of
// the output and returns what matches.
func (r *recording) types(command, pattern string) string {
	r.t.Helper()
	for part := range slices.Chunk([]byte(command), 3) {
		r.sh("send-keys", "-l", "--", string(part))
		r.line(regexp.QuoteMeta(strings.TrimSpace(string(part))))
		r.terminal(15)
	}
	r.sh("send-keys", "Enter")
	return r.line(pattern)
}

// terminal keeps the screen of the terminal as a frame.
func (r *recording) terminal(delay int) {
	r.t.Helper()
	text := html.EscapeString(strings.TrimRight(r.sh("capture-pane", "-p", "-e"), "\n"))
	open := ""
	sgr := regexp.MustCompile(`\x1b\[([0-9;]*)m`)
	text = sgr.ReplaceAllStringFunc(text, func(s string) string {
		before := open
		open = "</span>"
		return before + `<span class="c` + strings.ReplaceAll(sgr.FindStringSubmatch(s)[1], ";", " c") + `">`
	})
	page := `<!doctype html><meta charset="utf-8"><style>body{margin:18px 20px;background:#16181d;color:#d8dae0;font:15px/18px "DejaVu Sans Mono",monospace}pre{font:inherit;margin:0}
		.c1{font-weight:700}.c2{opacity:.6}.c7{background:#3a3f4b}.c31{color:#f4736b}.c32{color:#5fbf8a}.c33{color:#e0b84a}.c35{color:#c48be0}
		.c36{color:#5fb8d0}.c38.c208{color:#f29a4a}</style><pre>` + text + `</pre>`
	r.page.Store(&page)
	r.do(chromedp.Navigate(r.base))
	r.keep(delay)
}

// keep keeps a screenshot of the browser as a frame.
func (r *recording) keep(delay int) {
	r.frames = append(r.frames, r.screenshot())
	r.delays = append(r.delays, delay)
}

// animate returns an animation. Each frame is the rectangle that differs from the previous
// frame, with equal pixels transparent.
func animate(frames []image.Image, delays []int) *gif.GIF {
	palette, nearest := paletteOf(frames, 255)
	same := uint8(len(palette))
	palette = append(palette, color.Transparent)
	g := &gif.GIF{Delay: delays}
	for i, frame := range frames {
		size := frame.Bounds()
		changed := image.Rectangle{}
		p := image.NewPaletted(size, palette)
		for y := range size.Dy() {
			for x := range size.Dx() {
				c := frame.At(x, y)
				if i > 0 && c == frames[i-1].At(x, y) {
					p.SetColorIndex(x, y, same)
					continue
				}
				p.SetColorIndex(x, y, nearest(c))
				changed = changed.Union(image.Rect(x, y, x+1, y+1))
			}
		}
		if changed.Empty() {
			changed = image.Rect(0, 0, 1, 1)
		}
		g.Image = append(g.Image, p.SubImage(changed).(*image.Paletted))
	}
	return g
}

// paletteOf returns the most frequent colours of pictures, one of each group of similar
// colours, and a function that returns the index of the colour nearest to another.
func paletteOf(pictures []image.Image, most int) (color.Palette, func(color.Color) uint8) {
	exact := map[color.RGBA]int{}
	for _, p := range pictures {
		size := p.Bounds()
		for y := range size.Dy() {
			for x := range size.Dx() {
				exact[color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)]++
			}
		}
	}
	byCount := func(a, b color.RGBA) int {
		return cmp.Or(exact[b]-exact[a], strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	}
	palette := color.Palette{}
	similar := map[color.RGBA]bool{}
	for _, c := range slices.SortedFunc(maps.Keys(exact), byCount) {
		rough := color.RGBA{c.R &^ 15, c.G &^ 15, c.B &^ 15, 255}
		if len(palette) < most && !similar[rough] {
			palette = append(palette, c)
			similar[rough] = true
		}
	}
	known := map[color.Color]uint8{}
	return palette, func(c color.Color) uint8 {
		i, ok := known[c]
		if !ok {
			i = uint8(palette.Index(c))
			known[c] = i
		}
		return i
	}
}
