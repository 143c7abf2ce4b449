/* run.c - what follows from the fields that all machines see. */

#include "ps/coordinator/run.h"

#include <stdarg.h>

struct effect effect_failed(int exit_code, const char *format, ...)
{
    struct effect effect = {.kind = EFFECT_FAILED, .exit_code = exit_code};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(effect.text, sizeof effect.text, format, arguments);
    va_end(arguments);
    return effect;
}

bool run_records(const struct run *run)
{
    return !job_mode(run->job)->steps && run->job->record == RECORDING_ON &&
           !run->options.allow_mixed;
}

struct quorum *run_quorum(const struct run *run)
{
    return run->work.rules != NULL ? run->work.rules->quorum(&run->work) : NULL;
}

bool run_is_of_another(const struct run *run, const struct message *message)
{
    bool some_run_is_known = run->envelope.run_id != 0 || message->run_id == run->ended_run_id;
    return some_run_is_known && message->run_id != 0 && message->run_id != run->envelope.run_id;
}

/* If server 0 was killed when the run had ended, its successor may serve another run, or find
 * that it cannot. Members of the old run that had not heard of the end hear it here. */
bool run_refuse_other(const struct run *run, const struct packet *packet)
{
    if (!run_is_of_another(run, &packet->message))
        return false;
    if (packet->message.kind == MESSAGE_BYE)
        return true;
    if (packet->message.run_id != run->ended_run_id) {
        run_refuse(run, packet, REFUSAL_RUN, "not a process of the run served here");
        return true;
    }
    struct message *finished = &run_answer(run, packet, MESSAGE_FINISHED)->message;
    finished->stop.exit_code = run->ended_code;
    snprintf(finished->stop.reason, MESSAGE_TEXT_MAX, "the run had ended");
    return true;
}
