#include <stddef.h>

/* One value of a JSON text, as it stands there. It points into the text, which has to outlive it. */
struct json {
    const char *at;
    size_t length;
};

/* Checks a text that holds one value and nothing else. Returns 0 where it is no JSON, or more than 32 levels deep. */
int json_read(struct json *value, const char *text, size_t length);

/* A member of an object by its name, an item of an array by its place. Return 0 where there is none. */
int json_member(struct json object, const char *name, struct json *value);
int json_item(struct json array, size_t index, struct json *value);

/* A string without its escapes, in UTF-8, with a NUL at its end. Returns 0 where it is no string, has a NUL inside, or needs more room. */
int json_string(struct json value, char *out, size_t size);
int json_number(struct json value, double *out);
/* `true`, `false` or `null` */
int json_is(struct json value, const char *word);

/* Writes a string with quotes and escapes. Returns 0 where it needs more room. */
int json_quote(const char *text, char *out, size_t size);
