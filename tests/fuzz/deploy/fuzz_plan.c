/* fuzz_plan.c - a plan of a comparison from anywhere. What can be read is written and read again as the same
 * plan, and the words that stand for its arms and axes say the same. */

#include <stdlib.h>
#include <string.h>

#include "deploy/compare/plan_file.h"
#include "tests/fuzz/fuzz.h"

/* An option that is tried takes struct options; an empty object, three characters, a hash table in jansson. */
const struct fuzz_bounds fuzz_bounds = {512u << 10, 512};

void fuzz_start(void)
{
}

static bool none(void *context, const struct option_row *row)
{
    (void)context;
    (void)row;
    return false;
}

static void take_words(const struct plan *plan)
{
    struct options *options = calloc(1, sizeof *options);
    char *texts[NAMED_CONFIGS_MAX] = {NULL};
    struct named_configs configs;
    struct error error;
    fuzz_must(options != NULL, "there is memory");
    for (size_t i = 0; i < plan->axes.count; i++) {
        char *text = axes_text(&plan->axes.list[i], none, NULL);
        fuzz_must(text != NULL && axes_text_has(text, plan->axes.list[i].options[0].row),
                  "an axis that was written has its option");
        free(text);
    }
    for (size_t i = 0; i < plan->configs.count; i++) {
        texts[i] = named_config_text(&plan->configs.list[i]);
        fuzz_must(texts[i] != NULL, "there is memory");
        options->config.items[options->config.count++] = texts[i];
    }
    fuzz_must(named_configs_read(&configs, options, &error) == STATUS_OK, "arms can be typed");
    for (size_t i = 0; i < configs.count; i++) {
        fuzz_must(configs.list[i].own.count == plan->configs.list[i].own.count,
                  "an arm has its options");
        for (size_t j = 0; j < configs.list[i].own.count; j++)
            fuzz_must(strcmp(configs.list[i].own.items[j].value,
                             plan->configs.list[i].own.items[j].value) == 0,
                      "typed they have the same values");
    }
    named_configs_free(&configs);
    for (size_t i = 0; i < plan->configs.count; i++)
        free(texts[i]);
    free(options);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    struct plan *plan = malloc(sizeof *plan), *again = malloc(sizeof *again);
    struct json_writer writer, rewritten;
    struct error error = {.text = ""};
    fuzz_must(plan != NULL && again != NULL, "there is memory");
    if (plan_read(plan, (const char *)data, size, "input", &error) != STATUS_OK) {
        fuzz_must(error.text[0] != '\0' && strchr(error.text, '\n') == NULL,
                  "a refusal says why in a line");
    } else {
        json_writer_init(&writer, true);
        json_writer_init(&rewritten, true);
        plan_write(plan, &writer);
        fuzz_must(plan_read(again, writer.text, writer.bytes, "there", &error) == STATUS_OK,
                  "a plan that was written can be read");
        plan_write(again, &rewritten);
        fuzz_must(strcmp(writer.text, rewritten.text) == 0, "writing changes nothing");
        json_writer_free(&writer);
        json_writer_free(&rewritten);
        plan_free(again);
        take_words(plan);
    }
    plan_free(plan);
    free(plan);
    free(again);
}
