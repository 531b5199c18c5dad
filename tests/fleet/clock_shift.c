/*
 * Shifts the wall clock of a process by CLOCK_SHIFT_S seconds, as if nobody had set the clock of its
 * machine: LD_PRELOAD names this library. Monotonic clocks, timeouts and times of files stay as they
 * are. libfaketime 0.9.10 would do, but with it time.sleep() of Python 3.11 fails with EINVAL.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long shift_s(void)
{
    static long shift;
    static int known;
    if (!known) {
        const char *text = getenv("CLOCK_SHIFT_S");
        shift = text ? atol(text) : 0;
        known = 1;
    }
    return shift;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += shift_s();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now)
{
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (now)
        *now = exact.tv_sec;
    return exact.tv_sec;
}

/* Its deadline is an instant of the wall clock, which the kernel compares with its own. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    static int (*real)(sem_t *, const struct timespec *);
    struct timespec kernels = *until;
    if (!real)
        real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    kernels.tv_sec -= shift_s();
    return real(semaphore, &kernels);
}
