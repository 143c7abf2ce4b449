/* talk_fields.h - fields by name: "step=3", "final", "text~waits", "want=no".
 *
 * Messages have their rows from message_fields.h, orders from here.
 *
 * Threads: constant. */

#ifndef TESTS_TALKS_TALK_FIELDS_H
#define TESTS_TALKS_TALK_FIELDS_H

#include "common/wire/message_fields.h"
#include "ps/orders/orders.h"

/* A row of a struct that has no table of its own. */
#define TALK_ROW_OF(type, name, member, kind, most, word)                                          \
    {                                                                                              \
        name, NULL, #member, FIELD_##kind, offsetof(type, member), sizeof(((type *)0)->member), 0, \
            0, most, word                                                                          \
    }

/* What a name and its fields stand for: a kind of message, or of order. */
struct talk_kind {
    const char *name;
    bool is_order;
    unsigned kind;
    const struct message_field *rows, *common; /* Its own, and those that all have. */
};

/* Of "START"; name NULL: there is none. And of what is in a packet. */
struct talk_kind talk_kind_of(const char *name);
struct talk_kind talk_kind_in(const struct packet *packet);

/* What the field of that name lies in and its row, or NULL. said: a name, up to '=', '~' or its end. */
const struct message_field *talk_field(const struct talk_kind *kind, void **of, const char *said);

/* "name=value" into the struct; false: there is no such field, or it has no such value. */
bool talk_field_set(const struct talk_kind *kind, void *of, const char *said);

/* Whether it is as said: "name=value", or "name~part" of a text. */
bool talk_field_is(const struct talk_kind *kind, void *of, const char *said);

#endif
