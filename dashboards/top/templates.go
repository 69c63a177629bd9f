package top

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"

	"sm/dashboards/page"
	"sm/dashboards/screen"
	"sm/dashboards/urgency"
)

// templates parses text, which may be "", with the functions for all templates
// of the package.
func templates(text string, now time.Time) *template.Template {
	functions := template.FuncMap{
		"ago":         func(at *time.Time) string { return screen.Ago(at, now) },
		"compactions": Compactions,
		"compactsAt":  page.CompactsAt,
		"context":     barCell,
		"count":       urgency.ReplyCount,
		"dollars":     dollars,
		"fitEnd":      screen.FitEnd,
		"fitting":     fitting,
		"forecast":    urgency.Forecast,
		"hundredths":  page.Hundredths,
		"join":        strings.Join,
		"model":       page.ModelOf,
		"name":        nameOf,
		"percent":     func(share float64) int { return int(100 * share) }, // rounded down, as on the page
		"state":       stateText,
		"text":        screen.Text,
		"tokens":      screen.Tokens,
		"trend":       trend,
		"unreached":   urgency.Unreached,
		"value":       reflect.Indirect,
		"work":        page.Work,
		"wrap":        screen.Wrap,
		"pressure": func(c place, text string) string {
			return styled(pressureColour(c.Session), text)
		},
		"seen": func(c place) string {
			text := strings.TrimSuffix(screen.Ago(c.LastActive, now), " ago")
			if screen.Cells(text) > c.Width { // a time in the future
				return "–"
			}
			return text
		},
		"until": func(at time.Time) string {
			if at.Sub(now) < 24*time.Hour {
				return at.Local().Format("15:04")
			}
			return at.Local().Format("Mon 15:04")
		},
	}
	colours := map[string]string{
		"alarm":   screen.Bold + ";" + screen.Red,
		"bold":    screen.Bold,
		"dim":     screen.Dim,
		"magenta": screen.Magenta,
		"orange":  screen.Orange,
		"red":     screen.Red,
		"reverse": screen.Reverse,
		"yellow":  screen.Yellow,
	}
	for name, colour := range colours {
		functions[name] = func(texts ...any) string {
			return styled(colour, fmt.Sprint(texts...))
		}
	}
	functions["figure"] = func(colour string, n int, what string) string {
		switch n {
		case 0:
			return ""
		case 1:
			what = strings.TrimSuffix(what, "s")
		}
		return "  " + styled(colours[colour], strconv.Itoa(n)) + dim(" "+what)
	}
	return template.Must(template.New("").Funcs(functions).Parse(text))
}
