/* Level changes of a piecewise constant curve. */
#include "stats/stats.h"

#include <math.h>

/* -1, 0 or 1: how `value` lies to the band around `level`. */
static int side(double value, double level, double relative) {
    double distance = value - level;
    if (fabs(distance) <= relative * fabs(level)) {
        return 0;
    }
    return distance > 0 ? 1 : -1;
}

size_t gc_find_steps(const double *y, size_t count, double min_relative_step, size_t *steps, size_t capacity) {
    size_t found = 0;
    double level = count > 0 ? y[0] : 0; /* running mean of the current level */
    double members = 1;
    for (size_t i = 1; i < count && found < capacity; i++) {
        int here = side(y[i], level, min_relative_step);
        if (here == 0) {
            members += 1;
            level += (y[i] - level) / members;
            continue;
        }
        /* A lone spike is no level: the next sample must agree. The last one has none to contradict it. */
        if (i + 1 < count && side(y[i + 1], level, min_relative_step) != here) {
            continue;
        }
        steps[found++] = i;
        level = y[i];
        members = 1;
    }
    return found;
}
