#include <stddef.h>

/* Greeting for a name. A name that is too long for `out` is cut. */
void greet(char *out, size_t size, const char *name);
