/* The clock and the disk of the soak's processes, preloaded into each. The file SOAK_MACHINE holds two numbers of eight
   bytes, nanoseconds: the offset of the clock from this machine's time of day, and how much longer a write to a file
   takes, ten times as much longer a flush to the disk. Monotonic clocks are this machine's, as when a clock is set.
   (libfaketime 0.9.10 fails here: Python's sleep, which waits for a monotonic time, ends with EINVAL in it.) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { CLOCK, DISK, NUMBERS };

static int64_t number_ns(int which) {
    static const volatile int64_t *numbers;
    static int tried;
    if (!tried) {
        tried = 1;
        const char *path = getenv("SOAK_MACHINE");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file >= 0) {
            void *mapped = mmap(NULL, NUMBERS * sizeof *numbers, PROT_READ, MAP_SHARED, file, 0);
            if (mapped != MAP_FAILED) numbers = mapped;
            close(file);
        }
    }
    return numbers ? numbers[which] : 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t ns = at->tv_sec * INT64_C(1000000000) + at->tv_nsec + number_ns(CLOCK);
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

static void wait_for_disk(int file, int times) {
    struct stat found;
    int64_t ns = number_ns(DISK) * times;
    if (ns <= 0 || fstat(file, &found) || !S_ISREG(found.st_mode)) return;
    struct timespec wait = {ns / 1000000000, ns % 1000000000};
    nanosleep(&wait, NULL);
}

ssize_t write(int file, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    wait_for_disk(file, 1);
    return real(file, bytes, count);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    wait_for_disk(file, 1);
    return real(file, bytes, count, at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
    return pwrite64(file, bytes, count, at);
}

int fsync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    wait_for_disk(file, 10);
    return real(file);
}

int fdatasync(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    wait_for_disk(file, 10);
    return real(file);
}
