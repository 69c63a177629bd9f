package hook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	dollars := func(v float64) Figure[float64] {
		return Figure[float64]{
			Value: v,
			Known: true,
		}
	}
	for name, tt := range map[string]struct {
		in   string
		want Status
	}{
		"all": {
			`{"session_name":"Parser","cost":{"total_cost_usd":0.0333522,"total_duration_ms":2116},` +
				`"rate_limits":{"five_hour":{"used_percentage":42.5,"resets_at":1795161331},"seven_day":{"used_percentage":7,"resets_at":1795561331},"spend_limit":{}},` +
				`"prompt_cache":{"warm":true,"hit_ratio":0.97,"ttl":"1h","expires_at":1795463276}}`,
			Status{
				SessionName: "Parser",
				Cost:        Cost{dollars(0.0333522)},
				PromptCache: PromptCache{dollars(0.97), "1h", Figure[int64]{
					Value: 1795463276,
					Known: true,
				}},
				RateLimits: RateLimits{
					FiveHour: RateLimit{dollars(42.5), Figure[int64]{
						Value: 1795161331,
						Known: true,
					}},
					SevenDay: RateLimit{dollars(7), Figure[int64]{
						Value: 1795561331,
						Known: true,
					}},
				},
			},
		},
		"null": {
			`{"cost":{"total_cost_usd":null},"rate_limits":null,"prompt_cache":{"hit_ratio":null}}`,
			Status{
				Cost:        Cost{Figure[float64]{Null: true}},
				PromptCache: PromptCache{HitRatio: Figure[float64]{Null: true}},
			},
		},
		"odd": {
			`{"session_name":7,"cost":{"total_cost_usd":-1},"rate_limits":{"five_hour":[],"seven_day":{"used_percentage":"7","resets_at":1.5}},"prompt_cache":{"hit_ratio":"97"}}`,
			Status{},
		},
		"too much": {`{"cost":{"total_cost_usd":1e12},"prompt_cache":7}`, Status{}},
		"zero":     {`{"cost":{"total_cost_usd":0}}`, Status{Cost: Cost{dollars(0)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := DecodeStatus([]byte(tt.in))
			noErrors(t, err)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			again, err := DecodeStatus(got.Encode())
			noErrors(t, err)
			if d := cmp.Diff(got, again); d != "" {
				t.Errorf("over the wire (-sent +received):\n%s", d)
			}
		})
	}
}
