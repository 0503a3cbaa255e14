#include "greeting.h"
#include <stdio.h>
#include <string.h>

const char *member(const char *json, const char *key, size_t *length) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\":\"", key);
    const char *found = strstr(json, wanted);
    if (found == NULL) return NULL;
    found += strlen(wanted);
    const char *end = found;
    while (*end != '\0' && *end != '"') end += *end == '\\' && end[1] != '\0' ? 2 : 1;
    *length = (size_t)(end - found);
    return found;
}

void greet(char *out, size_t size, const char *name, size_t length) {
    snprintf(out, size, "Hello, %.*s!", (int)length, name);
}
