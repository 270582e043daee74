/* real.NAME: the next definition of each name that we intercept, in whatever library comes after us
 * (libc, or another preload). Filled by realinit() from our constructor, which runs before all others
 * (-z initfirst). A name that this libc does not have is NULL. */
#ifndef GOSSAMER_REAL_H
#define GOSSAMER_REAL_H

#ifndef _GNU_SOURCE
#error "real.h needs _GNU_SOURCE"
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define REAL_LIST(X) \
    X(pthread_create) X(pthread_join) X(pthread_tryjoin_np) X(pthread_timedjoin_np) X(pthread_clockjoin_np) \
    X(pthread_detach) X(pthread_exit) X(pthread_getattr_np) X(pthread_setname_np) X(pthread_getname_np) \
    X(pthread_setattr_default_np) X(pthread_once) X(pthread_kill) X(pthread_sigqueue) X(pthread_cancel) \
    X(pthread_testcancel) X(pthread_setcancelstate) X(pthread_setcanceltype) \
    X(pthread_setspecific) X(tss_set) X(pthread_getaffinity_np) X(pthread_setaffinity_np) \
    X(pthread_getschedparam) X(pthread_setschedparam) X(pthread_setschedprio) X(pthread_getcpuclockid) \
    X(pthread_mutex_lock) X(pthread_mutex_trylock) X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) \
    X(pthread_mutex_unlock) X(pthread_mutex_destroy) \
    X(pthread_cond_wait) X(pthread_cond_timedwait) X(pthread_cond_clockwait) X(pthread_cond_signal) \
    X(pthread_cond_broadcast) X(pthread_cond_destroy) \
    X(pthread_rwlock_rdlock) X(pthread_rwlock_wrlock) X(pthread_rwlock_tryrdlock) X(pthread_rwlock_trywrlock) \
    X(pthread_rwlock_timedrdlock) X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockrdlock) \
    X(pthread_rwlock_clockwrlock) X(pthread_rwlock_unlock) X(pthread_rwlock_destroy) \
    X(pthread_spin_lock) X(pthread_barrier_init) X(pthread_barrier_wait) X(pthread_barrier_destroy) \
    X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) X(sem_post) X(sem_open) \
    X(thrd_create) X(thrd_join) X(thrd_detach) X(thrd_exit) X(thrd_sleep) X(thrd_yield) \
    X(mtx_lock) X(mtx_trylock) X(mtx_timedlock) X(mtx_unlock) X(mtx_destroy) \
    X(cnd_wait) X(cnd_timedwait) X(cnd_signal) X(cnd_broadcast) X(cnd_destroy) X(call_once) \
    X(sched_yield) X(nanosleep) X(clock_nanosleep) X(usleep) X(sleep) X(gettid) X(syscall) \
    X(read) X(write) X(readv) X(writev) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg) X(send) X(sendto) X(sendmsg) \
    X(sendmmsg) X(accept) X(accept4) X(connect) X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) \
    X(close) X(dup2) X(dup3) X(close_range) X(fcntl) X(ioctl) X(fclose) X(freopen) X(pclose) \
    X(socket) X(socketpair) X(pipe) X(pipe2) X(dup) X(setsockopt) X(open) X(open64) X(openat) X(openat64) \
    X(epoll_create) X(epoll_create1) X(eventfd) X(eventfd_read) X(eventfd_write) X(timerfd_create) X(signalfd) X(inotify_init) X(inotify_init1) \
    X(memfd_create) \
    X(sigprocmask) X(pthread_sigmask) X(sigaltstack) X(sigaction) X(signal) X(raise) X(sigqueue) X(sigsuspend) X(sigpending) X(siglongjmp) X(longjmp) X(_longjmp) \
    X(swapcontext) X(setcontext) X(prctl) X(sched_setaffinity) X(sched_getaffinity) X(sched_setscheduler) X(sched_setparam) \
    X(clock_gettime) X(clock_getres) X(getrusage) X(timer_create) X(timer_delete) \
    X(sched_getscheduler) X(sched_getparam) X(getpriority) \
    X(setpriority) X(nice) X(unshare) X(setns) X(setfsuid) X(setfsgid) \
    X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) X(execveat) \
    X(fork) X(_Fork) X(clone) X(vfork) X(daemon) X(dlopen) X(dlmopen) X(dlclose) X(dlsym) X(dlvsym) X(dl_iterate_phdr)

/* Names with prototypes that no header gives under our feature macros. */
#define REAL_ODD(X) \
    X(closefrom, void, (int)) \
    X(fcntl64, int, (int, int, ...)) \
    X(__read_chk, ssize_t, (int, void *, size_t, size_t)) \
    X(__recv_chk, ssize_t, (int, void *, size_t, size_t, int)) \
    X(__recvfrom_chk, ssize_t, (int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *)) \
    X(__poll_chk, int, (struct pollfd *, nfds_t, int, size_t)) \
    X(__ppoll_chk, int, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t)) \
    X(capget, int, (struct __user_cap_header_struct *, struct __user_cap_data_struct *)) \
    X(capset, int, (struct __user_cap_header_struct *, struct __user_cap_data_struct *)) \
    X(__longjmp_chk, void, (struct __jmp_buf_tag *, int)) \
    X(__sysv_signal, __sighandler_t, (int, __sighandler_t)) \
    X(siginterrupt, int, (int, int))

#define REAL_FIELD(name) __typeof__(name) *name;
#define REAL_ODD_FIELD(name, ret, args) ret(*name) args;

struct real {
    REAL_LIST(REAL_FIELD)
    REAL_ODD(REAL_ODD_FIELD)
};

extern struct real real;
void realinit(void);

#endif
