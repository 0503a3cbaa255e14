#include "greeting.h"
#include "json.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

static int valid(const char *text) {
    struct json value;
    return json_read(&value, text, strlen(text));
}

static void reads_json(void) {
    const char *text = " {\"method\" : \"a.b\", \"params\":{\"name\":\"A\\\"d\\u00e9 \\ud83d\\ude00\",\"times\":[1,-2.5e1,true]}, \"id\":\"7\"} ";
    struct json message, params, value;
    char name[64];
    double number;
    assert(json_read(&message, text, strlen(text)));
    assert(json_member(message, "id", &value) && value.length == 3);
    /* A member of `params` is none of the message. */
    assert(!json_member(message, "name", &value) && json_member(message, "params", &params));
    assert(json_member(params, "name", &value) && json_string(value, name, sizeof name));
    assert(strcmp(name, "A\"d\xc3\xa9 \xf0\x9f\x98\x80") == 0);
    assert(!json_string(value, name, 8));
    assert(json_member(params, "times", &params) && json_item(params, 1, &value) && json_number(value, &number) && number == -25);
    assert(json_item(params, 2, &value) && json_is(value, "true") && !json_item(params, 3, &value));
    const char *wrong[] = {"", "{", "{\"a\":}", "[1,]", "01", "1.", "\"\\x\"", "\"\\u12\"", "\"a", "nul", "{} {}", "\"\n\"", "{\"a\" 1}"};
    for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) assert(!valid(wrong[at]));
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    assert(!json_read(&value, deep, sizeof deep) && json_read(&value, deep + 80, 40));
}

int main(void) {
    char text[64], quoted[64];
    greet(text, sizeof text, "Ada");
    assert(strcmp(text, "Hello, Ada!") == 0);
    reads_json();
    assert(json_quote("a \"b\"\n", quoted, sizeof quoted) && strcmp(quoted, "\"a \\\"b\\\"\\u000a\"") == 0);
    assert(!json_quote("much too long for it", quoted, 10));
    puts("ok");
    return 0;
}
