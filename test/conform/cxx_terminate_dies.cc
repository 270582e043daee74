/*
 * An exception that leaves a thread's function calls std::terminate: the handler runs on that thread, the process
 * dies by SIGABRT.  conform: dies SIGABRT.  ISO C++ [thread.thread.constr].
 */
#include "conform.h"
#include <exception>
#include <stdexcept>
#include <thread>

static pthread_t thrower;

static void
handler()
{
    printf("terminate, on the thrower %d\n", pthread_equal(thrower, pthread_self()) != 0);
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const std::exception &e) {
        printf("what: %s\n", e.what());
    }
    fflush(stdout);
    abort();
}

int
main()
{
    std::set_terminate(handler);
    std::thread([] {
        thrower = pthread_self();
        throw std::runtime_error("nobody catches this");
    }).join();
    return 9;
}
