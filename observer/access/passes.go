package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sm/handoff/files"
)

const (
	// TokenLife is how long a one-time token opens the page.
	TokenLife = time.Minute
	// PassLife is how long the cookie that replaces the token is valid.
	PassLife = 12 * time.Hour
	// maxTokens limits the unused tokens; the oldest is dropped.
	maxTokens = 16
	keyBytes  = 32
	keyFile   = "page.key"
)

// Passes admits browsers on systems that do not identify the user of a
// connection. A one-time token, which only the observer's user gets on the Unix
// socket, is exchanged for a cookie. A cookie is a date signed with the key of
// the state directory, so it survives restarts, and is valid for this observer
// only. Its methods may be called concurrently.
//
// A browser sends cookies to all ports of a host. The cookie is restricted to a
// path with a secret name, so that other servers of the machine do not receive
// it.
type Passes struct {
	key    []byte
	cookie string
	folder string // begins and ends with a slash

	mu     sync.Mutex
	tokens []token // the oldest first
}

type token struct {
	text    string
	expires time.Time
}

// NewPasses reads the key of a state directory. It creates one if there is none
// that only we can read.
func NewPasses(state string) (*Passes, error) {
	key, err := keyIn(filepath.Join(state, keyFile))
	if err != nil {
		return nil, fmt.Errorf("make the key of the page: %w; see who owns %s", err, state)
	}
	p := &Passes{key: key}
	p.cookie = "sm-" + p.sign("name")[:8]
	p.folder = "/sm-" + p.sign("folder")[:32] + "/"
	return p, nil
}

// keyIn reads a key from a file, or replaces the file by one with a new key.
func keyIn(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 &&
		info.Size() == keyBytes {
		if key, err := os.ReadFile(path); err == nil {
			return key, nil
		}
	}
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	return key, files.Replace(path, key, 0o600)
}

// Issue returns a token that opens the page once, within [TokenLife].
func (p *Passes) Issue(now time.Time) string {
	text := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tokens) == maxTokens {
		p.tokens = p.tokens[1:]
	}
	p.tokens = append(p.tokens, token{text, now.Add(TokenLife)})
	return text
}

// Redeem uses up a token and returns its cookie; ok is false for a token that
// is unknown, used or expired.
func (p *Passes) Redeem(text string, now time.Time) (cookie *http.Cookie, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.tokens, func(t token) bool {
		return hmac.Equal([]byte(t.text), []byte(text))
	})
	if i < 0 {
		return nil, false
	}
	ok = now.Before(p.tokens[i].expires)
	p.tokens = slices.Delete(p.tokens, i, i+1)
	until := strconv.FormatInt(now.Add(PassLife).Unix(), 10)
	return &http.Cookie{
		Name:     p.cookie,
		Value:    until + "." + p.sign("page until "+until),
		Path:     p.folder,
		MaxAge:   int(PassLife / time.Second),
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}, ok
}

func (p *Passes) sign(text string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// unfold removes the cookie's folder from the path of a request, if the path is
// in there. The folder has the same routes as the root, under the same rules.
func (p *Passes) unfold(r *http.Request) *http.Request {
	path, found := strings.CutPrefix(r.URL.Path, p.folder)
	if !found {
		return r
	}

	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + path
	inner.URL.RawPath = ""
	return inner
}

// Admits reports whether a request has a valid cookie.
func (p *Passes) Admits(r *http.Request, now time.Time) bool {
	for _, c := range r.CookiesNamed(p.cookie) {
		until, signature, found := strings.Cut(c.Value, ".")
		if !found || !hmac.Equal([]byte(signature), []byte(p.sign("page until "+until))) {
			continue
		}
		if end, err := strconv.ParseInt(until, 10, 64); err == nil && now.Unix() < end {
			return true
		}
	}
	return false
}
