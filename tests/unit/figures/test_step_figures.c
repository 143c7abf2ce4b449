/* test_step_figures.c - each arm's step is found where its run or its warm-up left it. */
/* promises: trace */

#include "deploy/figures/step_figures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deploy/trace/trace.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"
#include "tests/lib/traces/made_trace.h"
#include "tests/lib/xml.h"

/* A comparison of arms with a run each. */
struct scene {
    struct comparison comparison;
    struct record records[3];
    const struct record *of_group[3];
    struct step_figures figures;
};

static void add_config(struct scene *s, const char *name, const char *label)
{
    size_t i = s->comparison.group_count++;
    struct group *group = &s->comparison.groups[i];
    char place[128];
    snprintf(group->config.name, sizeof group->config.name, "%s", name);
    snprintf(group->label, sizeof group->label, "%s", label);
    snprintf(place, sizeof place, "cmp/runs/%s-s1", name);
    scratch_path(s->records[i].path, place);
    s->of_group[i] = &s->records[i];
    group->records = &s->of_group[i];
    group->record_count = 1;
}

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    add_config(s, "sync-w3", "sync, 3 workers");
    add_config(s, "async-w1", "async, 1 worker");
    add_config(s, "ssp-w1", "ssp:1, 1 worker");
}

static void close_scene(struct scene *s)
{
    step_figures_free(&s->figures);
}

#define TEST(name) SUITE_TEST(name, struct scene, s, open_scene(s), close_scene(s))

static void put_trace(const char *folder, uint32_t workers)
{
    char path[DISK_PATH_MAX], name[128], json[DISK_PATH_MAX];
    struct made_trace made = {.list = NULL};
    struct spans spans;
    struct trace_written told;
    struct error error;
    made_trace_steps(&made, workers, 4, 3);
    int file = made_trace_file(&made, workers > 1 ? 7 : 0); /* 0: virtual time. */
    spans_init(&spans);
    scratch_path(path, folder);
    ck_assert_int_eq(disk_posix.make_directory(disk_posix.context, path, &error), STATUS_OK);
    snprintf(name, sizeof name, "%s/trace.spans", folder);
    scratch_path(path, name);
    scratch_path(json, "trace.json");
    const struct trace_request request = {json, path, 20, TRACE_BYTES_MAX};
    ck_assert_int_eq(spans_add(&spans, file, "made up", &error), STATUS_OK);
    ck_assert_int_eq(spans_finish(&spans, 20, &error), STATUS_OK);
    ck_assert_int_eq(trace_write(&spans, &request, &told, &error), STATUS_OK);
    spans_free(&spans);
    made_trace_free(&made);
    close(file);
}

TEST(a_run_has_its_own_or_its_warm_up_has_one_or_there_is_none)
{
    char why[256];
    struct error error;
    put_trace("cmp/warm-up/sync-w3", 3);
    put_trace("cmp/runs/async-w1-s1", 1);
    ck_assert_int_eq(step_figures_make(&s->figures, &s->comparison, &error), STATUS_OK);
    ck_assert_uint_eq(s->figures.count, 2);
    const struct step_figure *sync = &s->figures.items[0], *async = &s->figures.items[1];
    ck_assert_str_eq(sync->name, "step-sync-w3");
    ck_assert_str_eq(sync->label, "sync, 3 workers");
    ck_assert_ptr_nonnull(strstr(sync->caption, "of warm-up/sync-w3, which took as long as most"));
    ck_assert_ptr_nonnull(strstr(sync->caption, "warm-up/sync-w3/trace.json"));
    ck_assert_ptr_null(strstr(sync->caption, "virtual"));
    ck_assert_ptr_nonnull(strstr(async->caption, "Batch "));
    ck_assert_ptr_nonnull(strstr(async->caption, "runs/async-w1-s1, which took"));
    ck_assert_ptr_nonnull(strstr(async->caption, "in virtual time"));
    ck_assert_ptr_nonnull(strstr(sync->wide, ">sync, 3 workers: step "));
    ck_assert_ptr_null(xml_fault(sync->wide, why, sizeof why));
    ck_assert_ptr_null(xml_fault(async->narrow, why, sizeof why));
}

TEST(what_is_damaged_is_as_if_it_were_not_there)
{
    char path[DISK_PATH_MAX];
    struct error error;
    put_trace("cmp/runs/async-w1-s1", 1);
    scratch_path(path, "cmp/runs/async-w1-s1/trace.spans");
    scratch_write(path, "words", 5);
    ck_assert_int_eq(step_figures_make(&s->figures, &s->comparison, &error), STATUS_OK);
    ck_assert_uint_eq(s->figures.count, 0);
}

int main(void)
{
    return suite_run("step_figures", scratch_add);
}
