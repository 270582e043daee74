// The modes of micro.c that Go has too, for scripts/bench --go. usage: gomicro MODE COUNT; prints one number.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var count int

func since(t time.Time) float64 { return float64(time.Since(t).Nanoseconds()) }

// together runs n goroutines of f(0) ... f(n-1) and returns the ns until all have ended.
func together(n int, f func(int)) float64 {
	var wg sync.WaitGroup
	t := time.Now()
	wg.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) { f(i); wg.Done() }(i)
	}
	wg.Wait()
	return since(t)
}

func create() float64 {
	t := time.Now()
	for i := 0; i < count; i++ {
		done := make(chan int)
		go func() { done <- 1 }()
		<-done
	}
	return since(t) / float64(count)
}

func burst() float64 { return together(count, func(int) {}) / 1e3 / float64(count) }

func yield() float64 {
	return together(2, func(int) {
		for i := 0; i < count; i++ {
			runtime.Gosched()
		}
	}) / 2 / float64(count)
}

func cond() float64 {
	var mu sync.Mutex
	turn := 0
	c := [2]*sync.Cond{sync.NewCond(&mu), sync.NewCond(&mu)}
	return together(2, func(me int) {
		for i := 0; i < count; i++ {
			mu.Lock()
			for turn != me {
				c[me].Wait()
			}
			turn = 1 - me
			c[1-me].Signal()
			mu.Unlock()
		}
	}) / float64(count)
}

func locking(n int) float64 {
	var mu sync.Mutex
	counter := 0
	return together(n, func(int) {
		for i := 0; i < count; i++ {
			mu.Lock()
			counter++
			mu.Unlock()
		}
	}) / float64(n*count)
}

type rw interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
}

func pingpong(r, w [2]rw) float64 {
	return together(2, func(me int) {
		b := make([]byte, 1)
		for i := 0; i < count; i++ {
			if me == 0 {
				w[0].Write(b)
			}
			if _, err := r[me].Read(b); err != nil {
				panic(err)
			}
			if me == 1 {
				w[1].Write(b)
			}
		}
	}) / float64(count)
}

func pipe() float64 {
	r0, w1, _ := os.Pipe()
	r1, w0, _ := os.Pipe()
	return pingpong([2]rw{r0, r1}, [2]rw{w0, w1})
}

func sock() float64 {
	s, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		panic(err)
	}
	var c [2]rw
	for i := range c {
		if c[i], err = net.FileConn(os.NewFile(uintptr(s[i]), "")); err != nil {
			panic(err)
		}
	}
	return pingpong(c, c)
}

func main() {
	modes := map[string]func() float64{
		"create": create, "burst": burst, "yield": yield, "cond": cond, "pipe": pipe, "sock": sock,
		"mutex":   func() float64 { return locking(1) },
		"contend": func() float64 { return locking(8) },
	}
	if len(os.Args) != 3 || modes[os.Args[1]] == nil {
		os.Exit(2)
	}
	count, _ = strconv.Atoi(os.Args[2])
	fmt.Printf("%.2f\n", modes[os.Args[1]]())
}
