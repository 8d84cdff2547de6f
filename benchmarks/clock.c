/* The clock of the soak's processes, preloaded into each: this machine's time of day plus an offset in nanoseconds,
   which the first eight bytes of the file SOAK_CLOCK hold. Monotonic clocks are this machine's, as when a clock is set.
   (libfaketime 0.9.10 fails here: Python's sleep, which waits for a monotonic time, ends with EINVAL in it.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

static int64_t offset_ns(void) {
    static int tried;
    if (!tried) {
        tried = 1;
        const char *path = getenv("SOAK_CLOCK");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0) {
            void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
            if (mapped != MAP_FAILED) offset = mapped;
            close(file);
        }
    }
    return offset ? *offset : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = at->tv_sec * INT64_C(1000000000) + at->tv_nsec + offset_ns();
        at->tv_sec = ns / 1000000000;
        at->tv_nsec = ns % 1000000000;
    }
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
