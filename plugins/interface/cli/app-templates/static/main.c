/* An app without a runtime: JSON-RPC by hand, one message a line. */
#include "greeting.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int core;

/* Answers a request; `body` is a member, `"result":...` or `"error":...`. */
static void answer(struct json id, const char *body) {
    dprintf(core, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,%s}\n", (int)id.length, id.at, body);
}

/* The function of app.yaml, which says what goes in and what comes out; `params` are its inputs. */
static void call_greet(struct json id, struct json params) {
    struct json value;
    char name[256], text[512], quoted[1200], body[2600];
    if (!json_member(params, "name", &value) || !json_string(value, name, sizeof name)) {
        answer(id, "\"error\":{\"code\":-32602,\"message\":\"name is missing or too long\"}");
        return;
    }
    greet(text, sizeof text, name);
    json_quote(text, quoted, sizeof quoted);
    snprintf(body, sizeof body, "\"result\":{\"text\":%s}", quoted); /*silent*/
    snprintf(body, sizeof body, "\"result\":{\"text\":%s,\"say\":%s}", quoted, quoted); /*voice*/
    answer(id, body);
}

/* Returns 0 at the end. */
static int handle(struct json message) {
    struct json method, id, params = {"{}", 2};
    char name[128];
    if (!json_member(message, "method", &method) || !json_string(method, name, sizeof name)) return 1;
    int asked = json_member(message, "id", &id);
    json_member(message, "params", &params);
    if (strcmp(name, "stop") == 0) return 0;
    if (strcmp(name, "READY") == 0) puts("ready");
    else if (asked && strcmp(name, "ping") == 0) answer(id, "\"result\":{}");
    else if (asked && strcmp(name, "appId.greet") == 0) call_greet(id, params);
    else if (asked) answer(id, "\"error\":{\"code\":-32601,\"message\":\"there is no such function\"}");
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
    core = socket(AF_UNIX, SOCK_STREAM, 0);
    if (core < 0 || connect(core, (struct sockaddr *)&address, sizeof address) != 0) {
        perror("cannot reach the Core");
        return 1;
    }
    FILE *in = fdopen(core, "r");
    setvbuf(stdout, NULL, _IOLBF, 0);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    struct json message;
    while ((length = getline(&line, &room, in)) > 0)
        if (json_read(&message, line, (size_t)length) && !handle(message)) break;
    puts("stopped");
    free(line);
    return 0;
}
