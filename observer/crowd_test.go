package observer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// crowdOf makes this binary, run as another user, hold connections: their number, the address, and what is done with
// them in turn: s is silent, h sends half a request, k is kept alive between requests.
const crowdOf = "SM_TEST_CROWD"

// crowdAgain is after when a connection that was closed is made anew.
const crowdAgain = 5 * time.Second

// holdCrowd opens connections and keeps each open for as long as it can, until it is killed. It says when all have
// been made.
func holdCrowd(crowd string) {
	var n int
	var address, ways string
	if _, err := fmt.Sscan(crowd, &n, &address, &ways); err != nil {
		panic(err)
	}
	var made sync.WaitGroup
	for i := range n {
		made.Add(1)
		go func() {
			holdOne(address, ways[i%len(ways)], made.Done)
			for {
				time.Sleep(crowdAgain)
				holdOne(address, ways[i%len(ways)], func() {})
			}
		}()
		if i%64 == 63 {
			time.Sleep(time.Millisecond) // so that the kernel's queue is not what is full
		}
	}
	made.Wait()
	fmt.Println("made")
	select {}
}

// holdOne makes one connection and holds it until it is closed.
func holdOne(address string, way byte, made func()) {
	c, err := net.DialTimeout("tcp", address, 20*time.Second)
	made()
	if err != nil {
		return // it was closed at once
	}
	defer c.Close()
	whole := "GET /-/healthy HTTP/1.1\r\nHost: " + address + "\r\n\r\n"
	switch way {
	case 'h':
		_, _ = io.WriteString(c, whole[:30])
	case 'k':
		_, _ = io.WriteString(c, whole)
	}
	_, _ = io.Copy(io.Discard, c)
}

// asStranger is this binary, run by a user that is not us.
func asStranger(t *testing.T, uid uint32, variable string) *exec.Cmd {
	t.Helper()
	self, err := os.Open("/proc/self/exe") // in a directory that others cannot enter
	noErrors(t, err)
	t.Cleanup(func() { _ = self.Close() })
	cmd := exec.Command("/proc/self/fd/3")
	cmd.ExtraFiles, cmd.Dir, cmd.Env = []*os.File{self}, "/", []string{variable}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Stderr = os.Stderr
	return cmd
}

// TestCrowd: however many connections another user holds, our scrape is answered, and that of a Prometheus with a uid
// of its own.
func TestCrowd(t *testing.T) {
	needs(t, "root on Linux, to run processes as other users", os.Geteuid() == 0 && runtime.GOOS == "linux")
	checkAppLeaks(t)
	const crowd, prometheus = 65534, 65533
	var limit syscall.Rlimit
	noErrors(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	for _, c := range []struct {
		n    int
		ways string
	}{{64, "k"}, {64, "h"}, {1000, "shk"}, {10_000, "shk"}} {
		n := c.n
		t.Run(fmt.Sprint(n, " ", c.ways), func(t *testing.T) {
			needs(t, fmt.Sprintf("%d file descriptors", n+100), uint64(limit.Cur) >= uint64(n+100))
			r := newRig(t)
			r.write(uuid(1), reply(ago(time.Minute), "m1", 50_123, 1))
			r.start()
			hold := asStranger(t, crowd, fmt.Sprintf("%s=%d %s %s", crowdOf, n, r.tcp(), c.ways))
			out, err := hold.StdoutPipe()
			noErrors(t, err, hold.Start())
			defer func() { _, _ = hold.Process.Kill(), hold.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "made\n" {
				t.Errorf("the crowd says %q, %v", line, err)
			}
			var took []time.Duration
			for range 5 {
				began := time.Now()
				if a := r.get("/metrics"); a.Code != 200 || !strings.Contains(a.Body, "agent_session_context_tokens{") {
					t.Errorf("our scrape: %d", a.Code)
				}
				took = append(took, time.Since(began))
			}
			t.Logf("%d connections held; scrapes of ours took %v", n, took)
			began := time.Now()
			text, err := asStranger(t, prometheus, fetchTargets+"=http://"+r.tcp().String()+"/metrics").Output()
			var a answer
			if err == nil {
				err = json.NewDecoder(bytes.NewReader(text)).Decode(&a)
			}
			if err != nil || a.Code != 200 || !strings.Contains(a.Body, "agent_session_context_tokens{") {
				t.Errorf("scrape of uid %d: %d %.200s, %v", prometheus, a.Code, a.Body, err)
			}
			t.Logf("that of uid %d, with the start of its process, %v", prometheus, time.Since(began))
			r.stop()
		})
	}
}
