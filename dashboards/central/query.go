package central

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"sm/observer/httpclient"
)

// series has one sample in the result of an instant query, and several in that
// of a range query.
type series struct {
	Labels  map[string]string `json:"metric"`
	Sample  Point             `json:"value"`
	Samples []Point           `json:"values"`
}

// Point is a value at a time.
type Point struct {
	At    int64 // seconds since 1970
	Value float64
}

// UnmarshalJSON reads [1700000000.5, "0.25"].
func (p *Point) UnmarshalJSON(text []byte) error {
	var seconds float64
	var value string
	err := json.Unmarshal(text, &[]any{&seconds, &value})
	if err == nil {
		p.At = int64(seconds)
		p.Value, err = strconv.ParseFloat(value, 64)
	}
	return err
}

// answer is what Prometheus' HTTP API returns for a query.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		Result []series `json:"result"`
	} `json:"data"`
}

// A refusal is an answer that has no result of the query, with the remedy.
type refusal string

func (r refusal) Error() string { return string(r) }

// query asks for the result of a query; endpoint is query or query_range.
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
	if err != nil {
		return nil, err
	}
	return result(resp.StatusCode, text)
}

// result returns the series of an answer, or a refusal.
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
	return nil, refusal(problem + "; " + remedy)
}
