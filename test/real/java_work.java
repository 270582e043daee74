// Java's threads: monitors, locks, park, interrupts, executors, exceptions, garbage and class loading by 200 threads at once,
// sockets on loopback. Prints results which do not depend on timing. The other modes are for java.sh:
//   kernel-threads   200 parked threads; how many tasks the kernel knows
//   dump FILE        200 threads in known states, until FILE is there: for kill -QUIT
//   throw, exit, hook, main-ends, overflow, null   how a process ends and what a fault becomes
import java.io.*;
import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

class java_work {
    static final int N = 200;

    interface Part { void run() throws Exception; }
    interface Body { void run(int i) throws Exception; }

    // n threads run body and are joined; the failures, if any, are the result of the test
    static void each(int n, Body body) throws Exception {
        Queue<Throwable> failed = new ConcurrentLinkedQueue<>();
        List<Thread> ts = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            int k = i;
            Thread t = new Thread(() -> {
                try {
                    body.run(k);
                } catch (Throwable e) {
                    failed.add(e);
                }
            }, "worker-" + i);
            ts.add(t);
            t.start();
        }
        for (Thread t : ts)
            t.join();
        for (Throwable e : failed)
            System.out.println("failed: " + e);
    }

    static void monitors() throws Exception {
        Object lock = new Object();
        long[] total = {0};
        int[] turn = {0};
        each(N, i -> {
            for (int k = 0; k < 500; k++)
                synchronized (lock) { total[0] += i; }
            synchronized (lock) {
                while (turn[0] != i)
                    lock.wait();
                turn[0]++;
                lock.notifyAll();
            }
        });
        long before = System.nanoTime();
        synchronized (lock) { lock.wait(20); }
        System.out.println("monitors " + total[0] + " turns " + turn[0] + " timed " + (System.nanoTime() - before >= 19_000_000));
    }

    static void locks() throws Exception {
        ReentrantLock lock = new ReentrantLock(), fair = new ReentrantLock(true);
        Condition more = lock.newCondition();
        ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
        long[] total = {0, 0, 0}, pair = {0, 0};
        AtomicLong torn = new AtomicLong();
        each(N, i -> {
            for (int k = 0; k < 200; k++) {
                lock.lock();
                try { total[0] += i; } finally { lock.unlock(); }
                if (k % 20 == 0) {
                    fair.lock();
                    try { total[1]++; } finally { fair.unlock(); }
                }
                if (i % 4 == 0) {
                    rw.writeLock().lock();
                    try { pair[0]++; pair[1]++; } finally { rw.writeLock().unlock(); }
                } else {
                    rw.readLock().lock();
                    try { if (pair[0] != pair[1]) torn.incrementAndGet(); } finally { rw.readLock().unlock(); }
                }
            }
            lock.lock();
            try {
                while (total[2] != i)
                    more.await();
                total[2]++;
                more.signalAll();
            } finally { lock.unlock(); }
        });
        System.out.println("locks " + Arrays.toString(total) + " pair " + Arrays.toString(pair) + " torn " + torn);
    }

    static void parks() throws Exception {
        Semaphore sem = new Semaphore(3);
        CyclicBarrier barrier = new CyclicBarrier(N);
        CountDownLatch latch = new CountDownLatch(N);
        Exchanger<Integer> ex = new Exchanger<>();
        AtomicInteger inside = new AtomicInteger(), over = new AtomicInteger(), leaders = new AtomicInteger();
        AtomicLong swapped = new AtomicLong();
        each(N, i -> {
            if (barrier.await() == 0)
                leaders.incrementAndGet();
            sem.acquire();
            if (inside.incrementAndGet() > 3)
                over.incrementAndGet();
            Thread.yield();
            inside.decrementAndGet();
            sem.release();
            swapped.addAndGet(ex.exchange(i));
            latch.countDown();
            latch.await();
        });
        Thread parked = new Thread(() -> { LockSupport.park(); LockSupport.parkNanos(10_000_000); });
        parked.start();
        Thread.sleep(5);
        LockSupport.unpark(parked);
        parked.join();
        System.out.println("parks leaders " + leaders + " over " + over + " swapped " + swapped + " alive " + parked.isAlive());
    }

    static void interrupts() throws Exception {
        AtomicInteger woken = new AtomicInteger(), flags = new AtomicInteger();
        CountDownLatch ready = new CountDownLatch(N);
        List<Thread> ts = new ArrayList<>();
        Object never = new Object();
        ReentrantLock held = new ReentrantLock();
        held.lock();
        for (int i = 0; i < N; i++) {
            int how = i % 5;
            Thread t = new Thread(() -> {
                ready.countDown();
                try {
                    switch (how) {
                    case 0: Thread.sleep(60_000); break;
                    case 1: synchronized (never) { never.wait(); } break;
                    case 2: held.lockInterruptibly(); break;
                    case 3: new ArrayBlockingQueue<Integer>(1).take(); break;
                    default:
                        LockSupport.park();
                        if (Thread.interrupted())
                            throw new InterruptedException();
                    }
                } catch (InterruptedException e) {
                    woken.incrementAndGet();
                }
                if (Thread.currentThread().isInterrupted())
                    flags.incrementAndGet();
            });
            ts.add(t);
            t.start();
        }
        ready.await();
        for (Thread t : ts)
            t.interrupt();
        for (Thread t : ts)
            t.join();
        System.out.println("interrupts " + woken + " flags left " + flags);
    }

    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

    static void exceptions() throws Exception {
        AtomicInteger nulls = new AtomicInteger(), overflows = new AtomicInteger(), divs = new AtomicInteger(), seen = new AtomicInteger();
        each(40, i -> {
            for (int k = 0; k < 50; k++) {
                try {
                    Object o = k % 2 == 0 ? null : "x";
                    o.hashCode();
                } catch (NullPointerException e) { nulls.incrementAndGet(); }
                try {
                    System.identityHashCode(100 / (k % 5));
                } catch (ArithmeticException e) { divs.incrementAndGet(); }
            }
            try {
                deep(10_000_000);
            } catch (StackOverflowError e) { overflows.incrementAndGet(); }
        });
        for (int i = 0; i < 20; i++) {
            Thread t = new Thread(() -> { throw new IllegalStateException("meant"); });
            t.setUncaughtExceptionHandler((th, e) -> { if ("meant".equals(e.getMessage())) seen.incrementAndGet(); });
            t.start();
            t.join();
        }
        System.out.println("exceptions " + nulls + " " + divs + " overflows " + overflows + " uncaught " + seen);
    }

    static void executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(N);
        List<Future<Long>> fs = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            long k = i;
            fs.add(pool.submit(() -> k * k));
        }
        long sum = 0;
        for (Future<Long> f : fs)
            sum += f.get();
        Future<?> bad = pool.submit(() -> { throw new RuntimeException("inside"); });
        String cause = "none";
        try { bad.get(); } catch (ExecutionException e) { cause = e.getCause().getMessage(); }
        pool.shutdown();
        boolean ended = pool.awaitTermination(30, TimeUnit.SECONDS);
        ScheduledExecutorService timed = Executors.newScheduledThreadPool(4);
        CountDownLatch ticks = new CountDownLatch(20);
        timed.scheduleAtFixedRate(ticks::countDown, 1, 2, TimeUnit.MILLISECONDS);
        boolean ticked = ticks.await(30, TimeUnit.SECONDS);
        timed.shutdownNow();
        ForkJoinPool fj = new ForkJoinPool(16);
        long par = fj.submit(() -> LongStream.range(0, 2_000_000).parallel().map(x -> x ^ 5).sum()).get();
        fj.shutdown();
        CompletableFuture<Integer> cf = CompletableFuture.supplyAsync(() -> 6).thenCombine(CompletableFuture.supplyAsync(() -> 7), (a, b) -> a * b);
        System.out.println("executors " + sum + " " + cause + " ended " + ended + " ticks " + ticked + " parallel " + par + " combined " + cf.get());
    }

    // every thread makes garbage and keeps some of it: collections, with all threads brought to a safepoint, must lose nothing
    static void garbage() throws Exception {
        AtomicLong sum = new AtomicLong();
        each(N, i -> {
            Map<Integer, byte[]> kept = new HashMap<>();
            long s = 0;
            for (int k = 0; k < 400; k++) {
                byte[] b = new byte[500 + (i * 31 + k * 17) % 3000];
                Arrays.fill(b, (byte) (i + k));
                kept.put(k % 8, b);
                if (i == 0 && k % 100 == 0)
                    System.gc();
            }
            for (byte[] b : kept.values())
                for (byte x : b)
                    s += x;
            sum.addAndGet(s);
        });
        System.out.println("garbage " + sum);
    }

    // loops without a call, which are stopped for a safepoint in compiled code
    static void spins() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger spun = new AtomicInteger();
        Thread[] ts = new Thread[8];
        for (int i = 0; i < ts.length; i++) {
            ts[i] = new Thread(() -> {
                while (!stop.get())
                    Thread.onSpinWait();
                spun.incrementAndGet();
            });
            ts[i].start();
        }
        for (int i = 0; i < 5; i++) {
            System.gc();
            Thread.sleep(5);
            Thread.getAllStackTraces();
        }
        stop.set(true);
        for (Thread t : ts)
            t.join();
        System.out.println("spins " + spun);
    }

    static void sockets() throws Exception {
        AtomicInteger good = new AtomicInteger(), late = new AtomicInteger(), closed = new AtomicInteger();
        try (ServerSocket srv = new ServerSocket(0, 256, InetAddress.getLoopbackAddress())) {
            Thread acceptor = new Thread(() -> {
                try {
                    for (int i = 0; i < 64; i++) {
                        Socket c = srv.accept();
                        new Thread(() -> {
                            try (c) {
                                c.getInputStream().transferTo(c.getOutputStream());
                            } catch (IOException e) {
                                System.out.println("server " + e);
                            }
                        }).start();
                    }
                } catch (IOException e) {
                    System.out.println("accept " + e);
                }
            });
            acceptor.start();
            each(64, i -> {
                byte[] out = new byte[100_000];
                new Random(i).nextBytes(out);
                try (Socket c = new Socket(srv.getInetAddress(), srv.getLocalPort())) {
                    Thread sender = new Thread(() -> {
                        try {
                            c.getOutputStream().write(out);
                            c.shutdownOutput();
                        } catch (IOException e) {
                            System.out.println("send " + e);
                        }
                    });
                    sender.start();
                    if (Arrays.equals(out, c.getInputStream().readAllBytes()))
                        good.incrementAndGet();
                    sender.join();
                }
            });
            acceptor.join();
        }
        // time-outs, and a read and an accept that another thread's close ends
        try (ServerSocket srv = new ServerSocket(0, 8, InetAddress.getLoopbackAddress());
             Socket c = new Socket(srv.getInetAddress(), srv.getLocalPort())) {
            c.setSoTimeout(20);
            try { c.getInputStream().read(); } catch (SocketTimeoutException e) { late.incrementAndGet(); }
            c.setSoTimeout(0);
            Thread r = new Thread(() -> {
                try { c.getInputStream().read(); } catch (IOException e) { closed.incrementAndGet(); }
            });
            Socket accepted = srv.accept();
            Thread a = new Thread(() -> {
                try { srv.accept(); } catch (IOException e) { closed.incrementAndGet(); }
            });
            r.start();
            a.start();
            Thread.sleep(20);
            c.close();
            srv.close();
            r.join();
            a.join();
            accepted.close();
        }
        System.out.println("sockets " + good + " late " + late + " closed " + closed);
    }

    static void children() throws Exception {
        int[] codes = new int[16];
        String[] outs = new String[16];
        each(16, i -> {
            Process p = new ProcessBuilder("/bin/sh", "-c", "cat; exit " + i).start();
            try (OutputStream o = p.getOutputStream()) { o.write(("in" + i).getBytes()); }
            outs[i] = new String(p.getInputStream().readAllBytes());
            codes[i] = p.waitFor();
        });
        System.out.println("children " + Arrays.toString(codes) + " " + String.join(",", outs));
    }

    static void kernelThreads() throws Exception {
        CountDownLatch go = new CountDownLatch(1), ready = new CountDownLatch(N);
        for (int i = 0; i < N; i++)
            new Thread(() -> { ready.countDown(); try { go.await(); } catch (InterruptedException e) { } }).start();
        ready.await();
        System.out.println(new File("/proc/self/task").list().length);
        go.countDown();
    }

    static void dump(String file) throws Exception {
        Object held = new Object();
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch ready = new CountDownLatch(N);
        List<Thread> ts = new ArrayList<>();
        synchronized (held) {
            for (int i = 0; i < N; i++) {
                int how = i % 4;
                Thread t = new Thread(() -> {
                    ready.countDown();
                    switch (how) {
                    case 0: synchronized (held) { } break;
                    case 1: while (!stop.get()) LockSupport.park(); break;
                    case 2: try { Thread.sleep(600_000); } catch (InterruptedException e) { } break;
                    default: while (!stop.get()) { try { Thread.sleep(1); } catch (InterruptedException e) { } }
                    }
                }, (how == 3 ? "busy-" : "dumped-") + i);
                ts.add(t);
                t.start();
            }
            ready.await();
            System.out.println("ready");
            while (!Files.exists(Path.of(file)))
                Thread.sleep(5);
        }
        stop.set(true);
        for (Thread t : ts) {
            LockSupport.unpark(t);
            t.interrupt();
            t.join();
        }
        System.out.println("went on with " + ts.size());
    }

    public static void main(String[] args) throws Exception {
        switch (args.length > 0 ? args[0] : "work") {
        case "work":
            boolean times = args.length > 1;
            for (Part p : new Part[] {java_work::monitors, java_work::locks, java_work::parks, java_work::interrupts, java_work::exceptions,
                java_work::executors, java_work::garbage, java_work::spins, java_work::sockets, java_work::children}) {
                long start = System.nanoTime();
                p.run();
                if (times)
                    System.err.println("  " + (System.nanoTime() - start) / 1_000_000 + " ms");
            }
            System.out.println("threads left " + (Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().startsWith("worker-")).count()));
            break;
        case "kernel-threads": kernelThreads(); break;
        case "dump": dump(args[1]); break;
        case "throw": throw new IllegalStateException("nobody catches this");
        case "exit": new Thread(() -> System.exit(7)).start(); Thread.sleep(60_000); break;
        case "hook":
            Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook ran")));
            System.out.println("ready");
            Thread.sleep(60_000);
            break;
        case "main-ends": new Thread(() -> { try { Thread.sleep(50); } catch (InterruptedException e) { } System.out.println("after main"); }).start(); break;
        default: System.exit(2);
        }
    }
}
