/*
 * The bridge as a process, on the wire of the plugin port-sim: `bridge-responder --socket PATH` (other options are there for the simulator and are left alone). It says
 * `ready` on its output when it takes a connection, and ends when its input does. Everything of an operating system is in this file.
 *
 * A message on the socket: u32 length of what follows the head, u8 kind, u8 level of DRDY, u16 tag, then the bytes. Little endian.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "board.h"

enum { TRANSACT = 1, RESULT = 2, LEVEL = 3, PULSE = 4, CONTROL = 5, ANSWER = 6 };

#define HEAD 8
#define LONGEST 65536
#define BUSY_NS 100000
#define IDLE_NS 1000000

static cbp_bridge bridge;
static uint32_t boot_id;
static int peer = -1;
static bool told;
static uint8_t input[HEAD + LONGEST];
static size_t held;

static uint32_t now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)((uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u);
}

static void reboot(uint8_t mode);

static void start(uint8_t reason) { cbp_start(&bridge, board_init(reboot), boot_id++, reason, now_us()); }

static void reboot(uint8_t mode) {
  (void)mode;
  start(CBP_RESET_SOFTWARE);
}

static void hang_up(void) {
  if (peer >= 0) close(peer);
  peer = -1;
  held = 0;
}

static void say(uint8_t kind, uint16_t tag, const uint8_t *bytes, size_t count) {
  uint8_t message[HEAD + 1024];
  bool level = cbp_data_ready(&bridge, now_us());
  if (count > sizeof message - HEAD) return;
  cbp_put32(message, (uint32_t)count);
  message[4] = kind;
  message[5] = level;
  cbp_put16(message + 6, tag);
  if (count > 0) memcpy(message + HEAD, bytes, count);
  for (size_t at = 0; peer >= 0 && at < HEAD + count;) {
    ssize_t sent = send(peer, message + at, HEAD + count - at, MSG_NOSIGNAL);
    if (sent > 0) at += (size_t)sent;
    else if (errno != EINTR) hang_up();
  }
  told = level;
}

/* Chip select falls, the bytes go both ways, chip select rises. */
static void transact(uint16_t tag, const uint8_t *bytes, size_t count) {
  uint8_t out[1024] = {0};
  if (count > sizeof out) {
    hang_up();
    return;
  }
  cbp_cs_fell(&bridge, now_us());
  memcpy(out, cbp_armed(&bridge), count < CBP_MAX_N ? count : CBP_MAX_N);
  cbp_cs_rose(&bridge, bytes, count, now_us());
  cbp_poll(&bridge, now_us());
  say(RESULT, tag, out, count);
}

static void handle(uint8_t kind, uint16_t tag, const uint8_t *bytes, size_t count) {
  static const char no_control[] = "{\"ok\":false,\"error\":\"this bridge takes no commands\"}";
  if (kind == TRANSACT) transact(tag, bytes, count);
  else if (kind == PULSE) start(CBP_RESET_PIN);
  else if (kind == CONTROL) say(ANSWER, tag, (const uint8_t *)no_control, sizeof no_control - 1);
  else hang_up();
}

static void receive(void) {
  ssize_t got = recv(peer, input + held, sizeof input - held, 0);
  if (got <= 0) {
    if (got == 0 || errno != EINTR) hang_up();
    return;
  }
  held += (size_t)got;
  size_t at = 0;
  while (peer >= 0 && held - at >= HEAD) {
    size_t count = cbp_get32(input + at);
    if (count > LONGEST) {
      hang_up();
      return;
    }
    if (held - at < HEAD + count) break;
    handle(input[at + 4], cbp_get16(input + at + 6), input + at + HEAD, count);
    at += HEAD + count;
  }
  if (peer < 0) return;
  memmove(input, input + at, held - at);
  held -= at;
}

static int listen_on(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  unlink(path);
  umask(0177);
  if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) < 0 || listen(server, 4) < 0) return -1;
  return server;
}

static int serve(int server) {
  for (;;) {
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(STDIN_FILENO, &readable);
    FD_SET(server, &readable);
    if (peer >= 0) FD_SET(peer, &readable);
    struct timespec wait = {0, cbp_busy(&bridge) ? BUSY_NS : IDLE_NS};
    int ready = pselect((peer > server ? peer : server) + 1, &readable, NULL, NULL, &wait, NULL);
    if (ready < 0 && errno != EINTR) return 1;
    if (ready > 0 && FD_ISSET(STDIN_FILENO, &readable)) {
      char ignored[64];
      if (read(STDIN_FILENO, ignored, sizeof ignored) <= 0) return 0;
    }
    if (ready > 0 && peer >= 0 && FD_ISSET(peer, &readable)) receive();
    if (ready > 0 && FD_ISSET(server, &readable)) {
      /* The wire has one master: a new one takes it over. */
      int next = accept(server, NULL, NULL);
      if (next >= 0) {
        hang_up();
        peer = next;
        say(LEVEL, 0, NULL, 0);
      }
    }
    cbp_poll(&bridge, now_us());
    if (peer >= 0 && cbp_data_ready(&bridge, now_us()) != told) say(LEVEL, 0, NULL, 0);
  }
}

int main(int argc, char **argv) {
  const char *path = NULL;
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp(argv[i], "--socket") == 0) path = argv[i + 1];
  if (path == NULL) {
    fputs("cannot start: --socket PATH is needed\n", stderr);
    return 2;
  }
  /* A terminal sends it to the whole group; the Core ends first and closes our input. */
  signal(SIGINT, SIG_IGN);
  boot_id = now_us();
  start(CBP_RESET_POWER);
  int server = listen_on(path);
  if (server < 0) {
    fprintf(stderr, "cannot listen on %s: %s\n", path, strerror(errno));
    return 1;
  }
  puts("ready");
  fflush(stdout);
  return serve(server);
}
