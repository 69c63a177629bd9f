package report

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDistribution(t *testing.T) {
	for _, c := range []struct {
		name    string
		figures []int64
		width   int64
		want    Distribution
	}{
		{"none", nil, 10, Distribution{Unknown: 2, Histogram: []Bin{}}},
		{
			"one",
			[]int64{7},
			10,
			Distribution{
				1,
				2,
				new(int64(7)),
				new(int64(7)),
				new(int64(7)),
				new(int64(7)),
				new(int64(7)),
				[]Bin{{0, 10, 1}},
			},
		},
		{
			"two",
			[]int64{25, 8},
			10,
			Distribution{
				2,
				2,
				new(int64(8)),
				new(int64(8)),
				new(int64(16)),
				new(int64(25)),
				new(int64(25)),
				[]Bin{{0, 10, 1}, {10, 20, 0}, {20, 30, 1}},
			},
		},
		{"wide", []int64{
			0,
			1,
			1000,
		}, 1, Distribution{3, 2, new(int64(0)), new(int64(0)), new(int64(1)), new(int64(1000)), new(int64(1000)),
			[]Bin{
				{0, 100, 2},
				{100, 200, 0},
				{200, 300, 0},
				{300, 400, 0},
				{400, 500, 0},
				{500, 600, 0},
				{600, 700, 0},
				{700, 800, 0},
				{800, 900, 0},
				{900, 1000, 0},
				{1000, 1100, 1},
			}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, DistributionOf(c.figures, 2, c.width)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// FuzzDistribution: whatever the figures are, a histogram holds all of them, without gaps, in a few lines.
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
		d := DistributionOf(slices.Clone(figures), 0, width)
		count := 0
		for i, b := range d.Histogram {
			inside := 0
			for _, x := range figures {
				if x >= b.From && x < b.To {
					inside++
				}
			}
			if inside != b.Count || i > 0 && b.From != d.Histogram[i-1].To {
				t.Errorf("bin %d is %+v, %d are in it", i, b, inside)
			}
			count += b.Count
		}
		if count != n || len(d.Histogram) > MaxBins {
			t.Errorf("%d of %d figures in %d bins", count, n, len(d.Histogram))
		}
	})
}
