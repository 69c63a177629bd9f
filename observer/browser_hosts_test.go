package observer

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	promserver "sm/dashboards/central"
	webpage "sm/dashboards/page"
)

// madeUpServer is a central server with agents of three hosts; two hosts use the same names.
func madeUpServer(t *testing.T) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := "vector"
		result := []string{}
		add := func(labels string, value any) {
			result = append(result, fmt.Sprintf(`{"metric":{%s},"value":[1,"%v"]}`, labels, value))
		}
		now := time.Now().Truncate(time.Minute).Unix()
		query := r.FormValue("query")
		for i, agent := range []string{"one/a", "one/b", "two/a", "three.example/c"} {
			host, name, _ := strings.Cut(agent, "/")
			labels := fmt.Sprintf(`"host":%q,"instance":"127.0.0.1:8420","session":%q`, host, name)
			tokens := 40_000 * (i + 1)
			switch {
			case strings.HasSuffix(r.URL.Path, "/query_range"):
				kind = "matrix"
				result = append(
					result,
					fmt.Sprintf(
						`{"metric":{%s},"values":[[%d,"%f"],[%d,"%f"]]}`,
						labels,
						now-600,
						float64(tokens)/400_000,
						now,
						float64(tokens)/200_000,
					),
				)
			case strings.HasPrefix(query, "up{"):
			default:
				metric := func(name string) string { return `"__name__":"agent_session_` + name + `",` + labels }
				add(
					metric("info")+`,"project":"web","client":"`+[]string{
						"claude",
						"codex",
						"claude",
						"claude",
					}[i]+`","model":"claude-sonnet-4-5","session_id":"`+uuid(i)+`"`,
					1,
				)
				add(metric("context_tokens"), tokens)
				add(metric("context_window_tokens"), 200_000)
				add(metric("compaction_threshold_tokens")+`,"source":"seen"`, 167_000)
				add(metric("state")+`,"state":"`+[]string{"busy", "waiting", "idle", "busy"}[i]+`"`, 1)
				add(metric("active"), 1)
				add(metric("last_activity_timestamp_seconds"), now)
			}
		}
		_, _ = fmt.Fprintf(
			w,
			`{"status":"success","data":{"resultType":%q,"result":[%s]}}`,
			kind,
			strings.Join(result, ","),
		)
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// browserHosts: the view of all hosts has their column, which sorts and is found by the filter; it keeps to itself while
// one opens and closes agents, and leads back to this machine's own.
func browserHosts(t *testing.T, c chromium) {
	r := newRig(t)
	r.servers = []webpage.Server{{Name: "main", Options: promserver.Options{URL: madeUpServer(t)}}}
	r.write(uuid(9), reply(ago(time.Minute), "m1", 50_000, 1))
	r.start()
	b := c.open(t, r, "/?prometheus=1", 1280, 800)
	b.live()
	rows := `[...document.querySelectorAll('#rows > tr[id]')].map(tr => tr.querySelector('.c-host').textContent + '/' + tr.querySelector('a').textContent).join(' ')`
	want := func(what, search, shown string) {
		t.Helper()
		b.until(what, fmt.Sprintf(`(location.search + ' ' + %s) === %q`, rows, search+" "+shown))
	}
	const all = "one/b three.example/c one/a two/a"
	want("at first", "?prometheus=main", all)
	b.do(chromedp.Click(chromedp.CSS(`[data-client="codex"]`)))
	want("of one client", "?prometheus=main&client=codex", "one/b")
	b.do(chromedp.Click(chromedp.CSS(`[data-client="codex"]`)))
	want("of all clients again", "?prometheus=main", all)
	b.do(chromedp.Click(chromedp.CSS(`[data-sort="host"]`)))
	want("by host", "?prometheus=main&sort=host", "one/b one/a three.example/c two/a")
	b.press("/", "t", "h", "r", "e", "e")
	want("of one host", "?prometheus=main&find=three&sort=host", "three.example/c")
	b.press(kb.Enter, kb.Enter)
	b.until(
		"opened",
		`!document.querySelector('#detail').hidden && document.querySelector('#detail h2').textContent.includes('c')`,
	)
	want("opened", "?prometheus=main&session=three.example%2Fc&find=three&sort=host", "three.example/c")
	if text := eval[string](
		b,
		`document.querySelector('#detail dl').textContent`,
	); !strings.Contains(
		text,
		"Hostthree.example",
	) {
		t.Errorf("about it stands %s", text)
	}
	if dir := os.Getenv("SM_SCREENSHOTS_HOSTS"); dir != "" {
		b.keep(t, dir, "hosts-detail")
	}
	b.do(chromedp.Reload())
	b.live()
	want("loaded anew", "?prometheus=main&session=three.example%2Fc&find=three&sort=host", "three.example/c")
	b.do(chromedp.Click(chromedp.CSS(`#detail .close`)))
	b.press(kb.Escape)
	want("closed", "?prometheus=main&sort=host", "one/b one/a three.example/c two/a")
	b.do(chromedp.EmulateViewport(390, 844))
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("%d pixels are needed on a screen of 390", wide)
	}
	if dir := os.Getenv("SM_SCREENSHOTS_HOSTS"); dir != "" {
		b.keep(t, dir, "hosts-narrow")
	}
	b.do(chromedp.EmulateViewport(1280, 800))
	if dir := os.Getenv("SM_SCREENSHOTS_HOSTS"); dir != "" {
		b.keep(t, dir, "hosts")
	}
	b.do(chromedp.Click(chromedp.CSS(`.views a:not([aria-current])`)))
	b.live()
	b.until("this machine's own", fmt.Sprintf(`(location.search + ' ' + %s) === %q`,
		strings.ReplaceAll(
			rows,
			`tr.querySelector('.c-host').textContent`,
			`tr.querySelectorAll('.c-host').length`,
		), " 0/"+uuid(9)[:8]))
	b.quiet()
	r.stop()
}
