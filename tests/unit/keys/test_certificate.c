/* test_certificate.c - certificates: czmq's and ours, what breaks a rule, who may read them, and
 * that none is overwritten. */
/* promises: key-files key-role refused */

#include "common/keys/certificate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/keys/allow_list.h"
#include "common/keys/keys.h"
#include "common/wire/message.h"
#include "tests/lib/scratch.h"
#include "tests/lib/suite.h"

#define PUBLIC "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"
#define SECRET "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"
#define OTHER  "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

/* As czmq's zcert_save writes it. */
static const char of_czmq[] =
    "#   ****  Generated on 2026-11-20 17:02:31 by CZMQ  ****\n"
    "#   ZeroMQ CURVE **Secret** Certificate\n"
    "#   DO NOT PROVIDE THIS FILE TO OTHER USERS nor change its permissions.\n"
    "    \n"
    "metadata\n"
    "    name = \"Ada's \xc3\xa4rger\"\n"
    "    organization = 'says \"hello\"'\n"
    "    mail = ada@example.org\n"
    "curve\n"
    "    public-key = \"" PUBLIC "\"\n"
    "    secret-key = \"" SECRET "\"\n";

static struct certificate parsed(const char *text)
{
    struct certificate certificate;
    struct error error;
    ck_assert_msg(certificate_parse(text, strlen(text), &certificate, &error) == STATUS_OK, "%s",
                  error.text);
    return certificate;
}

static void check_refused(const char *text, const char *why)
{
    struct certificate certificate;
    struct error error;
    ck_assert_msg(certificate_parse(text, strlen(text), &certificate, &error) == STATUS_INVALID,
                  "%s", text);
    ck_assert_msg(strstr(error.text, why) != NULL, "%s: %s", text, error.text);
    ck_assert(!certificate.has_secret && key_is_none(certificate.secret_key));
}

static void check_key(const uint8_t *key, const char *expected)
{
    char text[KEY_TEXT];
    key_format(key, text);
    ck_assert_str_eq(text, expected);
}

/* --- text ------------------------------------------------------------------------------------ */

TEST_PLAIN(czmqs_certificates_are_read)
{
    struct certificate certificate = parsed(of_czmq);
    check_key(certificate.public_key, PUBLIC);
    check_key(certificate.secret_key, SECRET);
    ck_assert(certificate.has_secret);
    static const struct certificate_metadata expected[] = {{"name", "Ada's \xc3\xa4rger"},
                                                           {"organization", "says \"hello\""},
                                                           {"mail", "ada@example.org"}};
    ck_assert_uint_eq(certificate.metadata_count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_str_eq(certificate.metadata[i].name, expected[i].name);
        ck_assert_str_eq(certificate.metadata[i].value, expected[i].value);
    }
}

TEST_PLAIN(a_bare_public_key_is_enough)
{
    struct certificate certificate = parsed("curve\n    public-key = \"" PUBLIC "\"");
    ck_assert(!certificate.has_secret && key_is_none(certificate.secret_key));
    certificate = parsed("curve # these\n    public-key='" PUBLIC "'   # my key\n\n# end\n");
    check_key(certificate.public_key, PUBLIC);
}

TEST_PLAIN(what_is_written_reads_the_same)
{
    char text[CERTIFICATE_BYTES_MAX];
    const struct certificate certificate = parsed(of_czmq);
    for (int secret = 0; secret <= 1; secret++) {
        size_t bytes = certificate_format(&certificate, secret, text);
        ck_assert_uint_eq(bytes, strlen(text));
        struct certificate again = parsed(text);
        ck_assert(again.has_secret == secret);
        check_key(again.public_key, PUBLIC);
        ck_assert_uint_eq(again.metadata_count, certificate.metadata_count);
        ck_assert(memcmp(again.metadata, certificate.metadata, sizeof again.metadata) == 0);
        ck_assert((strstr(text, SECRET) != NULL) == secret);
    }
}

TEST_PLAIN(the_largest_certificate_can_be_written)
{
    char text[CERTIFICATE_BYTES_MAX], name[CERTIFICATE_NAME_MAX], value[CERTIFICATE_VALUE_MAX];
    struct certificate certificate = parsed(of_czmq);
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    certificate.metadata_count = 0;
    for (int i = 0; i < CERTIFICATE_METADATA_MAX; i++) {
        snprintf(name, sizeof name, "%031d", i);
        certificate_add(&certificate, name, value);
    }
    certificate_format(&certificate, true, text);
    struct certificate again = parsed(text);
    ck_assert_uint_eq(again.metadata_count, CERTIFICATE_METADATA_MAX);
    ck_assert(memcmp(again.metadata, certificate.metadata, sizeof again.metadata) == 0);
}

TEST_PLAIN(what_breaks_a_rule_is_refused_with_its_line)
{
    static const char key[] = "    public-key = \"" PUBLIC "\"\n";
    char text[2 * CERTIFICATE_BYTES_MAX];
    check_refused("", "is empty: is its disk full?");
    check_refused("metadata\ncurve\n", "line 3: there is no public-key");
    check_refused("curve\n    secret-key = \"" SECRET "\"\n", "no public-key");
    check_refused("curve\n    public-key = " PUBLIC "x\n", "line 2: a key is not");
    check_refused("curve\n    public-key = \"" PUBLIC "#\"\n", "a key is not");
    check_refused("curve\n    public-key = \"0000000000000000000000000000000000000000\"\n",
                  "all zeros");
    check_refused("curve\n    private-key = \"" PUBLIC "\"\n", "only");
    check_refused("    public-key = \"" PUBLIC "\"\n", "line 1");
    check_refused("curve\n  public-key = \"" PUBLIC "\"\n", "four spaces");
    check_refused("curve\n        public-key = \"" PUBLIC "\"\n", "four spaces");
    check_refused("curve\n\tpublic-key = \"" PUBLIC "\"\n", "characters");
    check_refused("curve\r\n", "characters");
    check_refused("curve\n    public-key = \"" PUBLIC "\n", "quotes");
    check_refused("curve\n    public-key = \"" PUBLIC "\" x\n", "quotes");
    check_refused("curve\n    public-key\n", "quotes");
    check_refused("server\n", "metadata and curve only");
    check_refused("curve = 1\n", "neither");
    check_refused("metadata\n    = \"x\"\n", "is not name");
    check_refused("metadata\n    a = \"1\"\n    a = \"2\"\n", "line 3: metadata of one name");
    snprintf(text, sizeof text, "curve\n%s%s", key, key);
    check_refused(text, "line 3: a key is there twice");
    snprintf(text, sizeof text, "curve\n%scurve\n", key);
    check_refused(text, "line 3: a section is there twice");
    snprintf(text, sizeof text, "metadata\n    a = \"%0200d\"\n", 1);
    check_refused(text, "too long");
    snprintf(text, sizeof text, "metadata\n    %0100d = \"a\"\n", 1);
    check_refused(text, "too long");
    snprintf(text, sizeof text, "curve\n%s#%0*d\n", key, CERTIFICATE_BYTES_MAX, 1);
    check_refused(text, "larger");
    size_t used = (size_t)snprintf(text, sizeof text, "metadata\n");
    for (int i = 0; i <= CERTIFICATE_METADATA_MAX; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "    m%d = \"\"\n", i);
    check_refused(text, "too many");
}

TEST_PLAIN(bytes_that_are_no_text_are_refused)
{
    struct certificate certificate;
    struct error error;
    static const char with_zero[] = "curve\n    public-key = \"" PUBLIC "\"\n\0# more";
    ck_assert_int_eq(certificate_parse(with_zero, sizeof with_zero - 1, &certificate, &error),
                     STATUS_INVALID);
}

/* --- what it lets one be --------------------------------------------------------------------- */

static enum status identity_of(const char *role, const char *index, struct identity *identity,
                               struct error *error)
{
    struct certificate certificate = parsed("curve\n    public-key = \"" PUBLIC "\"");
    if (role != NULL)
        certificate_add(&certificate, "role", role);
    if (index != NULL)
        certificate_add(&certificate, "index", index);
    return certificate_identity(&certificate, identity, error);
}

TEST_PLAIN(role_and_index_say_what_a_key_may_be)
{
    struct identity identity;
    struct error error;
    ck_assert_int_eq(identity_of(NULL, NULL, &identity, &error), STATUS_OK);
    ck_assert_uint_eq(identity.role, ROLE_NONE);
    check_key(identity.key, PUBLIC);
    ck_assert_int_eq(identity_of("worker", "3", &identity, &error), STATUS_OK);
    ck_assert(identity.role == ROLE_WORKER && identity.has_index && identity.index == 3);
    ck_assert_int_eq(identity_of("ps", NULL, &identity, &error), STATUS_OK);
    ck_assert(identity.role == ROLE_PS && !identity.has_index);

    ck_assert_int_eq(identity_of("chief", NULL, &identity, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "chief"));
    ck_assert_int_eq(identity_of("nobody", NULL, &identity, &error), STATUS_INVALID);
    ck_assert_int_eq(identity_of("", NULL, &identity, &error), STATUS_INVALID);
    ck_assert_int_eq(identity_of(NULL, "3", &identity, &error), STATUS_INVALID);
    ck_assert_int_eq(identity_of("worker", "three", &identity, &error), STATUS_INVALID);
    ck_assert_int_eq(identity_of("worker", "1024", &identity, &error), STATUS_INVALID);
    ck_assert_int_eq(identity_of("worker", "4294967299", &identity, &error), STATUS_INVALID);
}

/* --- files ----------------------------------------------------------------------------------- */

static void write_text(const char *name, const char *text, mode_t mode)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, name);
    scratch_write(path, text, strlen(text));
    ck_assert_int_eq(chmod(path, mode), 0);
}

static mode_t mode_of(const char *name)
{
    char path[DISK_PATH_MAX];
    struct stat state;
    scratch_path(path, name);
    ck_assert_int_eq(stat(path, &state), 0);
    return state.st_mode & 0777;
}

TEST_PLAIN(a_pair_of_files_is_written_and_read)
{
    char path[DISK_PATH_MAX];
    struct error error;
    struct certificate written = parsed(of_czmq), certificate;
    scratch_path(path, "ada");
    ck_assert_int_eq(certificate_write(path, &written, &error), STATUS_OK);
    ck_assert_uint_eq(mode_of("ada.key_secret"), 0600);
    scratch_path(path, "ada.key");
    ck_assert_int_eq(certificate_read_public(path, &certificate, &error), STATUS_OK);
    ck_assert(!certificate.has_secret);
    check_key(certificate.public_key, PUBLIC);
    scratch_path(path, "ada.key_secret");
    ck_assert_int_eq(certificate_read_secret(path, &certificate, &error), STATUS_OK);
    check_key(certificate.secret_key, SECRET);
    ck_assert_uint_eq(certificate.metadata_count, 3);
}

TEST_PLAIN(nothing_is_overwritten_and_no_half_is_left)
{
    char path[DISK_PATH_MAX], file[DISK_PATH_MAX];
    struct error error;
    struct certificate certificate = parsed(of_czmq);
    size_t bytes;
    scratch_path(path, "ada");
    write_text("ada.key", "precious", 0644);
    ck_assert_int_eq(certificate_write(path, &certificate, &error), STATUS_EXISTS);
    ck_assert_ptr_nonnull(strstr(error.text, "ada.key"));
    scratch_path(file, "ada.key_secret");
    ck_assert(!scratch_has(file));
    scratch_path(file, "ada.key");
    char *text = scratch_read(file, &bytes);
    ck_assert_str_eq(text, "precious");
    free(text);
    ck_assert_int_eq(unlink(file), 0);
    write_text("ada.key_secret", "precious", 0600);
    ck_assert_int_eq(certificate_write(path, &certificate, &error), STATUS_EXISTS);
    ck_assert(!scratch_has(file));
    scratch_path(path, "nowhere/ada");
    ck_assert_int_eq(certificate_write(path, &certificate, &error), STATUS_NOT_FOUND);
}

TEST_PLAIN(a_secret_that_others_can_read_is_refused)
{
    char path[DISK_PATH_MAX];
    struct certificate certificate;
    struct error error;
    static const mode_t modes[] = {0644, 0640, 0604, 0620, 0601};
    scratch_path(path, "ada.key_secret");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_text("ada.key_secret", of_czmq, modes[i]);
        ck_assert_int_eq(certificate_read_secret(path, &certificate, &error), STATUS_REFUSED);
        ck_assert_ptr_nonnull(strstr(error.text, "ada.key_secret"));
        ck_assert_ptr_nonnull(strstr(error.text, "chmod 600"));
    }
    write_text("ada.key_secret", of_czmq, 0400);
    ck_assert_int_eq(certificate_read_secret(path, &certificate, &error), STATUS_OK);
}

/* As the kubelet lays out a Secret: files are links to links, root's, and the pod's group may read them. */
TEST_PLAIN(a_secret_of_root_may_be_lent_to_a_group)
{
    static const mode_t refused[] = {0460, 0444, 0450, 0640 | S_IWOTH};
    char path[DISK_PATH_MAX], link[DISK_PATH_MAX], folder[DISK_PATH_MAX];
    struct certificate certificate;
    struct error error;
    if (geteuid() != 0) /* Only root can make a file that is root's. */
        return;
    scratch_path(folder, "");
    ck_assert_int_eq(chmod(folder, 0755), 0);
    scratch_path(link, "..data");
    ck_assert_int_eq(symlink(".", link), 0);
    scratch_path(link, "worker-0.key_secret");
    ck_assert_int_eq(symlink("..data/kept", link), 0);
    write_text("kept", of_czmq, 0440);
    scratch_path(path, "kept");
    ck_assert_int_eq(certificate_read_secret(link, &certificate, &error),
                     STATUS_REFUSED); /* We are root. */
    ck_assert_int_eq(chown(path, 0, 65532), 0);
    ck_assert_int_eq(setegid(65532), 0);
    ck_assert_int_eq(seteuid(65532), 0);
    ck_assert_int_eq(certificate_read_secret(link, &certificate, &error), STATUS_OK);
    check_key(certificate.secret_key, SECRET);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ck_assert_int_eq(seteuid(0), 0);
        ck_assert_int_eq(chmod(path, refused[i]), 0);
        ck_assert_int_eq(seteuid(65532), 0);
        ck_assert_int_eq(certificate_read_secret(link, &certificate, &error), STATUS_REFUSED);
    }
    /* A file of anybody else's is not lent. */
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(chmod(path, 0440), 0);
    ck_assert_int_eq(chown(path, 1, 65532), 0);
    ck_assert_int_eq(seteuid(65532), 0);
    ck_assert_int_eq(certificate_read_secret(link, &certificate, &error), STATUS_REFUSED);
    ck_assert_int_eq(seteuid(0), 0);
}

TEST_PLAIN(files_are_what_they_are_said_to_be)
{
    char path[DISK_PATH_MAX];
    struct certificate certificate;
    struct error error;
    scratch_path(path, "ada.key");
    write_text("ada.key", of_czmq, 0600);
    ck_assert_int_eq(certificate_read_public(path, &certificate, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "holds a secret key"));
    ck_assert(key_is_none(certificate.secret_key));
    write_text("ada.key", "curve\n    public-key = \"" PUBLIC "\"", 0600);
    ck_assert_int_eq(certificate_read_secret(path, &certificate, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "holds no secret-key"));
    write_text("ada.key", "curve", 0600);
    ck_assert_int_eq(certificate_read_public(path, &certificate, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "ada.key: line 1"));
    scratch_path(path, "nobody.key");
    ck_assert_int_eq(certificate_read_public(path, &certificate, &error), STATUS_NOT_FOUND);
    scratch_path(path, "");
    ck_assert_int_eq(certificate_read_public(path, &certificate, &error), STATUS_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "it is a folder, not a file"));
}

/* --- a list of them -------------------------------------------------------------------------- */

static enum status load(struct allow_list *list, struct error *error)
{
    char path[DISK_PATH_MAX];
    scratch_path(path, ".");
    return allow_list_load(list, path, error);
}

static bool allows(const struct allow_list *list, const char *text)
{
    uint8_t key[KEY_BYTES];
    ck_assert(key_parse(text, key));
    return allow_list_find(list, key) != NULL;
}

TEST_PLAIN(a_folder_of_public_certificates_is_a_list)
{
    struct allow_list list = {0};
    struct error error;
    ck_assert_int_eq(load(&list, &error), STATUS_OK);
    ck_assert(!allows(&list, PUBLIC)); /* Empty, so nobody. */
    write_text("a.key", "curve\n    public-key = \"" PUBLIC "\"", 0644);
    write_text(
        "b.key",
        "metadata\n    role = \"worker\"\n    index = \"2\"\ncurve\n    public-key = \"" OTHER "\"",
        0644);
    write_text("c.key_secret", of_czmq, 0644); /* Of no interest here. */
    write_text("readme.txt", "hello", 0644);
    write_text(".key", "hello", 0644);
    ck_assert_int_eq(load(&list, &error), STATUS_OK);
    ck_assert_uint_eq(list.count, 2);
    ck_assert(allows(&list, PUBLIC) && allows(&list, OTHER) && !allows(&list, SECRET));
    uint8_t key[KEY_BYTES];
    ck_assert(key_parse(OTHER, key));
    ck_assert_uint_eq(allow_list_find(&list, key)->index, 2);
    allow_list_free(&list);
    ck_assert(!allows(&list, PUBLIC));
}

TEST_PLAIN(a_broken_file_keeps_nobody_else_out)
{
    struct allow_list list = {0};
    struct error error;
    write_text("a.key", "curve\n    public-key = \"" PUBLIC "\"", 0644);
    write_text("b.key", "curve\n    public-key = \"" OTHER, 0644);
    ck_assert_int_eq(load(&list, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "b.key"));
    ck_assert(allows(&list, PUBLIC) && !allows(&list, OTHER));
    write_text("b.key", "metadata\n    role = \"chief\"\ncurve\n    public-key = \"" OTHER "\"",
               0644);
    ck_assert_int_eq(load(&list, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "chief"));
    ck_assert(allows(&list, PUBLIC) && !allows(&list, OTHER));
    allow_list_free(&list);
}

TEST_PLAIN(a_key_in_two_files_is_nobodys)
{
    struct allow_list list = {0};
    struct error error;
    write_text("a.key", "curve\n    public-key = \"" PUBLIC "\"", 0644);
    write_text("b.key", "curve\n    public-key = \"" OTHER "\"", 0644);
    write_text("c.key", "metadata\n    role = \"ps\"\ncurve\n    public-key = \"" PUBLIC "\"",
               0644);
    ck_assert_int_eq(load(&list, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, PUBLIC));
    ck_assert(!allows(&list, PUBLIC) && allows(&list, OTHER));
    allow_list_free(&list);
}

TEST_PLAIN(a_folder_that_is_not_there_allows_nobody)
{
    struct allow_list list = {0};
    struct error error;
    char path[DISK_PATH_MAX];
    write_text("a.key", "curve\n    public-key = \"" PUBLIC "\"", 0644);
    ck_assert_int_eq(load(&list, &error), STATUS_OK);
    scratch_path(path, "nowhere");
    ck_assert_int_eq(allow_list_load(&list, path, &error), STATUS_NOT_FOUND);
    ck_assert(!allows(&list, PUBLIC));
}

/* --- the folder of keys ---------------------------------------------------------------------- */

static void write_public(const char *name, const char *public_key, const char *metadata)
{
    char text[1024], file[64];
    snprintf(file, sizeof file, "%s.key", name);
    snprintf(text, sizeof text, "metadata\n%scurve\n    public-key = \"%s\"\n", metadata,
             public_key);
    write_text(file, text, 0644);
}

static void write_pair(const char *name, const char *public_key, const char *metadata)
{
    char text[1024], file[64];
    snprintf(file, sizeof file, "%s.key_secret", name);
    snprintf(text, sizeof text,
             "metadata\n%scurve\n    public-key = \"%s\"\n    secret-key = \"%s\"\n", metadata,
             public_key, SECRET);
    write_text(file, text, 0600);
    write_public(name, public_key, metadata);
}

TEST_PLAIN(each_process_finds_its_own)
{
    struct keys keys;
    struct error error;
    char folder[DISK_PATH_MAX], file[DISK_PATH_MAX];
    write_pair("servers", PUBLIC, "    role = \"ps\"\n");
    write_pair("worker-1", OTHER, "    role = \"worker\"\n    index = \"1\"\n");
    scratch_path(folder, "");
    ck_assert_int_eq(keys_open(&keys, folder, NULL, ROLE_PS, 2, &error), STATUS_OK);
    check_key(keys.own.public_key, PUBLIC);
    check_key(keys.server, PUBLIC);
    ck_assert_int_eq(keys_open(&keys, folder, NULL, ROLE_WORKER, 1, &error), STATUS_OK);
    check_key(keys.own.public_key, OTHER);
    check_key(keys.server, PUBLIC);
    ck_assert_int_eq(keys_open(&keys, folder, NULL, ROLE_WORKER, 0, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "worker-0.key_secret"));
    scratch_path(file, "worker-1.key_secret");
    ck_assert_int_eq(keys_open(&keys, folder, file, ROLE_WORKER, 0, &error), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(error.text, "of worker/1, and this is worker/0"));
    ck_assert_int_eq(keys_exit_code(STATUS_MISMATCH), EXIT_UNAUTHENTICATED);
    ck_assert(key_is_none(keys.own.secret_key));
    ck_assert_int_eq(keys_open(&keys, folder, file, ROLE_OBSERVER, 0, &error), STATUS_OK);
}

TEST_PLAIN(a_folder_is_checked_before_a_job_starts)
{
    struct error error;
    char folder[DISK_PATH_MAX];
    scratch_path(folder, "");
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "servers.key_secret"));
    write_pair("servers", PUBLIC, "    role = \"ps\"\n");
    write_pair("worker-0", OTHER, "");
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_OK);
    ck_assert_int_eq(keys_check(folder, 2, &error), STATUS_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "worker-1.key_secret"));
    write_text("old.key", "?", 0644);
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(error.text, "old.key"));
    ck_assert_int_eq(keys_check("/nowhere/keys", 2, &error), STATUS_NOT_FOUND);
    ck_assert_str_eq(error.text,
                     "--keys=/nowhere/keys: No such file or directory (syncopate keygen "
                     "/nowhere/keys --workers 2 makes what is missing)");
    ck_assert_int_eq(keys_check("/etc/passwd", 2, &error), STATUS_IO);
    ck_assert_str_eq(error.text, "--keys=/etc/passwd: is not a folder");
}

/* What servers and workers would find out of each other, in one folder. */
TEST_PLAIN(who_would_be_refused_is_told_before_a_job_starts)
{
    struct error error;
    char folder[DISK_PATH_MAX], path[DISK_PATH_MAX];
    scratch_path(folder, "");
    write_pair("servers", PUBLIC, "    role = \"ps\"\n");
    write_pair("worker-0", OTHER, "    role = \"worker\"\n    index = \"0\"\n");
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_OK);

    scratch_path(path, "worker-0.key");
    unlink(path);
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(
        strstr(error.text, "no *.key has the public half of worker-0.key_secret"));

    write_pair("worker-0", OTHER, "");
    write_public("worker-0", OTHER, "    role = \"worker\"\n    index = \"3\"\n");
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(error.text, "is for worker/3, so that the servers would refuse "
                                             "worker/0"));

    write_pair("worker-0", OTHER, "");
    unlink(path);
    write_public("servers", OTHER, "");
    ck_assert_int_eq(keys_check(folder, 1, &error), STATUS_MISMATCH);
    ck_assert_ptr_nonnull(strstr(error.text, "servers.key: is not the public half"));
}

int main(void)
{
    return suite_run("certificate", scratch_add);
}
