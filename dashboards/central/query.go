package central

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/prometheus/common/model"

	"sm/observer/httpclient"
)

// series has one sample in the result of an instant query, and several in the
// result of a range query.
type series struct {
	Labels  map[string]string  `json:"metric"`
	Sample  model.SamplePair   `json:"value"`
	Samples []model.SamplePair `json:"values"`
}

// answer is the response of Prometheus' HTTP API to a query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Result []series `json:"result"`
	} `json:"data"`
}

// query returns the result of a query; endpoint is query or query_range. Errors
// end with the remedy.
func (s *Server) query(
	ctx context.Context,
	endpoint string,
	args url.Values,
) ([]series, error) {
	address := s.address.JoinPath("api/v1", endpoint)
	all := address.Query()
	maps.Copy(all, args)
	address.RawQuery = all.Encode()
	resp, text, err := httpclient.Get(ctx, s.client, address.String(), answerBytes)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return nil, fmt.Errorf(
			"its answer is larger than %d MiB; lower metrics.max_sessions on the machines",
			answerBytes>>20,
		)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errors.New("no answer in time; see whether it is busy, and whether the address is right")
	case err != nil:
		return nil, fmt.Errorf("%w; see whether it runs and whether the address is right", err)
	}
	return result(resp.StatusCode, text)
}

// result returns the series of an answer, or an error with the remedy.
func result(code int, text []byte) ([]series, error) {
	var a answer
	err := json.Unmarshal(text, &a)
	problem := fmt.Sprintf("status %d", code)
	remedy := "give the address below which it serves /api/v1/query"
	switch {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		remedy = "give it a token or password that it takes, in the file for its HTTP client"
	case err == nil && a.Status == "error":
		problem = a.Error
		remedy = "see its log"
	case code >= http.StatusInternalServerError:
		remedy = "see its log"
	case code != http.StatusOK:
	case err == nil && a.Status == "success":
		return a.Data.Result, nil
	default:
		problem = "its answer is no result of a query"
	}
	return nil, errors.New(problem + "; " + remedy)
}
