/* Preloaded into a process, sets its wall clock back by an hour as soon as the file named by CLOCK_STEP exists. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    const char *file = getenv("CLOCK_STEP");
    if (clock == CLOCK_REALTIME && file && access(file, F_OK) == 0) now->tv_sec -= 3600;
    return result;
}
