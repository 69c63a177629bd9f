package report

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDistribution(t *testing.T) {
	for _, c := range []struct {
		figures []int64
		width   int64
		want    string
	}{
		{
			nil,
			10,
			`{"known":0,"unknown":2,"min":null,"p10":null,"median":null,"p90":null,"max":null,"histogram":[]}`,
		},
		{[]int64{7}, 10, `{"known":1,"unknown":2,"min":7,"p10":7,"median":7,"p90":7,"max":7,` +
			`"histogram":[{"from":0,"to":10,"count":1}]}`},
		{[]int64{
			25,
			8,
		}, 10, `{"known":2,"unknown":2,"min":8,"p10":8,"median":16,"p90":25,"max":25,"histogram":[` +
			`{"from":0,"to":10,"count":1},{"from":10,"to":20,"count":0},{"from":20,"to":30,"count":1}]}`},
		{[]int64{
			0,
			1,
			199,
		}, 1, `{"known":3,"unknown":2,"min":0,"p10":0,"median":1,"p90":199,"max":199,"histogram":[` +
			`{"from":0,"to":20,"count":2},{"from":20,"to":40,"count":0},{"from":40,"to":60,"count":0},` +
			`{"from":60,"to":80,"count":0},{"from":80,"to":100,"count":0},{"from":100,"to":120,"count":0},` +
			`{"from":120,"to":140,"count":0},{"from":140,"to":160,"count":0},{"from":160,"to":180,"count":0},` +
			`{"from":180,"to":200,"count":1}]}`},
	} {
		got, err := json.Marshal(DistributionOf(c.figures, len(c.figures)+2, c.width))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, string(got)); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.figures, d)
		}
	}
}

// FuzzDistribution tests that a histogram contains all figures, without gaps, in a few lines.
func FuzzDistribution(f *testing.F) {
	f.Add(uint64(1), 10, int64(200_000), int64(10_000))
	f.Add(uint64(2), 1, int64(0), int64(1))
	f.Add(uint64(3), 3, int64(1)<<40, int64(1))
	f.Fuzz(func(t *testing.T, seed uint64, n int, most, width int64) {
		if n < 0 || n > 1000 || most < 0 || most > 1<<50 || width < 1 || width > 1<<40 {
			t.Skip()
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		figures := make([]int64, n)
		for i := range figures {
			figures[i] = rng.Int64N(most + 1)
		}
		d := DistributionOf(slices.Clone(figures), len(figures), width)
		count := 0
		for i, b := range d.Histogram {
			inside := 0
			for _, x := range figures {
				if x >= b.From && x < b.To {
					inside++
				}
			}
			if inside != b.Count || i > 0 && b.From != d.Histogram[i-1].To {
				t.Errorf("bin %d is %+v, but contains %d", i, b, inside)
			}
			count += b.Count
		}
		if count != n || len(d.Histogram) > MaxBins {
			t.Errorf("%d of %d figures in %d bins", count, n, len(d.Histogram))
		}
	})
}
