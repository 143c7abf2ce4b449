/* exchange_check.c - the invariants of an exchange between two messages. */

#include "common/base/invariant.h"
#include "worker/client/exchange_state.h"

#define RULE(condition, rule) INVARIANT("exchange", condition, rule)

/* The chunks of a link's server, counted. */
struct found {
    uint32_t unanswered;
    uint64_t unconfirmed_bytes, ahead_bytes;
    bool unsent;
};

static void count_nodes(const struct exchange *x, uint32_t chunk, struct found *found)
{
    for (uint32_t node = 0; node < x->pushed_count; node++) {
        const struct pushed *pushed = &x->pushed[node];
        enum sent sent = pushed->sent[chunk];
        RULE(sent <= CONFIRMED, "a gradient is sent or not");
        bool comes = x->open && node + 1 == x->pushed_count; /* It has not all come yet. */
        found->unsent = found->unsent || (sent == NOT_SENT && !comes);
        RULE(IMPLIES(comes && sent != NOT_SENT, chunk != x->links[0].first_chunk &&
                                                    x->partition->chunks[chunk].first >= x->ready),
             "what leaves early is there, and has no report");
        RULE(IMPLIES(comes && sent == NOT_SENT, x->chunks[chunk].request == 0),
             "what is to come asks for nothing");
        if (pushed->gradient != NULL && (sent == SENT || sent == ASKED_FOR))
            found->unconfirmed_bytes += x->partition->chunks[chunk].count * sizeof(float);
        if (pushed->gradient != NULL && pushed->what.want && sent != NOT_SENT &&
            x->chunks[chunk].request != 0)
            found->ahead_bytes += x->partition->chunks[chunk].count * sizeof(float);
    }
}

static void check_asked(const struct exchange *x, const struct asked *asked)
{
    RULE((asked->request == 0) == (asked->first_request == 0), "a chunk is asked for or not");
    RULE(asked->first_request <= asked->request, "the latest number is not before the first");
    RULE(asked->request == 0 || asked->stays == NULL, "values that are asked for are not here");
    RULE(asked->stays == NULL || asked->stays->stays, "only what stays is left where it is");
    RULE(asked->request == 0 || x->pushed[0].what.newest || !job_mode(x->job)->steps ||
             asked->want == x->version,
         "all chunks are asked for one version");
}

static void check_link(const struct exchange *x, uint32_t server)
{
    const struct link *link = &x->links[server];
    struct found found = {0};
    for (uint32_t i = 0; i < x->partition->chunk_count; i++) {
        if (x->partition->chunks[i].server != server)
            continue;
        found.unanswered += x->chunks[i].request != 0;
        count_nodes(x, i, &found);
    }
    RULE(link->unanswered == found.unanswered, "unanswered counts the chunks that are asked for");
    RULE(link->unconfirmed_bytes == found.unconfirmed_bytes,
         "unconfirmed_bytes is the sum over what is sent and not confirmed");
    RULE(link->ahead_bytes == found.ahead_bytes,
         "ahead_bytes is the sum over what is sent and not answered");
    RULE(link->waiting == found.unsent, "what is not sent waits for the window");
    if (!link->waiting)
        return;
    RULE(link->next_node < x->pushed_count - x->open &&
             link->next_chunk < x->partition->chunk_count &&
             x->partition->chunks[link->next_chunk].server == server,
         "what waits is a chunk of this server");
    RULE(x->pushed[link->next_node].sent[link->next_chunk] == NOT_SENT,
         "what waits has not been sent");
    RULE(link->unconfirmed_bytes + link->ahead_bytes > 0,
         "nothing waits for a window that is empty");
}

void exchange_check(const struct exchange *exchange)
{
    const struct exchange *x = exchange;
    uint32_t under_way = 0;
    RULE(x->pushed_count <= TREE_COVER_MAX, "there is room for every node");
    for (uint32_t i = 0; i < TREE_COVER_MAX; i++) {
        RULE(i < x->pushed_count || x->pushed[i].gradient == NULL, "what is forgotten is let go");
        RULE(i >= x->pushed_count || x->pushed[i].sent != NULL,
             "of every node it is known what is sent");
        RULE(i >= x->pushed_count || x->pushed[i].what.want == ((x->under_way > 0 || x->open) &&
                                                                i + 1 == x->pushed_count),
             "the last node asks for values, and then no other follows");
    }
    for (uint32_t i = 0; i < x->partition->chunk_count; i++) {
        check_asked(x, &x->chunks[i]);
        under_way += x->chunks[i].request != 0;
    }
    for (uint32_t i = 0; x->under_way > 0 && !x->open && i < x->front; i++)
        RULE(x->chunks[i].request == 0, "what may be read has come");
    RULE(x->under_way == under_way, "under_way counts the chunks that are asked for");
    RULE(IMPLIES(x->under_way > 0 || x->open, x->pushed_count > 0),
         "something was pushed to be answered");
    for (uint32_t i = 0; i < x->job->server_count; i++)
        check_link(x, i);
}

bool exchange_view_is_here(const struct exchange *exchange)
{
    const struct frame *stays = exchange->chunks[0].stays;
    return exchange->view == exchange->parameters ||
           (stays != NULL && stays->data == exchange->view);
}
