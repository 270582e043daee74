// The echo server of echo_server.c in Go, for scripts/bench-echo: one goroutine a connection, package net.
// usage: echo_go [-b BYTES]. Prints its port, then its figures for each line on stdin and once more at the end of
// stdin, in the same form.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var bufsize = 512

var conns, peak int64

// procnum is the number after "key:" in /proc/self/status, or 0.
func procnum(key string) int {
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		if f := strings.Fields(l); len(f) >= 2 && f[0] == key+":" {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

func report() {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	fmt.Printf("cpu_us\t%d\tuser_kb\t%d\tconns\t%d\tpeak\t%d\tkthreads\t%d\n",
		(ru.Utime.Nano()+ru.Stime.Nano())/1000, procnum("VmRSS")+procnum("VmPTE"),
		atomic.LoadInt64(&conns), atomic.LoadInt64(&peak), procnum("Threads"))
}

func serve(c net.Conn) {
	buf := make([]byte, bufsize)
	for {
		n, err := c.Read(buf)
		if err != nil {
			break
		}
		if _, err = c.Write(buf[:n]); err != nil {
			break
		}
	}
	c.Close()
	atomic.AddInt64(&conns, -1)
}

func main() {
	flag.IntVar(&bufsize, "b", bufsize, "the size of the buffer it reads into")
	flag.Parse()
	rl := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &rl) != nil {
		syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rl)
		rl.Cur = rl.Max
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &rl)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo_go:", err)
		os.Exit(1)
	}
	fmt.Printf("port\t%d\n", l.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, "echo_go:", err)
				os.Exit(1)
			}
			// Only this goroutine writes peak.
			if n := atomic.AddInt64(&conns, 1); n > peak {
				atomic.StoreInt64(&peak, n)
			}
			go serve(c)
		}
	}()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		report()
	}
	report()
}
