/* A reader of JSON (RFC 8259) that allocates nothing: a value is a piece of the text. */
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 32

struct cursor {
    const char *at, *end;
};

static void blanks(struct cursor *in) {
    while (in->at < in->end && strchr(" \t\r\n", *in->at) != NULL && *in->at != '\0') in->at++;
}

static int take(struct cursor *in, char wanted) {
    blanks(in);
    if (in->at == in->end || *in->at != wanted) return 0;
    in->at++;
    return 1;
}

static int hex(const char *at, const char *end, unsigned *out) {
    *out = 0;
    if (end - at < 4) return 0;
    for (int digit = 0; digit < 4; digit++) {
        const char *found = at[digit] == '\0' ? NULL : strchr("0123456789abcdefABCDEF", at[digit]);
        if (found == NULL) return 0;
        long value = found - "0123456789abcdefABCDEF";
        *out = *out * 16 + (unsigned)(value > 15 ? value - 6 : value);
    }
    return 1;
}

static int skip_string(struct cursor *in) {
    unsigned code;
    if (!take(in, '"')) return 0;
    for (; in->at < in->end && *in->at != '"'; in->at++) {
        if ((unsigned char)*in->at < 0x20) return 0;
        if (*in->at != '\\') continue;
        if (++in->at == in->end || *in->at == '\0' || strchr("\"\\/bfnrtu", *in->at) == NULL) return 0;
        if (*in->at == 'u' && !hex(in->at + 1, in->end, &code)) return 0;
    }
    return take(in, '"');
}

static size_t digits(struct cursor *in) {
    const char *start = in->at;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
    return (size_t)(in->at - start);
}

static int skip_number(struct cursor *in) {
    if (in->at < in->end && *in->at == '-') in->at++;
    const char *first = in->at;
    size_t whole = digits(in);
    if (whole == 0 || (whole > 1 && *first == '0')) return 0;
    if (in->at < in->end && *in->at == '.') {
        in->at++;
        if (digits(in) == 0) return 0;
    }
    if (in->at < in->end && (*in->at == 'e' || *in->at == 'E')) {
        in->at++;
        if (in->at < in->end && (*in->at == '+' || *in->at == '-')) in->at++;
        if (digits(in) == 0) return 0;
    }
    return 1;
}

static int skip_word(struct cursor *in, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0) return 0;
    in->at += length;
    return 1;
}

static int skip_value(struct cursor *in, int depth) {
    blanks(in);
    if (in->at == in->end || depth > DEEPEST) return 0;
    char first = *in->at, last = first == '{' ? '}' : ']';
    if (first == '"') return skip_string(in);
    if (first != '{' && first != '[')
        return skip_word(in, "true") || skip_word(in, "false") || skip_word(in, "null") || skip_number(in);
    in->at++;
    if (take(in, last)) return 1;
    do
        if ((first == '{' && !(skip_string(in) && take(in, ':'))) || !skip_value(in, depth + 1)) return 0;
    while (take(in, ','));
    return take(in, last);
}

int json_read(struct json *value, const char *text, size_t length) {
    struct cursor in = {text, text + length};
    blanks(&in);
    const char *start = in.at;
    if (!skip_value(&in, 0)) return 0;
    *value = (struct json){start, (size_t)(in.at - start)};
    blanks(&in);
    return in.at == in.end;
}

/* The next value of an object or array; its name where it is a member. Begins behind the bracket. */
static int next(struct cursor *in, int named, struct json *name, struct json *value) {
    blanks(in);
    if (in->at == in->end || *in->at == '}' || *in->at == ']') return 0;
    if (*in->at == ',') in->at++;
    blanks(in);
    name->at = in->at;
    if (named) {
        skip_string(in);
        name->length = (size_t)(in->at - name->at);
        take(in, ':');
        blanks(in);
    }
    value->at = in->at;
    skip_value(in, 0);
    value->length = (size_t)(in->at - value->at);
    return 1;
}

int json_member(struct json object, const char *name, struct json *value) {
    if (object.length == 0 || *object.at != '{') return 0;
    struct cursor in = {object.at + 1, object.at + object.length};
    struct json key, found;
    char text[128];
    int there = 0;
    while (next(&in, 1, &key, &found))
        if (json_string(key, text, sizeof text) && strcmp(text, name) == 0) {
            *value = found; /* of two with one name the last counts, as in most readers */
            there = 1;
        }
    return there;
}

int json_item(struct json array, size_t index, struct json *value) {
    if (array.length == 0 || *array.at != '[') return 0;
    struct cursor in = {array.at + 1, array.at + array.length};
    struct json none;
    do
        if (!next(&in, 0, &none, value)) return 0;
    while (index-- > 0);
    return 1;
}

static size_t utf8(unsigned code, char *out) {
    if (code < 0x80) return out[0] = (char)code, 1;
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char LEAD[] = {0, 0xC0, 0xE0, 0xF0};
    out[0] = (char)(LEAD[more] | code >> 6 * more);
    for (size_t at = 1; at <= more; at++) out[at] = (char)(0x80 | (code >> 6 * (more - at) & 0x3F));
    return more + 1;
}

int json_string(struct json value, char *out, size_t size) {
    if (value.length < 2 || *value.at != '"') return 0;
    const char *end = value.at + value.length - 1;
    size_t used = 0;
    for (const char *at = value.at + 1; at < end; at++) {
        if (used + 5 > size) return 0;
        unsigned code = 0, low = 0;
        if (*at != '\\') out[used++] = *at;
        else if (*++at != 'u') {
            const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t";
            out[used++] = to[strchr(from, *at) - from];
        } else {
            hex(at + 1, end, &code);
            at += 4;
            /* Characters beyond 0xFFFF are two halves; a half alone is none. */
            if (code >= 0xD800 && code < 0xDC00 && end - at > 6 && at[1] == '\\' && at[2] == 'u' && hex(at + 3, end, &low) && low >= 0xDC00 && low < 0xE000) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at += 6;
            } else if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
            if (code == 0) return 0;
            used += utf8(code, out + used);
        }
    }
    if (used >= size) return 0;
    out[used] = '\0';
    return 1;
}

int json_number(struct json value, double *out) {
    char text[64];
    if (value.length == 0 || value.length >= sizeof text || strchr("-0123456789", *value.at) == NULL) return 0;
    memcpy(text, value.at, value.length);
    text[value.length] = '\0';
    *out = strtod(text, NULL);
    return 1;
}

int json_is(struct json value, const char *word) {
    return value.length == strlen(word) && memcmp(value.at, word, value.length) == 0;
}

int json_quote(const char *text, char *out, size_t size) {
    size_t used = 0;
    if (size < 3) return 0;
    out[used++] = '"';
    for (; *text != '\0'; text++) {
        if (used + 8 > size) return 0;
        if (*text == '"' || *text == '\\') out[used++] = '\\';
        if ((unsigned char)*text < 0x20) used += (size_t)sprintf(out + used, "\\u%04x", (unsigned)(unsigned char)*text);
        else out[used++] = *text;
    }
    out[used++] = '"';
    out[used] = '\0';
    return 1;
}
