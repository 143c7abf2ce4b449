/* several.c - whether an engine has started this process as one of several, for the commands that
 * are a whole job by themselves. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "deploy/place/environment.h"
#include "deploy/place/source.h"

/* A batch script of Slurm's has a number too, SLURM_PROCID=0, but is of no step. */
static const char *const numbers[][2] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

static bool is_numbered(const char *const *environment, char said[PLACE_TEXT_MAX], bool *first)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t rank, size;
        if (environment_number(environment, numbers[i][0], UINT32_MAX, &rank, NULL) != STATUS_OK ||
            environment_number(environment, numbers[i][1], UINT32_MAX, &size, NULL) != STATUS_OK ||
            size < 2)
            continue;
        snprintf(said, PLACE_TEXT_MAX, "%s=%" PRIu64 ", of %" PRIu64 " processes", numbers[i][0],
                 rank, size);
        *first = rank == 0;
        return true;
    }
    return false;
}

bool place_one_of_several(const char *const *environment, char said[PLACE_TEXT_MAX], bool *first)
{
    struct place place = {.source = PLACE_TF_CONFIG};
    struct place_request request = {.environment = environment, .index = -1, .servers = -1};
    struct error error;
    const char *role = environment_value(environment, "DMLC_ROLE");
    if (is_numbered(environment, said, first))
        return true;
    snprintf(said, PLACE_TEXT_MAX, "%s%.40s", role != NULL ? "DMLC_ROLE=" : "TF_CONFIG",
             role != NULL ? role : "");
    enum status status = place_from_tf_config(&place, &request, &error);
    *first = role == NULL && place.works && place.worker == 0;
    bool alone = status == STATUS_NOT_FOUND || (status == STATUS_OK && place.alone);
    place_free(&place);
    return role != NULL || !alone;
}
