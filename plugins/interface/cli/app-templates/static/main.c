/* An app without a runtime: JSON-RPC by hand, one message a line. */
#include "greeting.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *after(const char *json, const char *key) {
    const char *found = strstr(json, key);
    return found == NULL ? NULL : found + strlen(key);
}

/* The id of a request as it stands there, a number or a string with its quotes. Returns 0 for a notification. */
static int request_id(const char *line, char *id, size_t size) {
    const char *start = after(line, "\"id\":");
    if (start == NULL) return 0;
    size_t length = *start == '"' ? strcspn(start + 1, "\"") + 2 : strcspn(start, ",}");
    if (length >= size) return 0;
    memcpy(id, start, length);
    id[length] = '\0';
    return 1;
}

int main(void) {
    const char *path = getenv("DEVICE_RPC_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path) {
        fputs("cannot find the Core: DEVICE_RPC_SOCKET is not set\n", stderr);
        return 1;
    }
    strcpy(address.sun_path, path);
    int core = socket(AF_UNIX, SOCK_STREAM, 0);
    if (core < 0 || connect(core, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("cannot reach the Core");
        return 1;
    }
    FILE *in = fdopen(core, "r");
    setvbuf(stdout, NULL, _IOLBF, 0);
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, in) > 0) {
        size_t length = 0;
        char id[64];
        const char *method = member(line, "method", &length);
        if (method == NULL) continue;
        int asked = request_id(line, id, sizeof id);
        if (strncmp(method, "READY", length) == 0) puts("ready");
        else if (strncmp(method, "stop", length) == 0) break;
        else if (asked && strncmp(method, "ping", length) == 0) dprintf(core, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", id);
        else if (asked && strncmp(method, "appId.greet", length) == 0) {
            char text[512];
            size_t size = 0;
            const char *name = member(line, "name", &size);
            greet(text, sizeof text, name == NULL ? "" : name, size > 400 ? 400 : size);
            dprintf(core, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"text\":\"%s\"}}\n", id, text); /*silent*/
            dprintf(core, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"text\":\"%s\",\"say\":\"%s\"}}\n", id, text, text); /*voice*/
        } else if (asked) dprintf(core, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"there is no such function\"}}\n", id);
    }
    puts("stopped");
    free(line);
    return 0;
}
