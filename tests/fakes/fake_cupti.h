/* What a test reads from the fake CUPTI. Found with dlsym("fake_cupti_state"). */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include <stdatomic.h>

typedef struct fake_cupti {
    atomic_int users;      /* profilers initialized and not ended: the real one knows only whether there is any */
    atomic_int most_users; /* at once */
} fake_cupti;

typedef fake_cupti *(*fake_cupti_state_function)(void);

#endif
