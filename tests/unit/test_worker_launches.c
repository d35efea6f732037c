/* Several launches in one job of gpuchar-worker: their number, their order, and what does not fit. */
#include "worker_helper.h"

#include <fakes/book.h>

/* The driver's kernel "count": how many launches, and the number of each as a decimal digit. */
typedef struct count_job {
    struct {
        uint64_t out;
        uint32_t number, plus;
    } arguments;
    uint32_t out[2];
    gc_worker_buffer buffer;
    gc_worker_job job;
} count_job;

static void make_count(count_job *count, uint32_t launches) {
    static const char image[] = "cubin, or what the driver of this test takes for one";
    *count = (count_job){.arguments = {.number = 6}};
    count->buffer = (gc_worker_buffer){
        .bytes = sizeof count->out, .read = count->out, .read_bytes = sizeof count->out, .argument_offset = 0};
    count->job = (gc_worker_job){.image = image,
                                 .image_bytes = sizeof image,
                                 .kernel = "count",
                                 .arguments = &count->arguments,
                                 .argument_bytes = sizeof count->arguments,
                                 .grid = {1, 1, 1},
                                 .block = {32, 1, 1},
                                 .buffers = &count->buffer,
                                 .buffer_count = 1,
                                 .launches = launches,
                                 .launch_offset = 8,
                                 .limit_ns = 60000 * NS_PER_MS};
}

static void expect_counted(gc_worker *worker, const count_job *count, uint32_t launches, uint32_t digits) {
    gc_worker_outcome outcome;
    assert_failure(gc_worker_run(worker, &count->job, &outcome), GPUCHAR_OK);
    assert_int_equal(outcome.end, GC_WORKER_ENDED);
    assert_int_equal(count->out[0], launches);
    assert_int_equal(count->out[1], digits);
}

static void test_launches(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    count_job count;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    make_count(&count, 5);
    expect_counted(worker, &count, 5, 12345);
    make_count(&count, 1);
    expect_counted(worker, &count, 1, 1);
    make_count(&count, 3);
    count.job.launch_offset = GC_WORKER_NOWHERE; /* the number stays what it was */
    expect_counted(worker, &count, 3, 777);
    make_count(&count, 0); /* as jobs that know nothing of it: one, untouched */
    count.job.launch_offset = 0;
    expect_counted(worker, &count, 1, 7);
    make_count(&count, GC_JOB_LAUNCHES_MAX);
    gc_worker_outcome outcome;
    assert_failure(gc_worker_run(worker, &count.job, &outcome), GPUCHAR_OK);
    assert_int_equal(count.out[0], GC_JOB_LAUNCHES_MAX);
    gc_worker_stop(worker);
    close_fixture(&f);
}

static void test_refused(void **state) {
    (void)state;
    fixture f = open_fixture(GPUCHAR_WORKER_FILE);
    gc_worker *worker = NULL;
    gc_worker_outcome outcome;
    count_job count;
    assert_failure(begin_and_wait(f.session, &worker), GPUCHAR_OK);
    make_count(&count, GC_JOB_LAUNCHES_MAX + 1);
    assert_failure(gc_worker_run(worker, &count.job, &outcome), GPUCHAR_E_LIMIT);
    make_count(&count, 2);
    count.job.launch_offset = 13; /* its last byte would lie behind the arguments */
    assert_failure(gc_worker_run(worker, &count.job, &outcome), GPUCHAR_E_LIMIT);
    count.job.launch_offset = UINT32_MAX - 1;
    assert_failure(gc_worker_run(worker, &count.job, &outcome), GPUCHAR_E_LIMIT);
    count.job.launch_offset = 12;
    assert_failure(gc_worker_run(worker, &count.job, &outcome), GPUCHAR_OK);
    gc_worker_stop(worker);
    close_fixture(&f);
}

/* The other side looks as well: a job that says it makes no launch, or has no place for its number. */
static void test_wire(void **state) {
    (void)state;
    gc_wire_job job = {.image_bytes = 16, .argument_bytes = 8, .launches = 1, .kernel = "nothing"};
    assert_true(gc_job_bytes(&job, NULL) > 0);
    job.launch_offset = 4;
    assert_true(gc_job_bytes(&job, NULL) > 0);
    job.launch_offset = 5;
    assert_int_equal(gc_job_bytes(&job, NULL), 0);
    job.launch_offset = GC_WORKER_NOWHERE;
    assert_true(gc_job_bytes(&job, NULL) > 0);
    job.launches = 0;
    assert_int_equal(gc_job_bytes(&job, NULL), 0);
    job.launches = GC_JOB_LAUNCHES_MAX + 1;
    assert_int_equal(gc_job_bytes(&job, NULL), 0);
    job.launches = 1;
    job.argument_bytes = 3;
    job.launch_offset = 0;
    assert_int_equal(gc_job_bytes(&job, NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_wire)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
