/* What the fakes gave out and did not get back, and what was done wrong with it. */
#include "book_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Handles are far from every address, and 16 apart. */
#define HANDLE_BASE ((uintptr_t)0x5a0000000000u)
#define HANDLE_STEP ((uintptr_t)16)

typedef struct object {
    fake_kind kind;
    bool alive;
    uintptr_t parent;
    void *state;
} object;

static const char *const kinds[FAKE_KINDS] = {
    "context",           "stream",         "event",        "module", "function", "memory",
    "CUPTI host object", "range profiler", "NVRTC program"};
static object *objects; /* all that ever were, so that a stale handle is known as one */
static size_t count, capacity;
static char misuses[1024];
static char held[512];

static object *at(uintptr_t handle) {
    size_t index = (size_t)((handle - HANDLE_BASE) / HANDLE_STEP);
    return handle >= HANDLE_BASE && (handle - HANDLE_BASE) % HANDLE_STEP == 0 && index < count ? &objects[index] : NULL;
}

static void end(object *one) {
    free(one->state);
    one->state = NULL;
    one->alive = false;
}

/* The handles go on counting: one of before is unknown, not somebody else's. */
void book_forget_objects(void) {
    for (size_t i = 0; i < count; i++) {
        if (objects[i].alive) end(&objects[i]);
    }
    if (count > (1u << 12)) count = 0;
    misuses[0] = 0;
}

uintptr_t fake_make(fake_kind kind, uintptr_t parent, size_t bytes, void **state) {
    book_lock();
    if (count == capacity) {
        capacity = capacity ? 2 * capacity : 256;
        object *grown = realloc(objects, capacity * sizeof *objects);
        if (!grown) abort();
        objects = grown;
    }
    void *made = calloc(1, bytes ? bytes : 1);
    if (!made) abort();
    objects[count] = (object){kind, true, parent, made};
    uintptr_t handle = HANDLE_BASE + HANDLE_STEP * count++;
    book_unlock();
    if (state) *state = made;
    return handle;
}

void *fake_find(fake_kind kind, uintptr_t handle) {
    book_lock();
    object *one = at(handle);
    bool good = one && one->kind == kind && one->alive;
    if (!good) {
        fake_misuse("%s: %s %s", fake_current(),
                    one && one->kind == kind ? "ended"
                    : handle                 ? "unknown"
                                             : "no",
                    kinds[kind]);
    }
    void *state = good ? one->state : NULL;
    book_unlock();
    return state;
}

bool fake_alive(fake_kind kind, uintptr_t handle) {
    book_lock();
    object *one = at(handle);
    bool alive = one && one->kind == kind && one->alive;
    book_unlock();
    return alive;
}

uintptr_t fake_parent(uintptr_t handle) {
    book_lock();
    object *one = at(handle);
    uintptr_t parent = one ? one->parent : 0;
    book_unlock();
    return parent;
}

bool fake_end(fake_kind kind, uintptr_t handle) {
    book_lock();
    bool found = fake_find(kind, handle) != NULL;
    if (found) {
        fake_end_children(handle);
        end(at(handle));
    }
    book_unlock();
    return found;
}

size_t fake_end_children(uintptr_t parent) {
    size_t ended = 0;
    book_lock();
    for (size_t i = 0; i < count; i++) {
        if (!objects[i].alive || objects[i].parent != parent) continue;
        ended += objects[i].kind != FAKE_FUNCTION;
        ended += fake_end_children(HANDLE_BASE + HANDLE_STEP * i);
        end(&objects[i]);
    }
    book_unlock();
    return ended;
}

uintptr_t fake_search(fake_kind kind, bool (*match)(const void *state, const void *user), const void *user,
                      void **state) {
    uintptr_t found = 0;
    book_lock();
    for (size_t i = count; i-- > 0 && !found;) {
        if (!objects[i].alive || objects[i].kind != kind || !match(objects[i].state, user)) continue;
        found = HANDLE_BASE + HANDLE_STEP * i;
        if (state) *state = objects[i].state;
    }
    book_unlock();
    return found;
}

/* ---- what is held: contexts are counted by how often they are retained; a caller's own is the caller's */

size_t fake_held(fake_kind kind) {
    size_t number = 0;
    book_lock();
    for (size_t i = 0; i < count && kind != FAKE_CONTEXT && kind != FAKE_FUNCTION; i++) {
        number += objects[i].alive && objects[i].kind == kind;
    }
    for (int i = 0; i < FAKE_DEVICES && kind == FAKE_CONTEXT; i++) number += (size_t)fake()->retains[i];
    book_unlock();
    return number;
}

size_t fake_held_all(void) {
    book_lock();
    size_t number = (size_t)fake()->profilers + (size_t)fake()->nvml_users;
    for (int kind = 0; kind < FAKE_KINDS; kind++) number += fake_held((fake_kind)kind);
    book_unlock();
    return number;
}

const char *fake_held_text(void) {
    size_t length = 0;
    book_lock();
    held[0] = 0;
    for (int kind = 0; kind < FAKE_KINDS; kind++) {
        size_t number = fake_held((fake_kind)kind);
        if (number > 0 && length < sizeof held) {
            length += (size_t)snprintf(held + length, sizeof held - length, "%zu %s, ", number, kinds[kind]);
        }
    }
    if (length < sizeof held) {
        snprintf(held + length, sizeof held - length, "CUPTI %d, NVML %d", fake()->profilers, fake()->nvml_users);
    }
    book_unlock();
    return held;
}

void fake_misuse(const char *format, ...) {
    va_list arguments;
    book_lock();
    size_t length = strlen(misuses);
    va_start(arguments, format);
    vsnprintf(misuses + length, sizeof misuses - length, format, arguments);
    va_end(arguments);
    length = strlen(misuses);
    snprintf(misuses + length, sizeof misuses - length, "; ");
    book_unlock();
}

const char *fake_misuses(void) {
    return misuses;
}

/* ---- a context of the caller */

uintptr_t fake_context(int device) {
    void *state = NULL;
    uintptr_t handle = fake_make(FAKE_CONTEXT, 0, sizeof(fake_context_state), &state);
    ((fake_context_state *)state)->device = device;
    return handle;
}

void fake_context_destroy(uintptr_t context) {
    fake_end(FAKE_CONTEXT, context);
}
