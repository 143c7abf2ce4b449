/* declaration.c - the declaration in its encoding: put together from pages, decoded and checked
 * once, and sent on page by page. */

#include "ps/coordinator/declaration.h"

#include <stdlib.h>
#include <string.h>

#define UPLOAD_US 5000000u /* A declaration that stops coming is forgotten. */

void declaration_forget_upload(struct declaration *declaration)
{
    pages_free(&declaration->upload);
    declaration->uploader = 0;
}

void declaration_free(struct declaration *declaration)
{
    declaration_forget_upload(declaration);
    job_free(&declaration->job);
    free(declaration->bytes);
    memset(declaration, 0, sizeof *declaration);
}

void declaration_ask(struct declaration *declaration, const struct envelope *envelope,
                     const struct packet *join, uint64_t now_us, struct outbox *outbox)
{
    if (declaration->uploader != 0 && declaration->uploader != join->peer &&
        now_us - declaration->uploaded_us < UPLOAD_US) {
        envelope_ask_to_wait(envelope, join, "another worker is declaring the job", outbox);
        return;
    }
    if (declaration->uploader != join->peer)
        declaration_forget_upload(declaration);
    declaration->uploader = join->peer;
    declaration->uploaded_us = now_us;
    declaration->known_run_id = join->message.run_id;
    envelope_answer(envelope, join, MESSAGE_WANT_JOB, outbox);
}

enum status declaration_add(struct declaration *declaration, const struct packet *page,
                            uint64_t now_us, struct job *job, struct error *error)
{
    struct pages *upload = &declaration->upload;
    if (declaration->uploader != page->peer)
        return STATUS_AGAIN; /* Not asked for, or not any more. */
    declaration->uploaded_us = now_us;
    if (pages_add(upload, &page->message.job_page) != STATUS_OK)
        return STATUS_AGAIN;
    enum status status = job_decode(upload->bytes, upload->total, job, error);
    if (status == STATUS_MEMORY) { /* It is asked for again. */
        declaration_forget_upload(declaration);
        return STATUS_AGAIN;
    }
    return status == STATUS_OK ? STATUS_OK : STATUS_INVALID;
}

enum status declaration_accept(struct declaration *declaration, struct job *job)
{
    declaration->job = *job;
    declaration->bytes = declaration->upload.bytes;
    declaration->size = declaration->upload.total;
    declaration->upload.bytes = NULL;
    declaration_forget_upload(declaration);
    return job_digest(&declaration->job, declaration->digest);
}

void declaration_send(const struct declaration *declaration, const struct envelope *envelope,
                      uint64_t peer, struct outbox *outbox)
{
    struct message_job_page page;
    for (uint32_t i = 0; pages_cut(declaration->bytes, declaration->size, i, &page); i++)
        envelope_to_peer(envelope, peer, MESSAGE_JOB_PAGE, outbox)->message.job_page = page;
}
