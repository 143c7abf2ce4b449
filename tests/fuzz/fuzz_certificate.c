/* fuzz_certificate.c - certificates as they come from other people: what is read says the same when
 * it is written again, and what it lets one be can be told to a server and back. */

#include <string.h>

#include "common/job/job.h"
#include "common/keys/certificate.h"
#include "tests/fuzz/fuzz.h"

/* All is on the stack; the C library reads its time zone. */
const struct fuzz_bounds fuzz_bounds = {32u << 10, 0};

void fuzz_start(void)
{
}

static void check_again(const struct certificate *certificate)
{
    char text[CERTIFICATE_BYTES_MAX];
    struct certificate again;
    struct error error;
    size_t bytes = certificate_format(certificate, certificate->has_secret, text);
    fuzz_must(bytes == strlen(text), "a certificate fits into a file");
    fuzz_must(certificate_parse(text, bytes, &again, &error) == STATUS_OK,
              "what was written reads");
    fuzz_must(memcmp(certificate, &again, sizeof again) == 0, "writing changes nothing");
    bytes = certificate_format(certificate, false, text);
    fuzz_must(certificate_parse(text, bytes, &again, &error) == STATUS_OK && !again.has_secret,
              "a public certificate tells no secret");
}

static void check_identity(const struct certificate *certificate)
{
    char text[IDENTITY_TEXT];
    struct identity identity, again;
    struct error error;
    if (certificate_identity(certificate, &identity, &error) != STATUS_OK)
        return;
    identity_format(&identity, text);
    fuzz_must(identity_parse(text, &again), "an identity reads");
    fuzz_must(key_equal(identity.key, again.key) && identity.role == again.role &&
                  identity.has_index == again.has_index && identity.index == again.index,
              "an identity survives its text");
    fuzz_must(!identity.has_index || identity.index < JOB_WORKERS_MAX, "a task has a number");
}

void fuzz_one(const uint8_t *data, size_t size)
{
    char text[IDENTITY_TEXT] = "";
    struct certificate certificate;
    struct identity identity;
    struct error error = {0};
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    if (identity_parse(text, &identity)) {
        char again[IDENTITY_TEXT];
        identity_format(&identity, again);
        fuzz_must(strcmp(text, again) == 0, "an identity has one text");
    }
    if (certificate_parse((const char *)data, size, &certificate, &error) != STATUS_OK) {
        fuzz_must(error.text[0] != '\0', "a refusal says why");
        return;
    }
    check_again(&certificate);
    check_identity(&certificate);
}
