package transcript

import (
	"cmp"
	"strings"
)

// Price is the price of a million tokens, in US dollars, of the models whose
// name begins with Model. CacheWrite and CacheRead are the same as Input if
// they are 0. The tags are those of the configuration.
type Price struct {
	Model      string  `yaml:"model" is:"name" unique:"true"`
	Input      float64 `yaml:"input" bounds:"0..1000000"`
	CacheWrite float64 `yaml:"cache_write" bounds:"0..1000000"`
	CacheRead  float64 `yaml:"cache_read" bounds:"0..1000000"`
	Output     float64 `yaml:"output" bounds:"0..1000000"`
}

// Prices are the prices of several models.
type Prices []Price

// Cost estimates the cost of tokens of a model, in US dollars, by the price
// with the longest matching Model; ok is false if there is none.
func (p Prices) Cost(model string, u Usage) (usd float64, ok bool) {
	var price Price
	for _, q := range p {
		if strings.HasPrefix(model, q.Model) && len(q.Model) > len(price.Model) {
			price = q
		}
	}
	usd = float64(u.Input)*price.Input +
		float64(u.CacheCreation)*cmp.Or(price.CacheWrite, price.Input) +
		float64(u.CacheRead)*cmp.Or(price.CacheRead, price.Input) +
		float64(u.Output)*price.Output
	return usd / 1e6, price.Model != ""
}
