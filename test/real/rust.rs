// Rust's std threads: Mutex, Condvar, RwLock, Once, Barrier, mpsc, park, scoped threads, thread locals, panics that
// cross joins, TcpListener. std waits with the futex system call. Prints results which do not depend on timing.
use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::Duration;

static DROPPED: AtomicUsize = AtomicUsize::new(0);
struct Counted(usize);
impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(self.0, Ordering::SeqCst);
    }
}
thread_local!(static LOCAL: RefCell<Counted> = RefCell::new(Counted(0)));

fn mutexes() {
    let total = Arc::new(Mutex::new(0u64));
    let ts: Vec<_> = (0..100u64)
        .map(|i| {
            let total = total.clone();
            thread::spawn(move || {
                for _ in 0..200 {
                    *total.lock().unwrap() += i;
                }
                LOCAL.with(|l| l.borrow_mut().0 += 3);
                i
            })
        })
        .collect();
    let sum: u64 = ts.into_iter().map(|t| t.join().unwrap()).sum();
    println!("mutexes {} {} dropped {}", total.lock().unwrap(), sum, DROPPED.load(Ordering::SeqCst));
}

fn condvars() {
    let pair = Arc::new((Mutex::new(0usize), Condvar::new()));
    let other = pair.clone();
    let t = thread::spawn(move || {
        for i in (1..4000).step_by(2) {
            let mut n = other.1.wait_while(other.0.lock().unwrap(), |n| *n != i).unwrap();
            *n += 1;
            other.1.notify_all();
        }
    });
    for i in (0..4000).step_by(2) {
        let mut n = pair.1.wait_while(pair.0.lock().unwrap(), |n| *n != i).unwrap();
        *n += 1;
        pair.1.notify_all();
    }
    t.join().unwrap();
    let held = pair.0.lock().unwrap();
    let (held, out) = pair.1.wait_timeout_while(held, Duration::from_millis(20), |_| true).unwrap();
    println!("condvars {} timed out {}", *held, out.timed_out());
}

fn channels() {
    let (tx, rx) = mpsc::channel();
    let (btx, brx) = mpsc::sync_channel(4);
    for i in 0..8u64 {
        let (tx, btx) = (tx.clone(), btx.clone());
        thread::spawn(move || {
            for k in 0..2000 {
                tx.send(i * 2000 + k).unwrap();
                btx.send(1u64).unwrap();
            }
        });
    }
    drop((tx, btx));
    let bounded = thread::spawn(move || brx.iter().sum::<u64>());
    let sum: u64 = rx.iter().sum();
    let (_keep, silent) = mpsc::channel::<()>();
    let late = silent.recv_timeout(Duration::from_millis(10)).is_err();
    println!("channels {} {} late {}", sum, bounded.join().unwrap(), late);
}

fn others() {
    static ONCE: Once = Once::new();
    let (calls, rw, barrier) = (AtomicUsize::new(0), RwLock::new((0, 0)), Barrier::new(16));
    let leaders = AtomicUsize::new(0);
    thread::scope(|s| {
        for i in 0..16 {
            let (calls, rw, barrier, leaders) = (&calls, &rw, &barrier, &leaders);
            s.spawn(move || {
                ONCE.call_once(|| {
                    thread::sleep(Duration::from_millis(5));
                    calls.fetch_add(1, Ordering::SeqCst);
                });
                if barrier.wait().is_leader() {
                    leaders.fetch_add(1, Ordering::SeqCst);
                }
                for _ in 0..300 {
                    if i % 4 == 0 {
                        let mut w = rw.write().unwrap();
                        w.0 += 1;
                        thread::yield_now();
                        w.1 += 1;
                    } else {
                        let r = rw.read().unwrap();
                        assert_eq!(r.0, r.1);
                    }
                }
            });
        }
    });
    let parked = thread::spawn(|| {
        thread::park();
        thread::park_timeout(Duration::from_millis(10));
        "unparked"
    });
    thread::sleep(Duration::from_millis(10));
    parked.thread().unpark();
    let panicked = thread::Builder::new().stack_size(256 * 1024).spawn(|| -> () { std::panic::resume_unwind(Box::new(7i32)) }).unwrap().join();
    let payload = panicked.unwrap_err().downcast_ref::<i32>().copied();
    println!("others {:?} calls {} leaders {} {} panic {:?}", *rw.read().unwrap(), calls.load(Ordering::SeqCst),
        leaders.load(Ordering::SeqCst), parked.join().unwrap(), payload);
}

fn sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let ts: Vec<_> = (0..32)
            .map(|_| {
                let (mut c, _) = listener.accept().unwrap();
                thread::spawn(move || {
                    let mut r = c.try_clone().unwrap();
                    std::io::copy(&mut r, &mut c).unwrap()
                })
            })
            .collect();
        ts.into_iter().map(|t| t.join().unwrap()).sum::<u64>()
    });
    let clients: Vec<_> = (0..32u8)
        .map(|i| {
            thread::spawn(move || {
                let mut c = TcpStream::connect(addr).unwrap();
                let sent: Vec<u8> = (0..100_000usize).map(|k| (k as u8).wrapping_mul(i | 1)).collect();
                let (mut w, out) = (c.try_clone().unwrap(), sent.clone());
                let t = thread::spawn(move || {
                    w.write_all(&out).unwrap();
                    w.shutdown(Shutdown::Write).unwrap();
                });
                let mut back = Vec::new();
                c.read_to_end(&mut back).unwrap();
                t.join().unwrap();
                back == sent
            })
        })
        .collect();
    let good = clients.into_iter().map(|t| t.join().unwrap()).filter(|x| *x).count();
    let idle = TcpListener::bind("127.0.0.1:0").unwrap();
    let c = TcpStream::connect(idle.local_addr().unwrap()).unwrap();
    c.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let late = (&c).read(&mut [0u8; 1]).unwrap_err().kind();
    println!("sockets {} bytes {} late {:?}", good, server.join().unwrap(), late);
}

fn main() {
    mutexes();
    condvars();
    channels();
    others();
    sockets();
}
