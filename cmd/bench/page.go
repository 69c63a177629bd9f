package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/chromedp/chromedp"

	webpage "sm/dashboards/page"
)

const (
	// pageSessions is how many agents the page shows.
	pageSessions = 500
	// pageAppends is how many readings are waited for.
	pageAppends = 50
)

// page measures what somebody sees who looks at the page in a browser: how soon it is
// there, how soon a reading shows, and what it costs to have it open.
func (b *bench) page(ctx context.Context) error {
	binary, err := exec.LookPath("chromium")
	if err != nil {
		fmt.Fprintln(b.out, "no chromium here: left out")
		return nil
	}
	dir, state, err := b.place("page")
	if err != nil {
		return err
	}
	paths, err := b.crowd(filepath.Join(dir, "projects"), pageSessions, pageSessions)
	if err != nil {
		return err
	}
	o, err := b.observeTCP(ctx, filepath.Join(dir, "projects"), state)
	if err != nil {
		return err
	}
	if _, err := o.ready(ctx); err != nil {
		return err
	}
	tab, closeTab, err := openBrowser(ctx, binary, filepath.Join(dir, "browser"))
	if err == nil {
		err = errors.Join(b.pageFigures(tab, o, paths), closeTab())
	}
	return errors.Join(err, o.stop())
}

// openBrowser starts a browser with an empty profile; closing waits for its end.
func openBrowser(ctx context.Context, binary, profile string) (tab context.Context, closeTab func() error, err error) {
	allocator, end := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(binary), chromedp.UserDataDir(profile), chromedp.WindowSize(1280, 800), chromedp.NoFirstRun, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Headless, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
	)
	tab, endTab := chromedp.NewContext(allocator)
	closeTab = func() error {
		err := chromedp.Cancel(tab)
		endTab()
		end()
		return err
	}
	if err := chromedp.Do(tab); err != nil { // starts it
		return nil, nil, errors.Join(fmt.Errorf("start chromium: %w", err), closeTab())
	}
	return tab, closeTab, nil
}

func (b *bench) pageFigures(tab context.Context, o *observer, paths []string) error {
	var loads, paints []time.Duration
	for range max(5, b.runs) {
		if err := chromedp.Do(tab, chromedp.Navigate("about:blank"), chromedp.Navigate("http://"+o.address+"/")); err != nil {
			return fmt.Errorf("load the page: %w", err)
		}
		if _, err := chromedp.Run(tab, chromedp.Poll[bool](fmt.Sprintf(`document.querySelector('#agents').ariaRowCount === '%d' && !!document.querySelector('#live.on')`, pageSessions+1))); err != nil {
			return fmt.Errorf("wait for the page: %w", err)
		}
		took, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](
			`[performance.getEntriesByType('navigation')[0].loadEventEnd, performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0]`))
		if err != nil {
			return fmt.Errorf("read the page's times: %w", err)
		}
		loads, paints = append(loads, milliseconds(took[0])), append(paints, milliseconds(took[1]))
	}
	b.figure(fmt.Sprintf("page with %d agents, until it is loaded", pageSessions), median(loads).Round(time.Millisecond).String(), "1s", "–")
	b.figure("same, until something shows", median(paints).Round(time.Millisecond).String(), "", "")
	var seen []time.Duration
	for i := range pageAppends {
		start, tokens := time.Now(), 100_000+1000*i
		k := i * 7 % len(paths)
		if err := appendTo(paths[k], line(8_000_000+i, tokens)); err != nil {
			return err
		}
		shows := fmt.Sprintf(`document.getElementById('%s')?.textContent.includes('%dk of 200k')`, webpage.Key(sessionID(k)), tokens/1000)
		if _, err := chromedp.Run(tab, chromedp.Poll[bool](shows)); err != nil {
			return fmt.Errorf("wait for a reading: %w", err)
		}
		seen = append(seen, time.Since(start))
	}
	slices.Sort(seen)
	b.figure("append to seen in the page, p50", quantile(seen, 0.5).Round(time.Millisecond).String(), "1s", "–")
	b.figure("same, largest of all", seen[len(seen)-1].Round(time.Millisecond).String(), "1s", "–")
	before, passed := o.cpu(), 10*time.Second
	wait(tab, passed)
	b.figure(fmt.Sprintf("idle CPU of the observer, %d live, page open", pageSessions), fmt.Sprintf("%.2f %% of a core", 100*(o.cpu()-before).Seconds()/passed.Seconds()), "", "")
	b.figure("RSS of the observer, page open", fmt.Sprintf("%.1f MB", float64(o.memory("VmRSS"))/1e6), "", "")
	return nil
}

func milliseconds(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
