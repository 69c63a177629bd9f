package main

import (
	"context"
	"fmt"
	"time"
)

// report compares what sums up or tries thresholds with a scan, over the large corpus and over one of short lines.
func (b *bench) report(ctx context.Context) error {
	for _, of := range []struct {
		name   string
		corpus func() ([]string, int64, error)
	}{{"large", b.large}, {"dense", b.dense}} {
		files, bytes, err := of.corpus()
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "%s: %d files, %.3f GB, page cache warm, medians of %d runs in turn\n", of.name, len(files), float64(bytes)/1e9, b.runs)
		if err := b.reports(ctx, of.name, bytes); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) reports(ctx context.Context, name string, bytes int64) error {
	list := []*contender{
		{name: "sm scan", argv: []string{b.sm, "scan", "--json", b.corpus}},
		{name: "sm report", argv: []string{b.sm, "report", "--json", b.corpus}},
		{name: "sm replay --grid", argv: []string{b.sm, "replay", "--grid", "--json", b.corpus}},
	}
	if err := b.inTurn(ctx, list); err != nil {
		return err
	}
	for _, c := range list {
		fmt.Fprintf(b.out, "%-38s %10.3f CPU s/GB %8s wall\n", c.name, median(c.cpu)/float64(bytes)*1e9, median(c.wall).Round(time.Millisecond))
	}
	scan := median(list[0].cpu)
	for _, c := range list[1:] {
		b.figure(name+": "+c.name+" CPU, to sm scan", fmt.Sprintf("%.2f", median(c.cpu)/scan), "1.5", "1.25")
		b.figure(name+": "+c.name+" RSS", fmt.Sprintf("%.1f MB", float64(c.rss)/1e6), "200 MB", "100 MB")
	}
	return nil
}
