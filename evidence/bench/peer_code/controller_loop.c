/* Median seconds a call of gravity, inverse dynamics and regressor of a header: argument calls. HEADER, PREFIX: set. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include HEADER
#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)
#define STATES 64
#define MOST 64

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int larger(const void *a, const void *b)
{
    const double x = *(const double *)a - *(const double *)b;
    return (x > 0) - (x < 0);
}

int main(int count, char **arguments)
{
    static double q[STATES][MOST], v[STATES][MOST], a[STATES][MOST], out[MOST * 10 * MOST];
    const int calls = count > 1 ? atoi(arguments[1]) : 1000;
    double sum = 0, seconds[7];
    for (int i = 0; i < STATES; i++)
        for (int k = 0; k < MOST; k++) {
            q[i][k] = rand() / (double)RAND_MAX;
            v[i][k] = rand() / (double)RAND_MAX;
            a[i][k] = rand() / (double)RAND_MAX;
        }
    for (int kind = 0; kind < 3; kind++) {
        for (int repeat = 0; repeat < 7; repeat++) {
            const double start = now();
            for (int i = 0; i < calls; i++) {
                const int k = i % STATES;
                if (kind == 0)
                    NAMED(PREFIX, _gravity)(q[k], out);
                else if (kind == 1)
                    NAMED(PREFIX, _inverse_dynamics)(q[k], v[k], a[k], out);
                else
                    NAMED(PREFIX, _regressor)(q[k], v[k], a[k], out);
                sum += out[0];
            }
            seconds[repeat] = (now() - start) / calls;
        }
        qsort(seconds, 7, sizeof(double), larger);
        printf("%.6g\n", seconds[3]);
    }
    return sum == 12345.0;
}
