#include <stddef.h>

/* A JSON string member `"key":"value"` of one line, as the Core writes it: without blanks. Returns the text between its quotes and its length, still escaped;
   NULL where there is none. */
const char *member(const char *json, const char *key, size_t *length);

/* What is said to somebody; `name` stays escaped. */
void greet(char *out, size_t size, const char *name, size_t length);
