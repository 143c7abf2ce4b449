/* What hosts say of themselves. */

#include "deploy/hosts/host_report.h"

#include <math.h>
#include <string.h>

#include "tests/lib/suite.h"

#define VERSIONS                                                                                   \
    "@version syncopate syncopate 1.0\n@version syncopate-ps syncopate 1.0 (commit 1a2b)\n"        \
    "@version syncopate-worker syncopate 1.0\n"

static const struct host_wanted wanted = {
    .version = "syncopate 1.0", .first_port = 20000, .bin = "/opt/bin"};

static struct host_report read_report(const char *text, int code, const char *said)
{
    struct host_report report;
    host_report_read(&report, &wanted, text, code, said, 1000);
    return report;
}

TEST_PLAIN(a_host_that_has_all_takes_part)
{
    struct host_report report =
        read_report("Welcome to beta!\n@time 1003.5\n@shared\n" VERSIONS "{\"home\":\"/home/"
                    "kim\",\"processors\":8,\"instructions\":\"avx2\",\"arithmetic\":\"00ff\","
                    "\"data_fault\":null,\"ports_taken\":[20001,20040,3,99999]}\n",
                    0, "");
    ck_assert_str_eq(report.fault, "");
    ck_assert(report.shares);
    ck_assert_double_eq(report.clock_ahead, 3.5);
    ck_assert_str_eq(report.home, "/home/kim");
    ck_assert_str_eq(report.arithmetic, "00ff");
    ck_assert_uint_eq(report.processors, 8);
    ck_assert(!host_report_port_taken(&report, &wanted, 20000));
    ck_assert(host_report_port_taken(&report, &wanted, 20001));
    ck_assert(host_report_port_taken(&report, &wanted, 20040));
    ck_assert(!host_report_port_taken(&report, &wanted, 3));
}

TEST_PLAIN(what_keeps_a_host_from_taking_part_is_named)
{
    static const struct {
        const char *text;
        int code;
        const char *said, *fault;
        int exit_code;
    } cases[] = {
        {NULL, 255, "ssh: connect to host beta port 22: Connection refused",
         "cannot be reached: ssh: connect to host beta port 22: Connection refused",
         EXIT_CANNOT_OPEN},
        {"hello\n", 255, "", "cannot be reached: it printed nothing", EXIT_CANNOT_OPEN},
        {"@time 1000\n", 127, "there is no program /opt/bin/syncopate-ps",
         "cannot run the programs: there is no program /opt/bin/syncopate-ps", EXIT_CANNOT_OPEN},
        {"@time 1000\n@version syncopate syncopate 0.9\n", 2, "no command 'probe'",
         "has another version: /opt/bin/syncopate is 'syncopate 0.9', here it is 'syncopate 1.0'",
         EXIT_MISMATCH},
        {VERSIONS, 2, "no memory", "cannot be asked: no memory", EXIT_CANNOT_OPEN},
        {VERSIONS "{\"data_fault\":\"no folder /data\"}\n", 0, "",
         "has not the data: no folder /data", EXIT_CANNOT_OPEN},
        {VERSIONS "{\"program_fault\":\"it ended\"}\n", 0, "no net.py",
         "cannot run the program: it ended: no net.py", EXIT_PROGRAM},
        {VERSIONS "{\"data_fault\"\n", 0, "", "cannot be asked: it printed nothing",
         EXIT_CANNOT_OPEN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_report report = read_report(cases[i].text, cases[i].code, cases[i].said);
        ck_assert_str_eq(report.fault, cases[i].fault);
        ck_assert_int_eq(report.exit_code, cases[i].exit_code);
    }
    struct host_report report = read_report("@time nan\n@time 5x\n", 0, "");
    ck_assert(isnan(report.clock_ahead));
}

TEST_PLAIN(whose_bits_differ_is_told_from_the_first_that_can_take_part)
{
    const char *const names[] = {"down", "alpha", "beta", "gamma"};
    struct host_report reports[4] = {{.fault = "cannot be reached", .exit_code = 5},
                                     {.arithmetic = "aa", .instructions = "avx512"},
                                     {.arithmetic = "aa", .instructions = "avx2"},
                                     {.arithmetic = "bb", .instructions = "plain"}};
    host_reports_compare(reports, names, 4);
    ck_assert_str_eq(reports[0].fault, "cannot be reached");
    ck_assert_str_eq(reports[1].fault, "");
    ck_assert_str_eq(reports[2].fault, "");
    ck_assert_ptr_nonnull(strstr(reports[3].fault, "computes other bits than alpha (avx512 there, "
                                                   "plain on it)"));
    ck_assert_int_eq(reports[3].exit_code, EXIT_MISMATCH);
    struct host_report asked[4] = {{.program = "", .arithmetic = "aa"},
                                   {.program = "cc", .arithmetic = "aa"},
                                   {.program = "dd", .arithmetic = "aa"},
                                   {.program = "cc", .arithmetic = "aa"}};
    host_reports_compare(asked, names, 4);
    ck_assert_str_eq(asked[0].fault, "");
    ck_assert_str_eq(asked[1].fault, "");
    ck_assert_ptr_nonnull(strstr(asked[2].fault, "has not the program of alpha"));
    ck_assert_str_eq(asked[3].fault, "");
}

int main(void)
{
    return suite_run("host_report", NULL);
}
