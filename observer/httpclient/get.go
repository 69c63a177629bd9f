package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// Get returns an answer and its body, which is limited to most bytes. An error
// does not contain the address, which may contain a password.
func Get(
	ctx context.Context,
	client *http.Client,
	address string,
	most int64,
) (resp *http.Response, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err == nil {
		resp, err = client.Do(req)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(http.MaxBytesReader(nil, resp.Body, most))
	return resp, body, err
}
