/* fuzz_safetensors.c - model files from anywhere: what opens can be written and opened
 * again. */

#include <stdlib.h>
#include <string.h>

#include "common/store/model_file.h"
#include "common/store/safetensors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/lib/samples.h"

/* The disk, the file as read, its header as JSON, its variables and their values. */
const struct fuzz_bounds fuzz_bounds = {256u << 10, 192};

void fuzz_start(void)
{
}

static void check_tensors(const uint8_t *data, size_t size)
{
    struct safetensors_file file;
    struct error error;
    if (safetensors_open(&file, data, size, "a file", &error) == STATUS_OK) {
        for (size_t i = 0; i < file.tensor_count; i++) {
            const struct safetensors_tensor *tensor = &file.tensors[i];
            fuzz_must(tensor->data >= data && tensor->end >= tensor->begin &&
                          tensor->data + (tensor->end - tensor->begin) <= data + size,
                      "tensors lie within the file");
        }
        safetensors_metadata(&file, "format");
    }
    safetensors_close(&file);
}

static void check_file(struct model_file *file, struct simulated_disk *disk)
{
    struct error error;
    char before[65], after[65];
    parameters_sha256(file->variables, file->variable_count, file->parameters, before);
    fuzz_must(model_file_write(&disk->disk, "b.safetensors", file->model, file->variables,
                               file->variable_count, file->parameters, NULL, &error) == STATUS_OK,
              "what was opened can be written");

    struct model_file again;
    fuzz_must(model_file_open(&again, &disk->disk, "b.safetensors", &error) == STATUS_OK,
              "what was written can be opened");
    fuzz_must(again.variable_count == file->variable_count, "writing keeps every variable");
    for (uint32_t i = 0; i < file->variable_count; i++)
        fuzz_must(memcmp(&again.variables[i], &file->variables[i], sizeof again.variables[i]) == 0,
                  "writing keeps order, names and shapes");
    parameters_sha256(again.variables, again.variable_count, again.parameters, after);
    fuzz_must(strcmp(before, after) == 0, "writing keeps every value");
    model_file_close(&again);
}

void fuzz_one(const uint8_t *data, size_t size)
{
    check_tensors(data, size);
    struct simulated_disk disk;
    struct model_file file;
    struct error error;
    simulated_disk_init(&disk, 1, 1);
    samples_put(&disk, "a.safetensors", data, size);
    if (model_file_open(&file, &disk.disk, "a.safetensors", &error) == STATUS_OK)
        check_file(&file, &disk);
    model_file_close(&file);
    simulated_disk_free(&disk);
}
