package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Bar draws a bar of so many eighths of a cell, filled with dots up to a width
// in cells.
func Bar(eighths, width int) string {
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar + strings.Repeat("·", width-utf8.RuneCountInString(bar))
}

// Tokens formats a token count: 950, 104k, 1M, 1.2M, 1.9G.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	case n < 999_950_000:
		return Tenths(float64(n)/1e6) + "M"
	}
	return Tenths(float64(n)/1e9) + "G"
}

// Tenths formats a figure with one decimal, or none if that is 0: 1, 1.2.
func Tenths(x float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", x), ".0") }

// Bytes formats a byte count in decimal units.
func Bytes(n float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	i := 0
	for n >= 1000 && i < len(units)-1 {
		n /= 1000
		i++
	}
	if i == 0 || n >= 100 {
		return fmt.Sprintf("%.0f %s", n, units[i])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

// Ago formats the time since t in one unit, "–" if t is nil. For a time in the
// future it formats that time.
func Ago(t *time.Time, now time.Time) string {
	if t == nil {
		return "–"
	}
	d := now.Sub(*t)
	switch {
	case d < 0:
		return t.Local().Format("2006-01-02 15:04")
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}
