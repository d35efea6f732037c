/* Student's t. */
#include "stats/stats.h"

#include <math.h>

/*
 * Probability that |T| <= t, for a whole number of degrees: a finite series (Abramowitz and Stegun 26.7.3, 26.7.4).
 */
static double two_sided_probability(double t, size_t degrees) {
    const double two_over_pi = 0.63661977236758134308;
    double angle = atan(t / sqrt((double)degrees));
    double sine = sin(angle), cosine = cos(angle);
    bool odd = degrees % 2 == 1;
    double term = odd ? cosine : 1;
    double sum = degrees == 1 ? 0 : term;
    for (size_t k = odd ? 3 : 2; k + 2 <= degrees; k += 2) {
        term *= cosine * cosine * (double)(k - 1) / (double)k;
        sum += term;
    }
    return odd ? two_over_pi * (angle + sine * sum) : sine * sum;
}

/* Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5). */
static double expansion(double degrees) {
    const double z = 1.9599639845400542;
    double z2 = z * z;
    double g1 = (z2 + 1) * z / 4;
    double g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
    double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
    double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;
    return z + (g1 + (g2 + (g3 + g4 / degrees) / degrees) / degrees) / degrees;
}

double gc_student_t95(size_t degrees) {
    if (degrees > 300) {
        return expansion((double)degrees); /* error below 1e-11 from here on */
    }
    degrees = degrees > 0 ? degrees : 1;
    double low = 1.9, high = 13; /* all quantiles lie between: 12.706 for one degree, 1.960 for infinitely many */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (two_sided_probability(middle, degrees) < 0.95) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}
