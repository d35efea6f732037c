/* All cells of a study, by several threads that end before the call does. */
#include <experiments/reconvergence_work.h>

#include <core/threads.h>
#include <core/util.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

typedef struct crew {
    gc_study *study;
    pthread_t caller; /* only the calling thread asks the caller whether to go on */
    pthread_mutex_t lock;
    atomic_size_t next;
    atomic_bool stop;
    gpuchar_status status; /* what ended all; the first one */
    gc_error_box *error;
} crew;

static bool ends_all(gpuchar_status status) {
    return status == GPUCHAR_E_CANCELLED || status == GPUCHAR_E_OUT_OF_MEMORY;
}

/* Takes the thread's failure. */
static void end_all(crew *all, gpuchar_status status) {
    gc_error_box *box = gc_error_take();
    pthread_mutex_lock(&all->lock);
    if (!all->status) {
        all->status = status;
        all->error = box;
        box = NULL;
    }
    pthread_mutex_unlock(&all->lock);
    gc_error_put(box, GPUCHAR_OK);
    atomic_store(&all->stop, true);
}

static bool should_stop(crew *all) {
    const gpuchar_reconvergence_study_options *options = all->study->options;
    if (!atomic_load(&all->stop) && options->cancel && pthread_equal(pthread_self(), all->caller) &&
        options->cancel(options->cancel_user)) {
        end_all(all, gc_fail(GPUCHAR_E_CANCELLED, "cancelled while compiling"));
    }
    return atomic_load(&all->stop);
}

/* The failure in words, with the first of the compiler's own. */
static void keep_failure(gc_study_cell *cell, gpuchar_status status) {
    const gpuchar_error *error = gpuchar_last_error();
    const size_t line = strcspn(error->log, "\n");
    const bool told = line == 0 || strstr(error->message, ": ") != NULL;
    cell->status = status;
    snprintf(cell->message, sizeof cell->message, "%s%s%.*s", error->message, told ? "" : ": ",
             told ? 0 : (int)(line < 160 ? line : 160), error->log);
    gc_text_clean(cell->message);
}

static gpuchar_status run_cell(const gc_study *study, gc_study_cell *cell) {
    static const gc_study_text nothing_known = {.lines = false};
    gc_image *image = NULL;
    void *made = NULL;
    const void *bytes = NULL;
    size_t size = 0;
    gpuchar_status status = GPUCHAR_OK;
    if (cell->ready) {
        bytes = cell->ready->bytes;
        size = cell->ready->size_bytes;
    } else {
        status = gc_study_make(study, cell, &image, &made, &size);
        bytes = image ? image->bytes : made;
        size = image ? image->size : size;
    }
    const uint64_t begin = gc_now_ns();
    if (!status) status = gc_study_read(bytes, size, cell->input ? &cell->input->text : &nothing_known, &cell->reading);
    cell->analyze_ns = gc_now_ns() - begin;
    gc_image_release(image);
    free(made);
    return status;
}

static void *work(void *user) {
    crew *all = user;
    while (!should_stop(all)) {
        const size_t turn = atomic_fetch_add(&all->next, 1);
        if (turn >= all->study->cell_count) break;
        gc_study_cell *cell = &all->study->cells[all->study->turns[turn].cell];
        const gpuchar_status status = run_cell(all->study, cell);
        if (ends_all(status))
            end_all(all, status);
        else if (status)
            keep_failure(cell, status);
    }
    return NULL;
}

/* Those this process may run on: a batch system gives it a share of the machine. */
static uint32_t usable_cores(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const long count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 && count < THREADS_MAX ? (uint32_t)count : count > 0 ? THREADS_MAX : 1;
}

gpuchar_status gc_study_run(gc_study *study) {
    pthread_t threads[THREADS_MAX];
    crew all = {.study = study, .caller = pthread_self()};
    study->threads = study->options->threads ? study->options->threads : usable_cores();
    pthread_mutex_init(&all.lock, NULL);
    /* Failures of cells are their own: the thread's last one stays what it was. */
    gc_error_box *before = gc_error_take();
    const size_t helpers = study->threads < study->cell_count ? study->threads : study->cell_count;
    const size_t started = gc_threads_start(threads, helpers ? helpers - 1 : 0, work, &all);
    work(&all);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&all.lock);
    gc_error_restore(before);
    return all.status ? gc_error_put(all.error, all.status) : GPUCHAR_OK;
}
