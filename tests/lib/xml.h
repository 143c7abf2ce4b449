/* xml.h - is a text well-formed XML? Enough of a checker for what we write ourselves: elements,
 * attributes in double quotes, the five entities, one root, an optional DOCTYPE. */

#ifndef TESTS_LIB_XML_H
#define TESTS_LIB_XML_H

#include <stddef.h>

/* NULL when it is; otherwise what is wrong, with up to 60 bytes of where, in why, which is
 * returned. */
const char *xml_fault(const char *text, char *why, size_t why_bytes);

#endif
