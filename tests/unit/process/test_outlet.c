/* Readers that stop reading. A write that waits would hang a test until check ends it. */
/* promises: logs */

#include "common/process/outlet.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "common/process/log.h"
#include "tests/lib/suite.h"

#define LINES_MAX 100000 /* More than any reader takes that does not read. */

static char line[100];
static void make_line(size_t number)
{
    memset(line, '.', sizeof line);
    line[snprintf(line, sizeof line, "%09zu", number)] = ' ';
    line[sizeof line - 1] = '\n';
}

/* Lines until the reader takes no more. */
static size_t fill(struct outlet *outlet)
{
    for (size_t count = 0; count < LINES_MAX; count++) {
        make_line(count);
        if (outlet_put(outlet, line, sizeof line) != OUTLET_TAKEN)
            return count;
    }
    return LINES_MAX;
}

static bool read_line(FILE *file, char text[256])
{
    return fgets(text, 256, file) != NULL;
}

/* All that was taken arrives whole and in order, and what comes after it too. */
static void check_arrives(struct outlet *outlet, int reader, size_t count)
{
    char text[256];
    FILE *file = fdopen(reader, "r");
    for (size_t i = 0; i < count; i++) {
        make_line(i);
        ck_assert(read_line(file, text));
        ck_assert_mem_eq(text, line, 10);
        if (i == count / 2) /* There is room again: the rest of the line that was cut, and more. */
            ck_assert_int_eq(outlet_put(outlet, "after\n", 6), OUTLET_TAKEN);
    }
    ck_assert(read_line(file, text));
    ck_assert_mem_eq(text, "after", 5);
    fclose(file);
}

TEST_PLAIN(a_full_pipe_is_not_waited_for)
{
    int ends[2];
    struct outlet outlet;
    ck_assert_int_eq(pipe(ends), 0);
    outlet_open(&outlet, ends[1]);
    size_t count = fill(&outlet);
    ck_assert_uint_gt(count, 100);
    ck_assert_uint_lt(count, LINES_MAX);
    ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0); /* Others share it. */
    check_arrives(&outlet, ends[0], count);
    outlet_close(&outlet);
}

TEST_PLAIN(a_terminal_that_nobody_reads_is_not_waited_for)
{
    int master, slave;
    struct outlet outlet;
    struct termios raw;
    ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
    ck_assert_int_eq(tcgetattr(slave, &raw), 0);
    cfmakeraw(&raw);
    ck_assert_int_eq(tcsetattr(slave, TCSANOW, &raw), 0);
    outlet_open(&outlet, slave);
    size_t count = fill(&outlet);
    ck_assert_uint_gt(count, 10);
    ck_assert_uint_lt(count, LINES_MAX);
    check_arrives(&outlet, master, count);
    outlet_close(&outlet);
}

TEST_PLAIN(a_terminal_stopped_with_ctrl_s_is_not_waited_for)
{
    int master, slave;
    struct outlet outlet;
    ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
    outlet_open(&outlet, slave);
    ck_assert_int_eq(outlet_put(&outlet, "before\n", 7), OUTLET_TAKEN);
    ck_assert_int_eq(tcflow(slave, TCOOFF), 0);
    size_t count = fill(&outlet);
    ck_assert_uint_lt(count, LINES_MAX);
    ck_assert_int_eq(tcflow(slave, TCOON), 0);
    ck_assert_int_eq(outlet_put(&outlet, "after\n", 6), OUTLET_TAKEN);
    outlet_close(&outlet);
}

TEST_PLAIN(a_socket_that_nobody_reads_is_not_waited_for)
{
    int ends[2];
    struct outlet outlet;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    outlet_open(&outlet, ends[1]);
    ck_assert_uint_lt(fill(&outlet), LINES_MAX);
    outlet_close(&outlet);
}

TEST_PLAIN(a_file_takes_everything)
{
    struct outlet outlet;
    FILE *file = tmpfile();
    outlet_open(&outlet, fileno(file));
    for (size_t i = 0; i < 1000; i++)
        ck_assert_int_eq(outlet_put(&outlet, "0123456789\n", 11), OUTLET_TAKEN);
    ck_assert_int_eq(lseek(fileno(file), 0, SEEK_END), 11000);
    fclose(file);
}

TEST_PLAIN(a_reader_who_has_gone_is_noticed)
{
    int ends[2];
    struct outlet outlet;
    signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    outlet_open(&outlet, ends[1]);
    close(ends[0]);
    ck_assert_int_eq(outlet_put(&outlet, "x\n", 2), OUTLET_GONE);
    outlet_close(&outlet);
}

/* The log, which many write to, in the place of standard error. */
TEST_PLAIN(the_log_says_how_many_lines_were_lost)
{
    int ends[2];
    char text[LOG_LINE_MAX];
    unsigned long last = 0, lost = 0;
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    log_init("test", LOG_INFO, LOG_FORMAT_TEXT);
    for (unsigned i = 0; i < 3000; i++)
        log_info("number=%u %0200d", i, 0);
    FILE *file = fdopen(ends[0], "r");
    for (int i = 0; i < 100; i++)
        ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    log_info("number=3000");
    while (last != 3000) {
        struct log_line read;
        ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
        text[strcspn(text, "\n")] = '\0';
        ck_assert(log_line_read(&read, text));
        if (read.level == LOG_WARNING)
            ck_assert_int_eq(
                sscanf(read.text, "log lines that were not read are lost count=%lu", &lost), 1);
        else
            ck_assert_int_eq(sscanf(read.text, "number=%lu", &last), 1);
        if (last != 3000 && lost == 0)
            ck_assert_uint_lt(last, 3000 - 1);
    }
    ck_assert_uint_gt(lost, 1000);
    ck_assert_uint_lt(lost, 3000);
    fclose(file);
}

int main(void)
{
    return suite_run("outlet", NULL);
}
