#include "greeting.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    char text[64];
    size_t length = 0;
    const char *name = member("{\"params\":{\"name\":\"A\\\"da\"}}", "name", &length);
    assert(name != NULL && length == 5);
    greet(text, sizeof text, name, length);
    assert(strcmp(text, "Hello, A\\\"da!") == 0);
    assert(member("{}", "name", &length) == NULL);
    puts("ok");
    return 0;
}
