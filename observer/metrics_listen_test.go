package observer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// paths are some that the other listeners serve, and some that nobody does.
func paths() []string {
	return []string{"/metrics", "/-/healthy", "/-/ready", "/", "/sessions", "/sessions/x", "/events", "/hooks/claude", "/alerts/webhook", "/debug/pprof/", "/metrics/", "/metrics/x", "/-/", "/favicon.ico"}
}

// metricsAddr is the address that MetricsListen has become, nil for none.
func (r *rig) metricsAddr() net.Addr {
	for _, d := range r.app.listeners {
		if d.foreign {
			return d.Addr()
		}
	}
	return nil
}

// TestMetricsListen: the second listener has /metrics and health, for anyone by any
// name, and nothing else.
func TestMetricsListen(t *testing.T) {
	checkAppLeaks(t)
	r := newRig(t)
	r.o.MetricsListen = "127.0.0.1:0"
	r.write(uuid(1), reply(ago(time.Minute), "m1", 50_123, 1))
	r.start()
	if r.metricsAddr() == nil || len(r.app.Addrs()) != 2 {
		t.Fatalf("listening on %v and for others on %v", r.app.Addrs(), r.metricsAddr())
	}
	send := func(request string) answer { return sendRaw(t, r.metricsAddr(), request) }
	got := map[string]int{}
	for _, path := range paths() {
		got[path] = send("GET " + path + " HTTP/1.1\r\nHost: observer.example:9100\r\n\r\n").Code
		if got[path] == 404 {
			delete(got, path)
		}
	}
	if diff := cmp.Diff(map[string]int{"/metrics": 200, "/-/healthy": 200, "/-/ready": 200}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"} {
		if code := send(method + " /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").Code; code/100 != 4 {
			t.Errorf("%s is answered %d", method, code)
		}
	}
	body := send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").Body
	if !strings.Contains(body, `agent_session_context_tokens{session="`+uuid(1)[:8]+`"} 50123`) {
		t.Error("no sessions there")
	}
	r.stop()
	if _, err := net.Dial("tcp", r.metricsAddr().String()); err == nil {
		t.Error("still listening after Stop")
	}
}

// TestMetricsListenPassword: with a file of passwords nothing is told without one.
func TestMetricsListenPassword(t *testing.T) {
	checkAppLeaks(t)
	r := newRig(t)
	r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.yaml")
	// The digest of "open sesame", at the lowest cost.
	noErrors(t, os.WriteFile(r.o.WebConfigFile, []byte("basic_auth_users:\n  prom: $2a$04$Jvu9kfQHkvgi7uLGtcaOBemnyCWK2UWgkjYE.JhpS92omCH2fnNdG\n"), 0o600))
	r.start()
	ask := func(path, user, password string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+r.metricsAddr().String()+path, nil)
		noErrors(t, err)
		if user != "" {
			req.SetBasicAuth(user, password)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		for range 60 { // the server hangs up on who takes seconds for a request, as a busy machine may
			if !errors.Is(err, io.EOF) {
				break
			}
			resp, err = client.Do(req)
		}
		noErrors(t, err)
		body, err := io.ReadAll(resp.Body)
		noErrors(t, err, resp.Body.Close())
		if told := strings.Contains(string(body), "sm_build_info"); told != (resp.StatusCode == 200 && path == "/metrics") {
			t.Errorf("%s: %d %.80q", path, resp.StatusCode, body)
		}
		return resp.StatusCode
	}
	for _, path := range paths() {
		for _, wrong := range [][2]string{{"", ""}, {"prom", "sesame"}, {"prom", ""}, {"root", "open sesame"}, {"", "open sesame"}} {
			if got := ask(path, wrong[0], wrong[1]); got != http.StatusUnauthorized {
				t.Errorf("%s as %q is answered %d", path, wrong, got)
			}
		}
	}
	if got := [...]int{ask("/metrics", "prom", "open sesame"), ask("/-/ready", "prom", "open sesame"), ask("/sessions", "prom", "open sesame")}; got != [...]int{200, 200, 404} {
		t.Errorf("with the password: %v, want 200 200 404", got)
	}
	if got := r.get("/metrics").Code; got != http.StatusOK {
		t.Errorf("the local address wants a password too: %d", got)
	}
	r.stop()
}

// TestMetricsListenTLS: with a certificate nothing is told in the clear.
func TestMetricsListenTLS(t *testing.T) {
	checkAppLeaks(t)
	r := newRig(t)
	roots := certificate(t, r.dir)
	r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.yaml")
	noErrors(t, os.WriteFile(r.o.WebConfigFile, []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"), 0o600))
	r.start()
	address := r.metricsAddr().String()
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	resp, err := client.Get("https://" + address + "/metrics")
	noErrors(t, err)
	body, err := io.ReadAll(resp.Body)
	noErrors(t, err, resp.Body.Close())
	if resp.StatusCode != 200 || !strings.Contains(string(body), "sm_build_info") {
		t.Errorf("%d %.80q", resp.StatusCode, body)
	}
	if a, err := fetch(t.Context(), "http://"+address+"/metrics"); err == nil && (a.Code == 200 || strings.Contains(a.Body, "sm_")) {
		t.Errorf("in the clear: %d %.80q", a.Code, a.Body)
	}
	r.stop()
}

// certificate makes one for 127.0.0.1 in dir.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noErrors(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sm"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	noErrors(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	noErrors(t, err)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		noErrors(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	parsed, err := x509.ParseCertificate(der)
	noErrors(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}
