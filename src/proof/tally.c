#include <proof/tally.h>
#include <stdio.h>
#include <string.h>

void gc_tally_add(gc_tally *tally, const char *name, uint64_t count) {
    uint32_t k = 0;
    while (k < tally->count && strcmp(tally->kinds[k].name, name) != 0) k++;
    if (k == GC_TALLY_KINDS_MAX) {
        tally->more++;
        return;
    }
    if (k == tally->count) tally->kinds[tally->count++] = (gc_tally_kind){name, 0};
    tally->kinds[k].count += count;
}

/* Of equal counts the one added first. */
static gc_tally_kind take_most(gc_tally *tally, uint32_t done) {
    uint32_t best = done;
    for (uint32_t i = done + 1; i < tally->count; i++)
        if (tally->kinds[i].count > tally->kinds[best].count) best = i;
    const gc_tally_kind most = tally->kinds[best];
    memmove(&tally->kinds[done + 1], &tally->kinds[done], (best - done) * sizeof most);
    tally->kinds[done] = most;
    return most;
}

void gc_tally_write(gc_tally *tally, char *text, size_t size) {
    size_t used = 0;
    text[0] = 0;
    for (uint32_t done = 0; done < tally->count; done++) {
        const gc_tally_kind most = take_most(tally, done);
        char one[48];
        const int length =
            snprintf(one, sizeof one, "%s%.20s %llu", used ? ", " : "", most.name, (unsigned long long)most.count);
        if (used + (size_t)length + sizeof ", ..." > size) {
            memcpy(text + used, ", ...", sizeof ", ...");
            return;
        }
        memcpy(text + used, one, (size_t)length + 1);
        used += (size_t)length;
    }
    if (tally->more) memcpy(text + used, ", ...", sizeof ", ...");
}
